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
    volumeMode: "Filesystem",
    dir: "/x",
    unique: "u",
    desired: undefined,
    actual: "none",
    reconstructed: false,
    generation: 1,
    setUpGeneration: 1,
    failure: undefined,
    spec: undefined,
    mountedLabel: "",
    ...over,
  };
}

function device(over: Partial<DeviceRecord> = {}): DeviceRecord {
  return {
    unique: "u",
    plugin,
    dir: "/d",
    spec,
    label: "",
    state: "mounted",
    reconstructed: false,
    failure: undefined,
    ...over,
  };
}

const failure = failed(undefined, "step", "cause", monotonicTime(1_000)); // retried at 1,500

const table: [
  rule: string,
  records: VolumeRecord[],
  devices: DeviceRecord[],
  busy: string[],
  plan: string[],
][] = [
  ["an empty record needs nothing", [record()], [], [], []],
  ["a desired volume that is not mounted is mounted", [record({ desired })], [], [], ["mount"]],
  [
    "a desired volume in uncertain state is mounted",
    [record({ desired, actual: "uncertain" })],
    [],
    [],
    ["mount"],
  ],
  ["a mounted volume is left alone", [record({ desired, actual: "mounted" })], [], [], []],
  [
    "a mounted volume is set up again on request",
    [record({ desired, actual: "mounted", generation: 2 })],
    [],
    [],
    ["mount"],
  ],
  ["a volume that is not desired is unmounted", [record({ actual: "mounted" })], [], [], ["unmount"]],
  [
    "a volume in uncertain state that is not desired is unmounted",
    [record({ actual: "uncertain" })],
    [],
    [],
    ["unmount"],
  ],
  [
    "a volume whose pod may be running is kept",
    [record({ actual: "uncertain", reconstructed: true })],
    [],
    [],
    [],
  ],
  ["no operation starts while another one runs", [record({ desired })], [], ["u"], []],
  [
    "no operation starts while another one runs under a previous unique name",
    [record({ desired })],
    [],
    ["k"],
    [],
  ],
  ["no operation starts before the back-off ends", [record({ desired, failure })], [], [], []],
  ["an unused device is unmounted", [], [device()], [], ["unmount-device"]],
  ["a device that is in use is kept", [record({ desired, actual: "mounted" })], [device()], [], []],
  ["a device is unmounted after its last user", [record({ actual: "mounted" })], [device()], [], ["unmount"]],
  ["a device that pods may use is kept", [], [device({ reconstructed: true })], [], []],
  ["a device with a running operation is left alone", [], [device()], ["u"], []],
  [
    "one operation at a time runs per unique name, unmount first",
    [record({ key: "1", desired }), record({ key: "2", actual: "mounted" })],
    [],
    [],
    ["unmount"],
  ],
  [
    "operations of different unique names run in parallel",
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

test("the plan contains the end of the first back-off", () => {
  const later = { ...failure, retryAt: monotonicTime(9_000) };
  const records = [
    record({ key: "1", desired, failure: later }),
    record({ key: "2", unique: "v", desired, failure }),
  ];
  assert.equal(planVolumes(records, [], new Set(), monotonicTime(1_000)).wakeAt, 1_500);
  assert.equal(planVolumes(records, [], new Set(), monotonicTime(1_500)).start.length, 1);
  assert.equal(planVolumes([], [], new Set(), monotonicTime(1_000)).wakeAt, endOfTime);
});
