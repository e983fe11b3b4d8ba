import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { CgroupResources } from "../../../lib/host/cgroups/cgroup-filesystem.ts";
import { sliceProperties, systemdLimits } from "./systemd-properties.ts";

const max = (1n << 64n) - 1n;
const plain = (properties: ReturnType<typeof sliceProperties>) =>
  Object.fromEntries(properties.map(([name, { value }]) => [name, value]));

describe("limits as properties of a unit", () => {
  type Properties = Record<string, unknown>;
  const rows: [string, CgroupResources, 1 | 2, Properties][] = [
    ["nothing", {}, 2, {}],
    ["v2: a weight", { cpuShares: 1024n }, 2, { CPUWeight: 39n }],
    ["v1: shares", { cpuShares: 1024n }, 1, { CPUShares: 1024n }],
    ["v2: memory", { memory: 64n << 20n }, 2, { MemoryMax: 64n << 20n }],
    ["v1: memory", { memory: 64n << 20n }, 1, { MemoryLimit: 64n << 20n }],
    ["no memory limit", { memory: -1n }, 2, { MemoryMax: max }],
    ["a memory limit of 0 is not set", { memory: 0n }, 2, {}],
    ["tasks", { pids: 100n }, 2, { TasksMax: 100n }],
    ["no limit of tasks", { pids: -1n }, 1, { TasksMax: max }],
    ["0 tasks, which systemd rejects", { pids: 0n }, 2, { TasksMax: 1n }],
    [
      "a quota",
      { cpuQuota: 20_000n, cpuPeriod: 100_000n },
      2,
      { CPUQuotaPeriodUSec: 100_000n, CPUQuotaPerSecUSec: 200_000n },
    ],
    ["a quota in the default period", { cpuQuota: 150_000n }, 2, { CPUQuotaPerSecUSec: 1_500_000n }],
    [
      "no quota, with a period",
      { cpuQuota: -1n, cpuPeriod: 50_000n },
      1,
      { CPUQuotaPeriodUSec: 50_000n, CPUQuotaPerSecUSec: max },
    ],
    ["CPUs", { cpuset: "0,2-3,9" }, 2, { AllowedCPUs: new Uint8Array([0b1101, 0b10]) }],
    ["huge pages are in the files only", { hugepages: new Map([["2MB", 0n]]) }, 2, {}],
    [
      "v2: memory protection and limits",
      { unified: { "memory.min": "4096", "memory.low": "1", "memory.high": "max", "memory.swap.max": "0" } },
      2,
      { MemoryMin: 4096n, MemoryLow: 1n, MemoryHigh: max, MemorySwapMax: 0n },
    ],
    ["v1 has no unified files", { unified: { "memory.min": "4096" } }, 1, {}],
    [
      "v2: other unified files",
      { unified: { "cpu.max": "5000 10000", "cpu.weight": "7", "pids.max": "0", "cpuset.mems": "1" } },
      2,
      {
        CPUQuotaPeriodUSec: 10_000n,
        CPUQuotaPerSecUSec: 500_000n,
        CPUWeight: 7n,
        TasksMax: 1n,
        AllowedMemoryNodes: new Uint8Array([2]),
      },
    ],
    ["v2: idle", { unified: { "cpu.idle": "1", "cpu.weight": "7" } }, 2, { CPUWeight: 0n }],
    ["files that systemd does not support", { unified: { "memory.oom.group": "1" } }, 2, {}],
  ];
  for (const [name, resources, version, expected] of rows)
    it(name, () => assert.deepEqual(plain([...systemdLimits(resources, version, 252).properties]), expected));

  it("a quota is rounded up to whole percent, for systemd and for the files", () => {
    const { properties, resources } = systemdLimits({ cpuQuota: 12_345n, cpuPeriod: 100_000n }, 2, 252);
    assert.deepEqual(plain([...properties]), { CPUQuotaPeriodUSec: 100_000n, CPUQuotaPerSecUSec: 130_000n });
    assert.deepEqual(resources, { cpuQuota: 13_000n, cpuPeriod: 100_000n });
  });

  it("an old systemd gets only what it knows", () => {
    const all = { cpuQuota: 20_000n, cpuPeriod: 100_000n, cpuset: "0", unified: { "cpu.idle": "1" } };
    const names = (version: number) => Object.keys(plain([...systemdLimits(all, 2, version).properties]));
    assert.deepEqual(names(241), ["CPUQuotaPerSecUSec"]);
    assert.deepEqual(names(243), ["CPUQuotaPeriodUSec", "CPUQuotaPerSecUSec"]);
    assert.deepEqual(names(251), ["CPUQuotaPeriodUSec", "CPUQuotaPerSecUSec", "AllowedCPUs"]);
  });
});

it("a new slice accounts for all resources, below its parent", () => {
  const v2 = plain(sliceProperties("a-b.slice", "a.slice", 2));
  assert.deepEqual(v2, {
    Description: "libcontainer container a-b.slice",
    Wants: ["a.slice"],
    MemoryAccounting: true,
    CPUAccounting: true,
    IOAccounting: true,
    TasksAccounting: true,
    DefaultDependencies: false,
  });
  assert.equal(plain(sliceProperties("a-b.slice", "a.slice", 1)).BlockIOAccounting, true);
});
