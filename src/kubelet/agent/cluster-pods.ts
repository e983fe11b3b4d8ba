import type { Component } from "../../lib/base/component.ts";
import {
  annotationHash,
  annotationMirror,
  fullNameOf,
  isStatic,
  type Pod,
  type PodStatus,
  type PodUid,
} from "../../lib/model/pod.ts";
import type { PodWorkers } from "../pipeline/pod-workers/pod-workers.ts";
import { ApiStatusWriter } from "../pipeline/status-manager/api-writer.ts";
import { createApiWriterMetrics } from "../pipeline/status-manager/api-writer-metrics.ts";
import { isFinal } from "../pipeline/status-manager/phase-by-states.ts";
import type { StatusManager } from "../pipeline/status-manager/status-manager.ts";
import { MirrorPods } from "../pods/mirror/mirror-pods.ts";
import { isMirror } from "../state/desired-pods.ts";
import type { AgentCore } from "./agent-core.ts";
import type { ClusterOptions, ClusterView } from "./cluster-view.ts";

/** What of the pods' life the API is told. */
export interface ClusterPods {
  readonly components: readonly Component[];
  /** Of the pod, or of its mirror; not of one that has ended since and begun again. */
  statusInApi(pod: Pod): PodStatus | undefined;
  statusChanged(pod: Pod, status: PodStatus): void;
  /** The worker of a pod has got on. */
  workerChanged(uid: PodUid): void;
  /** Nothing of the pod is left on the node, or it begins anew. */
  cleared(uid: PodUid, isCleared: boolean): void;
  gone(uid: PodUid): void;
  /** True if the API has the newest status of the pod. */
  isWritten(uid: PodUid): boolean;
  /** A pod in the API is another than before, or gone. */
  apiPodChanged(pod: Pod): void;
  nodeChanged(): void;
}

export function clusterPods(
  core: AgentCore,
  { transport }: ClusterOptions,
  view: ClusterView,
  parts: {
    workers: () => PodWorkers;
    statuses: () => StatusManager;
    areSourcesReady: () => boolean;
    /** The mirror of this static pod is known now. */
    onMirror: (uid: PodUid) => void;
  },
): ClusterPods {
  const { clock, logger, desired, observed, metrics, node } = core;
  const { pods } = view.source;
  const cleared = new Set<PodUid>();
  /** Pods of which the runtime has or had something. */
  const ran = new Set<PodUid>();
  const workerOf = (uid: PodUid) => parts.workers().get(uid);
  const apiPod = (pod: Pod) => {
    const found = pods.get(pod.metadata.namespace, pod.metadata.name);
    return found && isSame(pod, found) ? found : undefined;
  };
  const writer = new ApiStatusWriter({
    api: transport,
    clock,
    logger,
    apiPod,
    couldRun: (uid) => (workerOf(uid)?.phase ?? "terminated") !== "terminated",
    isCleared: (uid) => cleared.has(uid),
    metrics: createApiWriterMetrics(metrics),
  });
  const mirrors = new MirrorPods({
    api: transport,
    clock,
    logger,
    // One that still waits for its former version to end would take the mirror away from it.
    staticPods: () => desired.staticPods().filter((pod) => workerOf(pod.metadata.uid)?.begun),
    mirrors: () => pods.list().filter(isMirror),
    node: () => {
      const { uid, deletionTimestamp } = view.node()?.metadata ?? {};
      return uid && !deletionTimestamp ? { name: node.name, uid } : undefined;
    },
    areSourcesReady: parts.areSourcesReady,
    isEnding: (name) =>
      [...parts.workers().all()].some(
        ({ id, pod }) => fullNameOf({ metadata: id }) === name && pod && isStatic(pod),
      ),
  });
  transport.onBack?.(() => mirrors.tryAgain());
  /** Static pods whose mirror is known, or that began again here: what it says now is what this agent wrote. */
  const mirrored = new Set<PodUid>();
  const begunAgain = new Set<PodUid>();
  const set = (pod: Pod, status: PodStatus) => {
    const inApi = apiPod(pod)?.status;
    const { uid } = pod.metadata;
    if (observed.get(uid)) ran.add(uid);
    if (isStatic(pod)) writer.set(pod, status);
    // Of how a pod ended before it was ever seen here, this agent knows nothing that the API does not.
    else writer.set(pod, inApi && isFinal(inApi.phase) && !ran.has(uid) ? inApi : status);
  };
  return {
    components: [writer, mirrors],
    statusInApi: (pod) => (begunAgain.has(pod.metadata.uid) ? undefined : apiPod(pod)?.status),
    statusChanged: set,
    workerChanged(uid) {
      writer.poke(uid);
      const pod = workerOf(uid)?.pod;
      if (pod && isStatic(pod)) mirrors.poke();
    },
    cleared(uid, isCleared) {
      if (isCleared) cleared.add(uid);
      else cleared.delete(uid);
    },
    gone(uid) {
      cleared.delete(uid);
      ran.delete(uid);
      mirrored.delete(uid);
      writer.forget(uid);
      const back = desired.get(uid);
      if (back && isStatic(back)) {
        begunAgain.add(uid);
        mirrors.podEnded(fullNameOf(back));
      } else {
        begunAgain.delete(uid);
        mirrors.poke();
      }
    },
    isWritten: (uid) => writer.isWritten(uid),
    apiPodChanged(pod) {
      if (!isMirror(pod)) return writer.poke(pod.metadata.uid);
      mirrors.poke();
      const own = desired.podOfMirror(pod);
      if (!own) return;
      const { uid } = own.metadata;
      if (isSame(own, pod) && !mirrored.has(uid)) {
        mirrored.add(uid);
        parts.onMirror(uid);
      }
      const status = parts.statuses().get(uid);
      if (status) set(own, status);
    },
    nodeChanged: () => mirrors.poke(),
  };
}

/** True if the pod in the API is this pod, or the mirror of this version of it. */
function isSame(pod: Pod, inApi: Pod): boolean {
  if (!isStatic(pod)) return inApi.metadata.uid === pod.metadata.uid;
  const mirrored = inApi.metadata.annotations?.[annotationMirror];
  return mirrored !== undefined && mirrored === pod.metadata.annotations?.[annotationHash];
}
