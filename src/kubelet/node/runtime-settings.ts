import type { FeatureName } from "../../lib/config/feature-gate-table.ts";
import type { KubeletConfiguration } from "../../lib/config/kubelet-configuration.ts";
import type { PodLevelManagers } from "../../lib/model/exclusive-cpus.ts";
import type { RuntimeSettings } from "../pipeline/pod-runtime/config/context.ts";

interface Gates {
  enabled(gate: FeatureName): boolean;
}

/** Pods with pod-level resources are managed as a whole where the topology manager aligns pods. */
function podLevelManagers(
  { topologyManagerPolicy, topologyManagerScope }: KubeletConfiguration,
  gates: Gates,
): PodLevelManagers {
  if (!gates.enabled("PodLevelResourceManagers")) return "off";
  return topologyManagerPolicy === "none" ? "container" : topologyManagerScope;
}

/** The configuration that requests to the runtime depend on. */
export function runtimeSettings(
  { config, gates, rootDir }: { config: KubeletConfiguration; gates: Gates; rootDir: string },
  cgroupVersion: 1 | 2,
): RuntimeSettings {
  return {
    rootDir,
    podLogsDir: config.podLogsDir,
    cpuCfsQuota: config.cpuCFSQuota ?? true,
    cpuCfsQuotaPeriodUs: BigInt(Math.round((config.cpuCFSQuotaPeriod ?? 100) * 1000)),
    noQuotaOnExclusiveCpus:
      config.cpuManagerPolicy === "static" && gates.enabled("DisableCPUQuotaWithExclusiveCPUs"),
    podLevelManagers: podLevelManagers(config, gates),
    seccompDefault: config.seccompDefault ?? false,
    swapBehavior: config.memorySwap.swapBehavior === "LimitedSwap" ? "LimitedSwap" : "NoSwap",
    singleProcessOomKill: config.singleProcessOOMKill ?? cgroupVersion === 1,
    memoryThrottlingFactor: config.memoryThrottlingFactor ?? 0.9,
    memoryReservationPolicy: config.memoryReservationPolicy,
    gates: {
      podLevelResources: gates.enabled("PodLevelResources"),
      memoryQos: gates.enabled("MemoryQoS"),
      containerStopSignals: gates.enabled("ContainerStopSignals"),
      envFiles: gates.enabled("EnvFiles"),
    },
  };
}
