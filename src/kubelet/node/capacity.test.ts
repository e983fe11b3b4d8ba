import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { type CapacityInput, excessReservations, planCapacity } from "./capacity.ts";

const gib = 1n << 30n;
const input: CapacityInput = {
  machine: { cpus: 4, memoryBytes: 8n * gib, hugepages: [], storageBytes: 100n * gib },
  devices: { capacity: {}, allocatable: {}, removed: [] },
  pods: { maxPods: 110, podsPerCore: 0 },
  reservations: {},
};
const machine = input.machine!;
const all = { cpu: "4", memory: "8Gi", pods: "110", "ephemeral-storage": "100Gi" };

const allocations: [string, Partial<CapacityInput>, Record<string, string>][] = [
  ["everything is allocatable without reservations", {}, {}],
  [
    "reservations for the system and the agent are subtracted",
    { reservations: { systemReserved: { cpu: "100m", memory: "1Gi" }, kubeReserved: { cpu: "0.1" } } },
    { cpu: "3800m", memory: "7Gi" },
  ],
  [
    "reservedSystemCPUs replaces amounts of CPU",
    { reservations: { systemReserved: { cpu: "3" }, kubeReserved: { cpu: "1" }, reservedCpus: 2 } },
    { cpu: "2" },
  ],
  [
    "hard eviction thresholds of memory and of the filesystem are subtracted",
    { reservations: { evictionHard: { "memory.available": "1Gi", "nodefs.available": "10Gi" } } },
    { memory: "7Gi", "ephemeral-storage": "90Gi" },
  ],
  [
    "percentages are computed in single precision",
    { reservations: { evictionHard: { "nodefs.available": "10%", "imagefs.available": "15%" } } },
    { "ephemeral-storage": "96636764000" },
  ],
  ["100% is not a threshold", { reservations: { evictionHard: { "memory.available": "100%" } } }, {}],
  [
    "eviction thresholds can be ignored",
    { reservations: { evictionHard: { "memory.available": "1Gi" }, ignoreEviction: true } },
    {},
  ],
  ["allocatable is never negative", { reservations: { kubeReserved: { cpu: "5" } } }, { cpu: "0" }],
  ["pods cannot be reserved", { reservations: { kubeReserved: { pods: "10" } } }, {}],
  [
    "huge pages are subtracted from memory",
    { machine: { ...machine, hugepages: [{ pageBytes: 2n << 20n, pages: 512n }] } },
    { memory: "7Gi", "hugepages-2Mi": "1Gi" },
  ],
  [
    "reserved huge pages are subtracted, too",
    {
      machine: { ...machine, hugepages: [{ pageBytes: gib, pages: 2n }] },
      reservations: { kubeReserved: { "hugepages-1Gi": "1Gi" } },
    },
    { memory: "6Gi", "hugepages-1Gi": "1Gi" },
  ],
  [
    "bytes are not written in thousands",
    { reservations: { kubeReserved: { memory: String(8n * gib - 5_000_000n) } } },
    { memory: "5000000" },
  ],
  [
    "only healthy devices of plugins are allocatable",
    { devices: { capacity: { "v.example/gpu": "4" }, allocatable: { "v.example/gpu": "3" }, removed: [] } },
    { "v.example/gpu": "3" },
  ],
  [
    "devices of a removed plugin are 0",
    { devices: { capacity: {}, allocatable: {}, removed: ["v.example/gpu"] } },
    { "v.example/gpu": "0" },
  ],
  [
    "podsPerCore limits the pods if it allows fewer",
    { pods: { maxPods: 110, podsPerCore: 10 } },
    { pods: "40" },
  ],
  ["podsPerCore does not exceed maxPods", { pods: { maxPods: 110, podsPerCore: 50 } }, {}],
];

describe("capacity and allocatable", () => {
  // parity: field systemReserved, field kubeReserved, field evictionHard, field maxPods, field podsPerCore, flag experimental-allocatable-ignore-eviction as ignoreEviction
  for (const [rule, changes, different] of allocations)
    it(rule, () => {
      const { allocatable } = planCapacity({ ...input, ...changes }, {});
      assert.deepEqual(allocatable, { ...all, ...different });
    });
});

describe("capacity", () => {
  it("are computed from the machine", () => assert.deepEqual(planCapacity(input, {}).capacity, all));

  it("include resources of other writers", () => {
    const existing = { capacity: { "x.example/y": "7", cpu: "99" }, allocatable: { "x.example/y": "1" } };
    const plan = planCapacity(input, existing);
    assert.deepEqual(plan.capacity, { ...all, "x.example/y": "7" });
    assert.deepEqual(plan.allocatable, { ...all, "x.example/y": "7" });
  });

  it("drop resources that no longer exist", () => {
    const plan = planCapacity(input, { allocatable: { "x.example/y": "1" } });
    assert.deepEqual(plan.allocatable, all);
  });

  it("are empty for a machine that cannot be inspected", () => {
    const plan = planCapacity({ ...input, machine: undefined }, {});
    assert.deepEqual(plan.capacity, { cpu: "0", memory: "0", pods: "110" });
  });

  it("omit local storage if it is not accounted for", () => {
    const plan = planCapacity({ ...input, machine: { ...machine, storageBytes: undefined } }, {});
    assert.ok(!("ephemeral-storage" in plan.capacity));
  });
});

describe("excessReservations", () => {
  it("reservations up to the whole machine are valid", () => {
    const reservations = { systemReserved: { cpu: "3", memory: "8Gi" }, kubeReserved: { cpu: "1" } };
    assert.deepEqual(excessReservations({ ...input, reservations }), []);
  });
  it("a resource of which more is reserved is named, eviction thresholds included", () => {
    const reservations = {
      systemReserved: { cpu: "4", memory: "6Gi" },
      kubeReserved: { cpu: "100m", memory: "2Gi" },
      evictionHard: { "memory.available": "100Mi" },
    };
    assert.deepEqual(excessReservations({ ...input, reservations }), [
      'Resource "cpu" has a reservation of 4100m but capacity of 4. Expected capacity >= reservation.',
      'Resource "memory" has a reservation of 8292Mi but capacity of 8Gi. Expected capacity >= reservation.',
    ]);
  });
});
