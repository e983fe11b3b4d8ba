import type { ContainerContext, NodeInfo, RuntimeSettings, SandboxContext } from "./context.ts";

/** A plain node with cgroup v1 and default settings, for tests. */
export const fakeNode: NodeInfo = {
  hostIps: ["192.0.2.10"],
  memoryCapacity: 8n << 30n,
  swapCapacity: 0n,
  allocatable: { cpu: "4", memory: "7Gi", "ephemeral-storage": "10Gi" },
  cgroupVersion: 1,
  swapAccounting: false,
  hugepageSizes: [],
  pageSize: 4096n,
  selinux: false,
  extraMaskedPaths: [],
};

export const fakeSettings: RuntimeSettings = {
  rootDir: "/var/lib/kubelet",
  podLogsDir: "/var/log/pods",
  cpuCfsQuota: true,
  cpuCfsQuotaPeriodUs: 100_000n,
  seccompDefault: false,
  swapBehavior: "NoSwap",
  singleProcessOomKill: true,
  memoryThrottlingFactor: 0.9,
  memoryReservationPolicy: "None",
  gates: { podLevelResources: true, memoryQos: false, containerStopSignals: false },
};

export function fakeContainerContext(over: Partial<ContainerContext> = {}): ContainerContext {
  return {
    node: fakeNode,
    settings: fakeSettings,
    attempt: 0,
    imageRef: "sha256:1",
    imageUser: { uid: 0n },
    podIps: ["10.0.0.5"],
    terminationFile: "00c0ffee",
    ...over,
  };
}

export function fakeSandboxContext(over: Partial<SandboxContext> = {}): SandboxContext {
  return {
    node: fakeNode,
    settings: fakeSettings,
    attempt: 0,
    dns: { servers: ["10.96.0.10"], searches: [], options: [] },
    hostname: "web",
    cgroupParent: "/kubepods/besteffort/podx",
    ...over,
  };
}
