import assert from "node:assert/strict";
import { test } from "node:test";
import { FakeClock, monotonicTime } from "../../../../lib/base/fake-clock.ts";
import { endOfTime } from "../../../../lib/base/time.ts";
import type { PodUid } from "../../../../lib/model/pod.ts";
import { FakeVolumeHost, podWithVolumes } from "./fake-volumes.ts";
import { planVolumes } from "./volume-plan.ts";
import { type DeviceRecord, failed, type VolumeRecord } from "./volume-state.ts";

const plugin = new FakeVolumeHost(new FakeClock()).plugin("own");
const pod = podWithVolumes("a", ["x"]);
const spec = { name: "x", volume: pod.spec.volumes![0]!, readOnly: false };
const desired = { pod, spec, since: monotonicTime(0) };

function record(over: Partial<VolumeRecord> = {}): VolumeRecord {
  return {
    key: "k",
    podUid: "a" as PodUid,
    name: "x",
    plugin,
    kind: "mount",
    dir: "/x",
    unique: "u",
    desired: undefined,
    actual: "none",
    held: false,
    generation: 1,
    setUpGeneration: 1,
    failure: undefined,
    spec: undefined,
    ...over,
  };
}

function device(over: Partial<DeviceRecord> = {}): DeviceRecord {
  return { unique: "u", plugin, dir: "/d", spec, state: "mounted", held: false, failure: undefined, ...over };
}

const failure = failed(undefined, "step", "cause", monotonicTime(1_000)); // to be tried again at 1,500

const table: [
  rule: string,
  records: VolumeRecord[],
  devices: DeviceRecord[],
  busy: string[],
  plan: string[],
][] = [
  ["nothing for nothing", [record()], [], [], []],
  ["what is wanted and not there is mounted", [record({ desired })], [], [], ["mount"]],
  ["what may or may not be there is mounted", [record({ desired, actual: "uncertain" })], [], [], ["mount"]],
  ["what is there is left alone", [record({ desired, actual: "mounted" })], [], [], []],
  [
    "unless it is to be set up again",
    [record({ desired, actual: "mounted", generation: 2 })],
    [],
    [],
    ["mount"],
  ],
  ["what nobody wants goes", [record({ actual: "mounted" })], [], [], ["unmount"]],
  ["also if it may not be there", [record({ actual: "uncertain" })], [], [], ["unmount"]],
  ["but not while its pod may live", [record({ actual: "uncertain", held: true })], [], [], []],
  ["nothing while it is busy", [record({ desired })], [], ["u"], []],
  ["nothing while it is busy under another name", [record({ desired })], [], ["k"], []],
  ["nothing before its time", [record({ desired, failure })], [], [], []],
  ["a device without users goes", [], [device()], [], ["unmount-device"]],
  ["a device with a user stays", [record({ desired, actual: "mounted" })], [device()], [], []],
  ["a device goes after its last user", [record({ actual: "mounted" })], [device()], [], ["unmount"]],
  ["a device that pods may use stays", [], [device({ held: true })], [], []],
  ["a device is not touched while it is busy", [], [device()], ["u"], []],
  [
    "one thing at a time for a unique name, and what goes goes first",
    [record({ key: "1", desired }), record({ key: "2", actual: "mounted" })],
    [],
    [],
    ["unmount"],
  ],
  [
    "different unique names at once",
    [record({ key: "1", desired }), record({ key: "2", unique: "v", desired })],
    [],
    [],
    ["mount", "mount"],
  ],
];

for (const [rule, records, devices, busy, expected] of table)
  test(rule, () => {
    const plan = planVolumes(records, devices, new Set(busy), monotonicTime(1_000));
    assert.deepEqual(
      plan.start.map(({ kind }) => kind),
      expected,
    );
  });

test("the plan says when the first of those that wait is due", () => {
  const later = { ...failure, retryAt: monotonicTime(9_000) };
  const records = [
    record({ key: "1", desired, failure: later }),
    record({ key: "2", unique: "v", desired, failure }),
  ];
  assert.equal(planVolumes(records, [], new Set(), monotonicTime(1_000)).wakeAt, 1_500);
  assert.equal(planVolumes(records, [], new Set(), monotonicTime(1_500)).start.length, 1);
  assert.equal(planVolumes([], [], new Set(), monotonicTime(1_000)).wakeAt, endOfTime);
});
