import assert from "node:assert/strict";
import { test } from "node:test";
import { usageThresholds } from "./memory-notification.ts";
import { type Observations, observationsOf, type Signal } from "./signals.ts";
import {
  byUrgency,
  quantityText,
  type Threshold,
  type ThresholdSettings,
  thresholdsMet,
  thresholdsOf,
  unitsOf,
  withContainerFs,
} from "./thresholds.ts";

const none: ThresholdSettings = {
  evictionHard: {},
  evictionSoft: {},
  evictionSoftGracePeriod: {},
  evictionMinimumReclaim: {},
  enforcesAllocatable: false,
};
const text = ({ signal, value, graceMs, minReclaim }: Threshold) =>
  `${signal}<${value.text}${graceMs ? ` for ${graceMs}` : ""}${minReclaim ? ` +${minReclaim.text}` : ""}`;
const parsed = (settings: Partial<ThresholdSettings>) => thresholdsOf({ ...none, ...settings });

const parsing: [rule: string, Partial<ThresholdSettings>, string[]][] = [
  ["no settings, no thresholds", {}, []],
  [
    "hard and soft thresholds of a signal are two thresholds, both with its minimum reclaim",
    {
      evictionHard: { "memory.available": "100Mi", "nodefs.available": "10%" },
      evictionSoft: { "memory.available": "300Mi" },
      evictionSoftGracePeriod: { "memory.available": "1m30s" },
      evictionMinimumReclaim: { "memory.available": "50Mi" },
    },
    ["memory.available<100Mi +50Mi", "nodefs.available<10%", "memory.available<300Mi for 90000 +50Mi"],
  ],
  [
    "0% and 100% disable a threshold",
    { evictionHard: { "nodefs.available": "0%", "imagefs.available": "100%" } },
    [],
  ],
  [
    "with a limit of all pods, the hard memory threshold applies to it too, but not the soft one",
    {
      evictionHard: { "memory.available": "100Mi" },
      evictionSoft: { "memory.available": "1Gi" },
      evictionSoftGracePeriod: { "memory.available": "10s" },
      enforcesAllocatable: true,
    },
    ["memory.available<100Mi", "memory.available<1Gi for 10000", "allocatableMemory.available<100Mi"],
  ],
];
for (const [rule, settings, expected] of parsing)
  test(rule, () => assert.deepEqual(parsed(settings).map(text), expected));

const values: [value: string, capacity: number, units: number, quantity: string][] = [
  ["100Mi", 0, 104_857_600, "100Mi"],
  ["1500M", 0, 1_500_000_000, "1500M"],
  ["0.5Gi", 0, 536_870_912, "512Mi"],
  // Single precision: 0.1 is a little more than a tenth.
  ["10%", 1_000_000_000, 100_000_001, "100000001"],
  ["5%", 8_388_608, 419_430, "419430"],
  ["50%", 4096, 2048, "2Ki"],
  ["15.5%", 1000, 155, "155"],
];
for (const [value, capacity, units, quantity] of values)
  test(`${value} of ${capacity} is ${units}`, () => {
    const [threshold] = parsed({ evictionHard: { "nodefs.available": value } });
    assert.equal(unitsOf(threshold!.value, capacity), units);
    assert.equal(quantityText(threshold!.value, capacity), quantity);
  });

const disks = parsed({
  evictionHard: { "nodefs.available": "1Gi", "imagefs.available": "2Gi", "containerfs.available": "9Gi" },
  evictionSoft: { "imagefs.inodesFree": "10%" },
  evictionSoftGracePeriod: { "imagefs.inodesFree": "5s" },
});
const layouts: [rule: string, dedicatedImageFs: boolean, splitContainerFs: boolean, string[]][] = [
  [
    "without a dedicated imagefs the containerfs has the thresholds of the nodefs",
    false,
    false,
    ["containerfs.available<1Gi"],
  ],
  [
    "with a dedicated imagefs it has those of the imagefs",
    true,
    false,
    ["containerfs.available<2Gi", "containerfs.inodesFree<10% for 5000"],
  ],
  ["with a split imagefs it has those of the nodefs", true, true, ["containerfs.available<1Gi"]],
];
for (const [rule, dedicatedImageFs, splitContainerFs, expected] of layouts)
  test(`${rule}, regardless of what is configured for it`, () => {
    const all = withContainerFs(disks, { dedicatedImageFs, splitContainerFs });
    assert.deepEqual(all.map(text).slice(0, 3), [
      "nodefs.available<1Gi",
      "imagefs.available<2Gi",
      "imagefs.inodesFree<10% for 5000",
    ]);
    assert.deepEqual(all.map(text).slice(3), expected);
  });

const gi = 2 ** 30;
const seen = (available: number, capacity = 10 * gi): Observations =>
  new Map([["memory.available" as Signal, { available, capacity }]]);
const met: [
  rule: string,
  value: string,
  reclaim: string | undefined,
  minReclaim: boolean,
  available: number,
  boolean,
][] = [
  ["less than the value is available", "1Gi", undefined, false, gi - 1, true],
  ["exactly the value is not less", "1Gi", undefined, false, gi, false],
  ["the minimum reclaim does not count at first", "1Gi", "1Gi", false, gi + 1, false],
  [
    "a threshold that was met is not resolved without the minimum reclaim",
    "1Gi",
    "1Gi",
    true,
    2 * gi - 1,
    true,
  ],
  ["with the minimum reclaim it is", "1Gi", "1Gi", true, 2 * gi, false],
  ["the minimum reclaim may be a share", "10%", "10%", true, 2 * gi - 2, true],
];
for (const [rule, value, reclaim, minReclaim, available, expected] of met)
  test(`${expected ? "met" : "not met"}: ${rule}`, () => {
    const thresholds = parsed({
      evictionHard: { "memory.available": value },
      evictionMinimumReclaim: reclaim === undefined ? {} : { "memory.available": reclaim },
    });
    assert.equal(thresholdsMet(thresholds, seen(available), { minReclaim }).length, expected ? 1 : 0);
  });

test("a threshold whose signal was not observed is not met", () => {
  const thresholds = parsed({ evictionHard: { "pid.available": "90%" } });
  assert.deepEqual(thresholdsMet(thresholds, seen(0), { minReclaim: false }), []);
});

test("memory is the most urgent, the others keep their order", () => {
  const thresholds = parsed({
    evictionHard: { "pid.available": "1k", "nodefs.available": "1Gi", "memory.available": "1Gi" },
    enforcesAllocatable: true,
  });
  assert.deepEqual(
    byUrgency(thresholds).map(({ signal }) => signal),
    ["memory.available", "allocatableMemory.available", "pid.available", "nodefs.available"],
  );
});

const mi = 2 ** 20;
const allocatable: [
  rule: string,
  setting: string,
  availableBytes: number,
  workingSetBytes: number,
  met: boolean,
  notifiedAt: number,
][] = [
  ["an amount", "100Mi", 100 * mi, 200 * mi, false, 210 * mi],
  ["an amount", "100Mi", 100 * mi - 1, 200 * mi + 1, true, 210 * mi],
  ["a share of the limit of all pods, not of the machine", "10%", 30 * mi, 270 * mi, false, 280 * mi],
  ["a share of the limit of all pods, not of the machine", "10%", 30 * mi - 1, 270 * mi + 1, true, 280 * mi],
  ["a share of the limit, also above it", "10%", -mi, 301 * mi, true, 280 * mi],
];
for (const [rule, setting, availableBytes, workingSetBytes, isMet, notifiedAt] of allocatable)
  test(`the memory of all pods is compared with ${rule}: ${setting}, ${availableBytes} left`, () => {
    const thresholds = parsed({ evictionHard: { "memory.available": setting }, enforcesAllocatable: true });
    const pods = { availableBytes, workingSetBytes, usageBytes: workingSetBytes + 10 * mi };
    const found = thresholdsMet(thresholds, observationsOf({ pods }), { minReclaim: false });
    assert.deepEqual(
      found.map(({ signal }) => signal),
      isMet ? ["allocatableMemory.available"] : [],
    );
    assert.deepEqual(usageThresholds(thresholds, { pods }), [{ cgroup: "pods", usageBytes: notifiedAt }]);
  });

test("observations are of what was measured, and of nothing else", () => {
  const all = observationsOf({
    memory: { availableBytes: 30, workingSetBytes: 70, usageBytes: 90 },
    pods: { workingSetBytes: 60 },
    nodeFs: { availableBytes: 1, capacityBytes: 2, inodesFree: 3, inodes: 4 },
    imageFs: { availableBytes: 5, capacityBytes: 6 },
    tasks: { max: 100, running: 40 },
  });
  assert.deepEqual(Object.fromEntries(all), {
    "memory.available": { available: 30, capacity: 100 },
    "nodefs.available": { available: 1, capacity: 2 },
    "nodefs.inodesFree": { available: 3, capacity: 4 },
    "imagefs.available": { available: 5, capacity: 6 },
    "pid.available": { available: 60, capacity: 100 },
  });
});
