import type { Component } from "../../lib/base/component.ts";
import { deadline } from "../../lib/base/wait.ts";
import type { PodUid } from "../../lib/model/pod.ts";
import type { Pleg } from "../pipeline/pleg/pleg.ts";
import type { PodFiles } from "../pipeline/pod-runtime/pod-files.ts";
import { Housekeeping } from "../pipeline/sync-loop/housekeeping.ts";
import type { InitialSync } from "../pipeline/sync-loop/initial-sync.ts";
import { createOrphanMetrics } from "../pipeline/sync-loop/orphan-metrics.ts";
import type { ImageManager } from "../pods/images/image-manager.ts";
import type { VolumeManager } from "../pods/volumes/manager/volume-manager.ts";
import type { PodCgroups } from "../resources/cgroups/pod-cgroups.ts";
import type { EvictionManagerOptions } from "../resources/eviction/eviction-manager.ts";
import { isFromApi } from "../state/observed-pods.ts";
import type { AgentCore } from "./agent-core.ts";
import { garbageCollectors, gcStateOf } from "./garbage-collection.ts";

/** The timeout for unmounting the volumes of an orphaned pod; the next housekeeping retries. */
const orphanWithinMs = 30_000;

export interface OrphanCleanup {
  readonly housekeeping: Housekeeping;
  readonly collectors: readonly Component[];
  /** Removes what no running pod uses. */
  readonly reclaim: EvictionManagerOptions["reclaim"];
}

/** Housekeeping removes orphaned pods; collectors remove dead containers, unused images and old logs. */
export function orphanCleanup(
  core: AgentCore,
  parts: {
    readonly files: PodFiles;
    readonly cgroups: PodCgroups;
    readonly volumes: VolumeManager;
    readonly records: readonly { keepOnly(isKnown: (uid: PodUid) => boolean): void }[];
    readonly userNamespaces: { release(uid: PodUid): Promise<void> };
    /** Whether the runtime was listed and all sources have delivered their pods. */
    readonly initialSync: Pick<InitialSync, "isComplete">;
    readonly pleg: Pick<Pleg, "refresh">;
    readonly images: Pick<ImageManager, "imagesInUse">;
  },
): OrphanCleanup {
  const { options: o, config, clock, logger, metrics, cri, desired, workers, observed } = core;
  const { files, cgroups, volumes, records, userNamespaces, initialSync, pleg } = parts;
  const mayTerminate = (uid: PodUid) => !o.keepsApiPods || !isFromApi(observed.get(uid));
  const housekeeping = new Housekeeping({
    clock,
    logger,
    initialSync,
    isKnown: (uid) => desired.get(uid) !== undefined || workers.get(uid) !== undefined,
    inRuntime: () => observed.all(),
    mayTerminate,
    removesOrphans: !o.keepsApiPods,
    onOrphan: (pod) => core.post({ kind: "orphan-found", uid: pod.uid, pod }),
    files: {
      known: () => files.known(),
      removeDeadLinks: () => files.removeDeadLinks(),
      remove: async (pod) => {
        using limit = deadline(clock, orphanWithinMs);
        await volumes.release(pod.uid, limit.signal);
        await files.remove(pod);
        await userNamespaces.release(pod.uid);
      },
    },
    cgroups,
    records,
    metrics: createOrphanMetrics(metrics),
  });
  const { components, containers, images } = garbageCollectors({
    gates: core.options.gates,
    config,
    deadContainers: o.deadContainers,
    cri,
    prefetched: parts.images,
    observed,
    gcState: (uid) =>
      gcStateOf({
        worker: workers.get(uid),
        isDesired: desired.get(uid) !== undefined,
        mayTerminate: o.terminatesOrphans !== false && initialSync.isComplete() && mayTerminate(uid),
      }),
    files,
    pleg,
    events: core.nodeEvents,
    clock,
    logger,
    metrics,
    tracer: core.tracing?.tracer,
  });
  return {
    housekeeping,
    collectors: components,
    reclaim: (what, signal) =>
      what === "unused images"
        ? images.deleteUnused(signal)
        : containers.collect({ signal, removeTerminated: what === "dead containers" }),
  };
}
