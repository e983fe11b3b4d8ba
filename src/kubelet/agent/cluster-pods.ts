import type { Component } from "../../lib/base/component.ts";
import { fullNameOf, isStatic } from "../../lib/model/pod.ts";
import { ApiStatuses } from "../pipeline/status-manager/api-statuses.ts";
import { createApiWriterMetrics } from "../pipeline/status-manager/api-writer-metrics.ts";
import type { EventHandlers } from "../pipeline/sync-loop/event-table.ts";
import type { InitialSync } from "../pipeline/sync-loop/initial-sync.ts";
import { MirrorPods } from "../pods/mirror/mirror-pods.ts";
import { MirrorWatch } from "../pods/mirror/mirror-watch.ts";
import { isMirror } from "../state/desired-pods.ts";
import type { AgentCore } from "./agent-core.ts";
import type { ClusterApi } from "./cluster-api.ts";

/** The pods of this node in the API: their statuses, and mirror pods. */
export interface ClusterPods {
  readonly components: readonly Component[];
  readonly handlers: Pick<EventHandlers, "statusWriter" | "mirrors">;
  readonly statuses: ApiStatuses;
}

export function clusterPods(
  core: AgentCore,
  { transport, view, source: { pods } }: ClusterApi,
  parts: {
    readonly initialSync: Pick<InitialSync, "areSourcesReady">;
  },
): ClusterPods {
  const { clock, logger, desired, observed, workers, statuses, apiPods, metrics, node, post } = core;
  const mirrors = new MirrorPods({
    api: transport,
    clock,
    logger,
    // A pod that still waits for the termination of its previous version would replace the mirror of that version.
    staticPods: () => desired.staticPods().filter((pod) => workers.get(pod.metadata.uid)?.started),
    mirrors: () => pods.list().filter(isMirror),
    node: () => {
      const { uid, deletionTimestamp } = view.node()?.metadata ?? {};
      return uid && !deletionTimestamp ? { name: node.name, uid } : undefined;
    },
    initialSync: parts.initialSync,
    isTerminating: (name) =>
      [...workers.all()].some(({ id, pod }) => fullNameOf({ metadata: id }) === name && pod && isStatic(pod)),
  });
  const watch = new MirrorWatch({
    mirrors,
    desired,
    apiPods,
    onMirror: (uid, isFirst) => post({ kind: "mirror-changed", uid, isFirst }),
  });
  const inApi = new ApiStatuses({
    api: transport,
    clock,
    logger,
    metrics: createApiWriterMetrics(metrics),
    workers,
    statuses,
    apiPods,
    observed,
  });
  return {
    components: [inApi.component, mirrors],
    statuses: inApi,
    handlers: {
      statusWriter: {
        "worker-changed": ({ uid }) => inApi.sync(uid),
        "worker-phase": ({ uid, phase }) => inApi.phaseChanged(uid, phase),
        "pod-resources-reclaimed": ({ uid }) => inApi.resourcesReclaimed(uid),
        "worker-gone": ({ uid }) => inApi.forget(uid),
        "status-changed": ({ uid }) => inApi.sync(uid),
        "api-pod": ({ pod }) => inApi.apiPodChanged(pod),
        "mirror-changed": ({ uid }) => inApi.sync(uid),
      },
      mirrors: {
        "worker-changed": ({ uid }) => watch.workerChanged(workers.get(uid)?.pod),
        "worker-gone": ({ uid }) => watch.forget(uid),
        "api-pod": ({ pod }) => watch.apiPodChanged(pod),
        "node-changed": () => mirrors.wake(),
        "api-reconnected": () => mirrors.resetBackoff(),
      },
    },
  };
}
