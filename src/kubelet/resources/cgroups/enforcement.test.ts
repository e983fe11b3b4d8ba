import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { CgroupResources } from "../../../lib/host/cgroups/cgroup-filesystem.ts";
import { type Enforcement, podsEnforcement, reservedCgroups } from "./enforcement.ts";

const gi = 1n << 30n;
const base: Enforcement = {
  levels: [],
  capacity: { cpu: "4", memory: "8Gi", pid: "32768" },
  systemReserved: { cpu: "500m", memory: "1Gi", pid: "1000", "ephemeral-storage": "1Gi" },
  systemReservedCgroup: "/system",
  kubeReserved: { cpu: "250m", memory: "512Mi" },
  kubeReservedCgroup: "/kube",
  memoryQos: false,
  hugepageSizes: [],
};

describe("podsEnforcement", () => {
  const rows: [rule: string, over: Partial<Enforcement>, want: CgroupResources][] = [
    [
      "unless pods are enforced, they may use the whole machine",
      {},
      { cpuShares: 4096n, memory: 8n * gi, pids: 32768n },
    ],
    [
      "both reservations are subtracted",
      { levels: ["pods"] },
      { cpuShares: 3328n, memory: (13n * gi) / 2n, pids: 31768n },
    ],
    [
      "what is reserved entirely is not limited, except for the least CPU",
      { levels: ["pods"], systemReserved: { cpu: "9", memory: "9Gi" } },
      { cpuShares: 2n, pids: 32768n },
    ],
    [
      "the CPUs of the machine are named on cgroup v2",
      { cpus: "0-3" },
      { cpuShares: 4096n, memory: 8n * gi, pids: 32768n, cpuset: "0-3" },
    ],
  ];
  for (const [rule, over, want] of rows)
    it(rule, () => assert.deepEqual(podsEnforcement({ ...base, ...over }), want));
});

describe("reservedCgroups", () => {
  const system = { cpuShares: 512n, memory: gi, pids: 1000n, hugepages: new Map() };
  const rows: [rule: string, over: Partial<Enforcement>, want: [string, string, CgroupResources][]][] = [
    ["nothing is enforced unless it is listed", { levels: ["pods"] }, []],
    ["none enforces nothing", { levels: ["none"] }, []],
    [
      "system-reserved limits its cgroup to the reservation",
      { levels: ["system-reserved"] },
      [["System Reserved", "/system", system]],
    ],
    [
      "kube-reserved comes after system-reserved, regardless of the order of the list",
      { levels: ["kube-reserved", "system-reserved"] },
      [
        ["System Reserved", "/system", system],
        ["Kube Reserved", "/kube", { cpuShares: 256n, memory: gi / 2n, hugepages: new Map() }],
      ],
    ],
    [
      "compressible is only the CPU",
      { levels: ["system-reserved-compressible", "kube-reserved-compressible"], memoryQos: true },
      [
        ["System Reserved Compressible", "/system", { cpuShares: 512n, hugepages: new Map() }],
        ["Kube Reserved Compressible", "/kube", { cpuShares: 256n, hugepages: new Map() }],
      ],
    ],
    [
      "MemoryQoS also protects the reserved memory",
      { levels: ["system-reserved"], memoryQos: true },
      [["System Reserved", "/system", { ...system, unified: { "memory.min": String(gi) } }]],
    ],
    [
      "huge pages are not reserved",
      { levels: ["kube-reserved"], hugepageSizes: ["2MB"], kubeReserved: { cpu: "1" } },
      [["Kube Reserved", "/kube", { cpuShares: 1024n, hugepages: new Map([["2MB", 0n]]) }]],
    ],
  ];
  for (const [rule, over, want] of rows)
    it(rule, () =>
      assert.deepEqual(
        reservedCgroups({ ...base, ...over }).map(({ title, cgroup, resources }) => [
          title,
          cgroup,
          resources,
        ]),
        want,
      ),
    );
});
