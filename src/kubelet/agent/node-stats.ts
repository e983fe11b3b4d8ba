import type { KubeletConfiguration } from "../../lib/config/kubelet-configuration.ts";
import { directCgroupFiles } from "../../lib/host/cgroups/files.ts";
import { cgroupUsageReader } from "../../lib/host/cgroups/usage-reader.ts";
import type { PodUid } from "../../lib/model/pod.ts";
import { podsCgroupName } from "../resources/cgroups/names.ts";
import type { StatsOptions } from "../stats/options.ts";
import { Stats } from "../stats/stats.ts";
import type { AgentCore } from "./agent-core.ts";
import { systemCgroupPaths } from "./system-cgroups.ts";

/** The usage of the node and its pods: for its API, its metrics and for eviction. */
export function nodeStats(core: AgentCore, parts: Required<Pick<StatsOptions, "volumes">>): Stats {
  const { config, node, clock, logger, options, cri, desired, observed } = core;
  const gates = (name: string) => options.gates.enabled(name);
  return new Stats({
    nodeName: node.name,
    clock,
    logger,
    cgroups: cgroupUsageReader(node.layout),
    pressureCgroups: cgroupUsageReader(node.layout, directCgroupFiles),
    runtime: cri,
    observed,
    pod: (uid: PodUid) => desired.get(uid),
    cgroupOf: (uid: PodUid) => {
      const pod = desired.get(uid);
      return pod && (config.cgroupsPerQOS ?? true) ? node.cgroups.parentFor(pod) : undefined;
    },
    podsCgroup: node.cgroupManager.pathOf(podsCgroupName(config.cgroupRoot)),
    systemCgroups: () => systemCgroupPaths(options, node),
    volumes: parts.volumes,
    rootDir: options.rootDir,
    podLogsDir: config.podLogsDir,
    machine: {
      memoryBytes: Number(node.info.memoryCapacity),
      swapBytes: Number(node.info.swapCapacity),
    },
    bootedAt: node.bootedAt,
    startedAt: clock.wall(),
    psi: gates("KubeletPSI"),
    podStatsFromRuntime: gates("PodAndContainerStatsFromCRI"),
    isCrio: isCrio(config),
  });
}

/** True if the runtime is CRI-O. As in the reference kubelet, the path of the socket decides. */
export function isCrio(config: Pick<KubeletConfiguration, "containerRuntimeEndpoint">): boolean {
  return config.containerRuntimeEndpoint.endsWith("run/crio/crio.sock");
}
