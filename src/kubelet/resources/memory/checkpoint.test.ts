import assert from "node:assert/strict";
import { test } from "node:test";
import type { PodUid } from "../../../lib/model/pod.ts";
import { decodeCheckpoint, encodeCheckpoint, type MemoryState } from "./checkpoint.ts";

/** Written by the reference kubelet. */
const ofReference =
  '{"policyName":"static","machineState":{"0":{"numberOfAssignments":0,"memoryMap":{"memory":{"total":2048,"systemReserved":512,"allocatable":1536,"reserved":512,"free":1024}},"cells":[]}},"entries":{"pod":{"container1":[{"numaAffinity":[0],"type":"memory","size":512}]}},"checksum":4215593881}';

const state: MemoryState = {
  policy: "static",
  machine: new Map([
    [
      0,
      {
        assignments: 0,
        tables: new Map([
          ["memory", { total: 2048n, systemReserved: 512n, allocatable: 1536n, reserved: 512n, free: 1024n }],
        ]),
        group: [],
      },
    ],
  ]),
  assignments: new Map([
    ["pod" as PodUid, new Map([["container1", [{ nodes: [0], resource: "memory", bytes: 512n }]]])],
  ]),
};

test("a file of the reference kubelet is read", () => {
  assert.deepEqual(decodeCheckpoint(ofReference), state);
});

test("a file is the same as that of the reference kubelet, with its checksum", () => {
  assert.equal(encodeCheckpoint(state), ofReference);
});

test("the file of the policy None is the same as that of the reference kubelet", () => {
  assert.equal(
    encodeCheckpoint({ policy: "None", machine: new Map(), assignments: new Map() }),
    '{"policyName":"None","machineState":{},"checksum":4236770233}',
  );
});

test("with the memory of pods a file is the same as that of the reference kubelet with PodLevelResourceManagers", () => {
  const podAssignments = new Map([["pod" as PodUid, [{ nodes: [0], resource: "memory", bytes: 512n }]]]);
  const expected = ofReference.replace(
    '"checksum":4215593881',
    '"podEntries":{"pod":{"memoryBlocks":[{"numaAffinity":[0],"type":"memory","size":512}]}},"checksum":1278640530',
  );
  assert.equal(encodeCheckpoint({ ...state, podAssignments }), expected);
  assert.deepEqual(decodeCheckpoint(expected, true), { ...state, podAssignments });
  assert.deepEqual(decodeCheckpoint(ofReference, true), { ...state, podAssignments: new Map() });
  const none = encodeCheckpoint({ ...state, podAssignments: new Map() });
  assert.deepEqual(decodeCheckpoint(none, true), { ...state, podAssignments: new Map() });
  for (const [text, podLevel] of [
    [expected, false],
    [expected.replace('"size":512}]}},"check', '"size":513}]}},"check'), true],
  ] as const)
    assert.throws(() => decodeCheckpoint(text, podLevel), { message: "checkpoint is corrupted" });
});

test("several nodes, huge pages and pods survive", () => {
  const table = { total: 1n << 40n, systemReserved: 0n, allocatable: 1n << 40n, reserved: 3n, free: 1n };
  const tables = new Map([
    ["hugepages-1Gi", table],
    ["memory", table],
  ]);
  const blocks = [{ nodes: [2, 10], resource: "memory", bytes: 3n }];
  const large: MemoryState = {
    policy: "Static",
    machine: new Map([2, 10].map((id) => [id, { assignments: 1, tables, group: [2, 10] }])),
    assignments: new Map(
      ["a", "b"].map((uid) => [
        uid as PodUid,
        new Map([
          ["x", blocks],
          ["y", []],
        ]),
      ]),
    ),
  };
  assert.deepEqual(decodeCheckpoint(encodeCheckpoint(large)), large);
});

for (const [rule, text, message] of [
  ["a wrong checksum", ofReference.replace("4215593881", "101010"), "checkpoint is corrupted"],
  ["a changed size", ofReference.replace('"size":512', '"size":513'), "checkpoint is corrupted"],
  [
    "a file with pod-level resources, which needs PodLevelResourceManagers",
    ofReference
      .replace("4215593881", "1278640530")
      .replace('"checksum"', '"podEntries":{"pod":{"memoryBlocks":[]}},"checksum"'),
    "checkpoint is corrupted",
  ],
  ["something else than an object", "[]", "checkpoint is corrupted"],
  ...[
    '"policyName":5',
    '"machineState":[1]',
    '"machineState":{"0":null}',
    '"machineState":{"x":{}}',
    '"machineState":{"0":{"cells":"abc"}}',
    '"machineState":{"0":{"cells":[0.5]}}',
    '"machineState":{"0":{"numberOfAssignments":"1"}}',
    '"machineState":{"0":{"memoryMap":{"memory":5}}}',
    '"machineState":{"0":{"memoryMap":{"memory":{"total":1.5}}}}',
    '"machineState":{"0":{"memoryMap":{"memory":{"free":-1}}}}',
    '"entries":[]',
    '"entries":{"p":"c"}',
    '"entries":{"p":{"c":5}}',
    '"entries":{"p":{"c":[null]}}',
    '"entries":{"p":{"c":[{"numaAffinity":"0"}]}}',
    '"entries":{"p":{"c":[{"size":"1e3"}]}}',
    '"entries":{"p":{"c":[{"type":5}]}}',
    '"podEntries":[1]',
    '"podEntries":{"p":[]}',
    '"podEntries":{"p":{"memoryBlocks":[5]}}',
    '"checksum":"0"',
  ].map((field) => [`a field of another type: ${field}`, `{${field}}`, "checkpoint is corrupted"] as const),
  ["a truncated file", ofReference.slice(0, 40), /JSON/],
] as const)
  test(`${rule} is rejected`, () => {
    assert.throws(() => decodeCheckpoint(text), { message });
  });

test("a file without a checksum is accepted, as in the reference", () => {
  assert.deepEqual(decodeCheckpoint(ofReference.replace("4215593881", "0")), state);
});
