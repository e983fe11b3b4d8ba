import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { formatCpuSet, parseCpuSet } from "../../../lib/model/cpu-set.ts";
import type { PodUid } from "../../../lib/model/pod.ts";
import { type CpuPolicyName, decodeCheckpoint, encodeCheckpoint } from "./checkpoint.ts";
import type { CpuAssignments } from "./cpu-assignments.ts";

function assignments(
  shared: string,
  pods: Readonly<Record<string, Record<string, string>>> = {},
): CpuAssignments {
  const entries = Object.entries(pods).map(
    ([uid, containers]) =>
      [
        uid as PodUid,
        new Map(Object.entries(containers).map(([name, list]) => [name, parseCpuSet(list)])),
      ] as const,
  );
  return { shared: parseCpuSet(shared), pods: new Map(entries) };
}

test("the file is the one that the reference kubelet writes", () => {
  const rows: [CpuPolicyName, CpuAssignments, string][] = [
    ["none", assignments(""), '{"policyName":"none","defaultCpuSet":"","checksum":1353318690}'],
    ["none", assignments("4-6"), '{"policyName":"none","defaultCpuSet":"4-6","checksum":354655845}'],
    [
      "none",
      assignments("1-3", { pod: { container2: "1-3", container1: "4-6" } }),
      '{"policyName":"none","defaultCpuSet":"1-3","entries":{"pod":{"container1":"4-6","container2":"1-3"}},"checksum":3610638499}',
    ],
  ];
  for (const [policy, state, expected] of rows) {
    assert.equal(encodeCheckpoint(policy, state), expected);
    assert.deepEqual(decodeCheckpoint(policy, expected), state);
  }
});

test("with the CPUs of pods the file is the one that the reference kubelet writes with PodLevelResourceManagers", () => {
  const containers = { pod: { container2: "1-3", container1: "4-6" } };
  const state = {
    ...assignments("1-3", containers),
    podSets: new Map([["pod" as PodUid, parseCpuSet("4-6")]]),
  };
  const expected =
    '{"policyName":"none","defaultCpuSet":"1-3","entries":{"pod":{"container1":"4-6","container2":"1-3"}},"podEntries":{"pod":{"cpuSet":"4-6"}},"checksum":2649431787}';
  assert.equal(encodeCheckpoint("none", state), expected);
  assert.deepEqual(decodeCheckpoint("none", expected, true), state);
  assert.throws(() => decodeCheckpoint("none", expected), /^KubeletError: checkpoint is corrupted$/);
  const without = encodeCheckpoint("none", assignments("1-3", containers));
  assert.deepEqual(decodeCheckpoint("none", without, true), { ...state, podSets: new Map() });
  for (const text of [
    expected.replace('"4-6"}}', '"4-5"}}'),
    expected.replace('{"cpuSet":"4-6"}', '"4-6"'),
    expected.replace('{"cpuSet":"4-6"}', '{"cpuSet":4}'),
    expected.replace('{"pod":{"cpuSet":"4-6"}}', "[]"),
  ])
    assert.throws(() => decodeCheckpoint("none", text, true), { code: "CorruptCheckpoint" }, text);
});

test("names of fields in another case, files without a checksum and the first format without pods are read", () => {
  const texts = [
    '{"policyName":"none","defaultCPUSet":"1-3","entries":{},"checksum":0}',
    '{"policyName":"none","defaultCpuSet":"1-3"}',
    '{ "policyName": "none", "defaultCPUSet": "1-3", "checksum": 1694838852 }',
  ];
  for (const text of texts) assert.deepEqual(decodeCheckpoint("none", text), assignments("1-3"));
});

test("a file that cannot be trusted is rejected with the reason", () => {
  const rows: [string, RegExp][] = [
    ['{"policyName":"none","defaultCpuSet":"4-6","checksum":1337}', /^checkpoint is corrupted$/],
    ['{"policyName":"none","defaultCpuSet":"4-7","checksum":354655845}', /^checkpoint is corrupted$/],
    ["[]", /^checkpoint is corrupted$/],
    ['{"policyName":"none","entries":{"pod":{"a":1}}}', /^checkpoint is corrupted$/],
    ["{", /JSON/],
    ["", /JSON/],
    [
      '{"policyName":"other","defaultCPUSet":"1-3","entries":{},"checksum":1394507217}',
      /^configured policy "none" differs from state checkpoint policy "other"$/,
    ],
    [
      '{"policyName":"none","defaultCPUSet":"1.3","entries":{},"checksum":3021697696}',
      /^could not parse default cpu set "1.3": /,
    ],
    [
      '{"policyName":"none","defaultCPUSet":"1-3","entries":{"pod":{"container1":"4-6","container2":"asd"}},"checksum":962272150}',
      /^could not parse cpuset "asd" for container "container2" in pod "pod": /,
    ],
    [
      '{"policyName":"none","defaultCPUSet":"1-3","entries":{"containerID1":"4-6","containerID2":"1-3"},"checksum":3680390589}',
      /^failed to migrate checkpoint from v1 to v2: containerID 'containerID1' not found in initial containers list$/,
    ],
  ];
  for (const [text, message] of rows) assert.throws(() => decodeCheckpoint("none", text), { message }, text);
});

test("all assignments survive being written and read, and every change of a digit is detected", () => {
  const cpus = fc.uniqueArray(fc.nat(63), { maxLength: 8 }).map((ids) => formatCpuSet(ids));
  // Names that are numbers are sorted as text.
  const name = fc.oneof(fc.stringMatching(/^[a-z][a-z0-9-]{0,8}$/), fc.nat(30).map(String));
  const state = fc.record({
    shared: cpus,
    pods: fc.dictionary(name, fc.dictionary(name, cpus), { noNullPrototype: true }),
    podSets: fc.option(fc.dictionary(name, cpus, { noNullPrototype: true }), { nil: undefined }),
  });
  fc.assert(
    fc.property(state, fc.nat(), ({ shared, pods, podSets }, at) => {
      const sets = Object.entries(podSets ?? {}).map(
        ([uid, list]) => [uid as PodUid, parseCpuSet(list)] as const,
      );
      const expected = { ...assignments(shared, pods), ...(podSets && { podSets: new Map(sets) }) };
      const text = encodeCheckpoint("static", expected);
      assert.deepEqual(decodeCheckpoint("static", text, podSets !== undefined), expected);
      const digits = [...text.matchAll(/\d/g)].map(({ index }) => index);
      const index = digits[at % digits.length] ?? 0;
      const changed = `${text.slice(0, index)}${(Number(text[index]) + 1) % 10}${text.slice(index + 1)}`;
      assert.throws(() => decodeCheckpoint("static", changed, podSets !== undefined));
    }),
  );
});
