import type { Pod } from "../../lib/model/pod.ts";
import type { PodStats } from "../../lib/model/stats-summary.ts";
import type { InitialSync } from "../pipeline/sync-loop/initial-sync.ts";
import { podsCgroupName } from "../resources/cgroups/names.ts";
import { EvictionManager, type EvictionManagerOptions } from "../resources/eviction/eviction-manager.ts";
import { createEvictionMetrics } from "../resources/eviction/eviction-metrics.ts";
import { limitsContainers } from "../resources/eviction/local-storage.ts";
import { memoryNotifier } from "../resources/eviction/memory-notifier.ts";
import { conditionOf, type Signal } from "../resources/eviction/signals.ts";
import { thresholdsOf } from "../resources/eviction/thresholds.ts";
import type { PressureNeeds } from "../stats/pressure-stats.ts";
import type { Stats } from "../stats/stats.ts";
import type { AgentCore } from "./agent-core.ts";
import type { PodParts } from "./pod-parts.ts";

/** Evicts pods when the node runs low on memory, disk or process IDs. */
export function evictionManager(
  core: AgentCore,
  parts: Pick<PodParts, "activePods" | "evictedPods"> & {
    readonly stats: Stats;
    readonly initialSync: Pick<InitialSync, "isComplete">;
    readonly reclaim: EvictionManagerOptions["reclaim"];
  },
): EvictionManager {
  const { config, options, node, clock, logger, events, nodeEvents, metrics, pressure, post } = core;
  const { workers } = core;
  const { evictedPods, stats, initialSync } = parts;
  const ignoresAllocatable = options.nodeFlags?.experimentalAllocatableIgnoreEviction ?? false;
  const notifier = memoryNotifier({
    enabled: config.kernelMemcgNotification,
    layout: node.layout,
    podsCgroup: node.cgroupManager.pathOf(podsCgroupName(config.cgroupRoot)),
  });
  return new EvictionManager({
    thresholds: thresholdsOf({
      ...config,
      enforcesAllocatable: !ignoresAllocatable && config.enforceNodeAllocatable.includes("pods"),
    }),
    transitionMs: config.evictionPressureTransitionPeriod,
    maxPodGraceSeconds: config.evictionMaxPodGracePeriod,
    localStorage: config.localStorageCapacityIsolation ?? true,
    splitFileSystems: options.gates.enabled("KubeletSeparateDiskGC"),
    podLevel: node.settings.gates.podLevelResources,
    stats: {
      node: (signals) => stats.pressure.node(needsOf(signals)),
      layout: () => stats.pressure.layout(),
      pods: async (resource) => {
        if (resource === "memory") return byUid((await stats.totals()).pods);
        if (resource === "pids") return byUid((await stats.storage()).pods);
        const uids = new Set(parts.activePods().map(({ metadata }) => metadata.uid));
        return byUid(await stats.storageOf(uids, { layers: true }));
      },
      storage: async (pods) => {
        const uids = new Set(pods.map(({ metadata }: Pod) => metadata.uid));
        return byUid(await stats.storageOf(uids, { layers: pods.some(limitsContainers) }));
      },
    },
    activePods: parts.activePods,
    terminationOf: (uid) => {
      const worker = workers.get(uid);
      if (!worker) return initialSync.isComplete() ? "finished" : "none";
      if (worker.phase !== "terminated") return "none";
      return worker.resourcesReclaimed ? "finished" : "terminated";
    },
    evicted: evictedPods,
    reclaim: parts.reclaim,
    ...(notifier && { notifier }),
    metrics: createEvictionMetrics(metrics),
    events,
    nodeEvents,
    clock,
    logger,
    pressure,
    onPressure: () => post({ kind: "pressure-changed" }),
  });
}

function byUid(pods: readonly PodStats[]): ReadonlyMap<string, PodStats> {
  return new Map(pods.map((stats) => [stats.podRef.uid, stats]));
}

function needsOf(signals: ReadonlySet<Signal>): PressureNeeds {
  return {
    memory: signals.has("memory.available"),
    pods: signals.has("allocatableMemory.available"),
    disks: [...signals].some((signal) => conditionOf(signal) === "DiskPressure"),
    tasks: signals.has("pid.available"),
  };
}
