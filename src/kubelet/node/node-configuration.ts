import type { FeatureGates } from "../../lib/config/feature-gates.ts";
import type { KubeletFlags } from "../../lib/config/flags/kubelet-flags.ts";
import type { KubeletConfiguration } from "../../lib/config/kubelet-configuration.ts";
import type { NodeSettings } from "./node-object.ts";
import type { StatusInputs } from "./node-status.ts";
import type { NodeStatusOptions } from "./node-status-manager.ts";

type NodeFlags = Pick<
  KubeletFlags,
  "nodeLabels" | "nodeIP" | "cloudProvider" | "experimentalAllocatableIgnoreEviction"
>;

export interface NodeConfiguration {
  settings: Omit<NodeSettings, "name" | "hostname" | "os" | "arch">;
  info: Pick<StatusInputs, "pods" | "reservations" | "maxImages" | "port" | "localStorage">;
  nodeIps: string[];
  manager: Pick<
    NodeStatusOptions,
    "registerNode" | "getOnExistsOnly" | "updateFrequencyMs" | "reportFrequencyMs"
  >;
  leaseSeconds: number;
  /** A heartbeat that takes longer than this has failed. */
  requestTimeoutMs: number;
}

/** The node settings of files and flags. `reservedCpus` is how many CPUs reservedSystemCPUs names. */
export function nodeConfiguration(
  config: KubeletConfiguration,
  flags: NodeFlags,
  gates: Pick<FeatureGates, "enabled">,
  reservedCpus: number,
): NodeConfiguration {
  return {
    settings: {
      labels: flags.nodeLabels,
      taints: (config.registerWithTaints ?? []).map(({ key, value, effect }) => ({
        key,
        ...(value && { value }),
        effect,
      })),
      externalCloudProvider: flags.cloudProvider === "external",
      controllerAttachDetach: config.enableControllerAttachDetach ?? true,
      providerId: config.providerID ?? "",
    },
    info: {
      pods: { maxPods: config.maxPods, podsPerCore: config.podsPerCore ?? 0 },
      reservations: {
        kubeReserved: config.kubeReserved,
        systemReserved: config.systemReserved,
        evictionHard: config.evictionHard,
        ignoreEviction: flags.experimentalAllocatableIgnoreEviction,
        reservedCpus,
      },
      maxImages: config.nodeStatusMaxImages ?? 50,
      port: config.port,
      localStorage: config.localStorageCapacityIsolation ?? true,
    },
    nodeIps: flags.nodeIP ? flags.nodeIP.split(",").map((ip) => ip.trim()) : [],
    manager: {
      registerNode: config.registerNode ?? true,
      getOnExistsOnly: gates.enabled("KubeletRegistrationGetOnExistsOnly"),
      updateFrequencyMs: config.nodeStatusUpdateFrequency,
      reportFrequencyMs: config.nodeStatusReportFrequency,
    },
    leaseSeconds: config.nodeLeaseDurationSeconds,
    requestTimeoutMs: Math.min(config.nodeStatusUpdateFrequency, config.nodeLeaseDurationSeconds * 1000),
  };
}
