import { readFileSync } from "node:fs";
import type { LimitSettings } from "../../src/kubelet/resources/cgroups/limits.ts";
import type { Pod, PodSpec } from "../../src/lib/model/pod.ts";

/** Limits that the reference kubelet sets; absent ones are not set. */
export interface ReferenceLimits {
  cpuShares?: number;
  cpuWeight?: number;
  cpuQuota?: number;
  cpuPeriod?: number;
  memory?: number;
  pids?: number;
  hugepages: Record<string, number>;
  unified?: Record<string, string>;
}

/** Resources of a container, as the reference kubelet passes them to the runtime. */
export interface ReferenceContainer {
  cpuPeriod?: number;
  cpuQuota?: number;
  cpuShares: number;
  memoryLimitInBytes?: number;
  memorySwapLimitInBytes?: number;
  oomScoreAdj: number;
  hugepageLimits: Record<string, number>;
  unified?: Record<string, string>;
}

export interface ReferenceValues {
  pod: ReferenceLimits;
  containers: Record<string, ReferenceContainer>;
}

export interface ReferenceSettings {
  cpuCFSQuota: boolean;
  cpuCFSQuotaPeriodUs: number;
  podPidsLimit: number;
  memoryQoS: boolean;
  memoryReservationPolicy: "None" | "TieredReservation";
  memoryThrottlingFactor: number;
  swapBehavior: "NoSwap" | "LimitedSwap";
  singleProcessOOMKill: boolean;
  podLevelResources: boolean;
}

export interface ReferencePod {
  rule: string;
  settings: ReferenceSettings;
  pod: { metadata: { annotations?: Record<string, string> }; spec: PodSpec };
  qos: string;
  v1: ReferenceValues;
  v2: ReferenceValues;
}

interface Fixture {
  host: { memoryBytes: number; swapBytes: number; allocatableMemory: string };
  defaults: ReferenceSettings;
  rows: (Omit<ReferencePod, "settings"> & { settings?: Partial<ReferenceSettings> })[];
}

const file = new URL("../fixtures/cgroups/pods.json", import.meta.url);
const fixture = JSON.parse(readFileSync(file, "utf8")) as Fixture;

/** The machine that the values were computed for. Values of pod cgroups do not depend on it. */
export const referenceHost = fixture.host;

export const referencePods: readonly ReferencePod[] = fixture.rows.map((row) => ({
  ...row,
  settings: { ...fixture.defaults, ...row.settings },
}));

export function podOf({ pod }: ReferencePod, name: string, uid: string): Pod {
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { ...pod.metadata, name, namespace: "default", uid: uid as Pod["metadata"]["uid"] },
    spec: structuredClone(pod.spec),
  };
}

export function limitSettings(s: ReferenceSettings, version: 1 | 2): LimitSettings {
  return {
    cpuCfsQuota: s.cpuCFSQuota,
    cpuCfsQuotaPeriodUs: BigInt(s.cpuCFSQuotaPeriodUs),
    podPidsLimit: BigInt(s.podPidsLimit),
    podLevelResources: s.podLevelResources,
    memoryQos: s.memoryQoS && version === 2,
    memoryReservationPolicy: s.memoryReservationPolicy,
    hugepageSizes: ["2MB", "1GB"],
  };
}
