import type { ContainerId } from "../../lib/clients/cri/cri.ts";
import { containerIdIn, isSystemOom, systemOomMessage } from "../../lib/model/oom-kill.ts";
import { readinessOf } from "../../lib/model/readiness.ts";
import type { ServingCertificate } from "../certs/serving-certificate.ts";
import type { PodExplanations } from "../explain/pod-explanations.ts";
import { ConfiguredPodCidr } from "../node/configured-pod-cidr.ts";
import { declaredFeatures } from "../node/declared-features.ts";
import { deadlineExceeded } from "../pipeline/pod-workers/pod-syncer.ts";
import type { EventHandlers } from "../pipeline/sync-loop/event-table.ts";
import type { Housekeeping } from "../pipeline/sync-loop/housekeeping.ts";
import type { InitialSync } from "../pipeline/sync-loop/initial-sync.ts";
import { applyToDesired, applyToWorkers } from "../pipeline/sync-loop/pod-dispatch.ts";
import { reportMissingFeatures } from "../pods/admission/declared-features.ts";
import { warnAboutIgnoredFields } from "../pods/admission/ignored-fields.ts";
import { isMirror } from "../state/desired-pods.ts";
import type { AgentCore } from "./agent-core.ts";
import type { PodListeners } from "./pod-listeners.ts";
import type { PodParts } from "./pod-parts.ts";

/** Present only with a cluster, or if enabled by configuration or feature gates. */
type Optional =
  // agent/cluster-pods.ts
  | "statusWriter"
  | "mirrors"
  // agent/cluster-node.ts
  | "nodeStatus"
  // agent/pod-volumes.ts, which also has the handlers `volumes` and `plugins`
  | "attachedVolumes"
  // below
  | "servingCertificate"
  | "podCidr"
  // agent/pods-api.ts
  | "podsApi"
  // agent/console.ts
  | "console";

export type AgentHandlers = Omit<EventHandlers, Optional> & Partial<Pick<EventHandlers, Optional>>;

/** The handlers of each component by event. The event table defines their order. */
export function podHandlers(
  core: AgentCore,
  pods: PodParts,
  parts: {
    readonly initialSync: InitialSync;
    readonly explanations: PodExplanations;
    readonly housekeeping: Pick<Housekeeping, "runSoon">;
    readonly listeners: PodListeners;
    readonly hasApi: boolean;
  },
): Omit<AgentHandlers, Optional> {
  const { desired, observed, workers, statuses, logger, events, nodeEvents, oomWatcher } = core;
  const { initialSync, explanations, housekeeping, listeners } = parts;
  const {
    podWorkers,
    statusManager,
    workerStatuses,
    probes,
    probeCheckpoint,
    allocation,
    resizes,
    evictedPods,
    exclusive,
    overview,
    pleg,
    syncLoopCheck,
  } = pods;
  const { volumes, plugins } = pods.volumes.handlers;
  return {
    volumes,
    plugins,
    ignoredFields: {
      "pods-changed": ({ change: { op, pods: changed } }) => {
        if (op === "ADD") for (const pod of changed) warnAboutIgnoredFields(pod, parts.hasApi, logger);
      },
    },
    desiredPods: {
      "pods-changed": ({ change }) => {
        const declared = declaredFeatures(core.options.gates, core.features);
        reportMissingFeatures(change, { declared, desired, events });
        applyToDesired(change, desired);
      },
    },
    initialSync: {
      "pods-changed": ({ change }) => initialSync.delivered(change.source),
      "runtime-synced": () => initialSync.runtimeListed(),
      "runtime-state": ({ state }) => {
        if (state === "up" || state === "not-ready") initialSync.runtimeKnown();
      },
    },
    syncLoopCheck: { tick: () => syncLoopCheck.tick() },
    housekeeping: {
      "source-synced": () => housekeeping.runSoon(),
      "runtime-synced": () => housekeeping.runSoon(),
    },
    oomWatcher: {
      "runtime-observed": ({ what }) => {
        if (what === "ContainerDied") oomWatcher.containerExited();
      },
    },
    logFollowers: {
      "runtime-observed": ({ uid }) => listeners.notify(uid),
      "worker-gone": ({ uid }) => listeners.notify(uid),
    },
    probes: {
      "runtime-observed": ({ uid }) => probes.observed(uid),
      "post-start-done": ({ uid }) => probes.observed(uid),
      "worker-phase": ({ uid, phase }) => probes.phaseChanged(uid, phase, workers.get(uid)?.pod),
      "worker-gone": ({ uid }) => probes.removePod(uid),
      "mirror-changed": ({ uid, isFirst }) => {
        if (isFirst) probes.restore(uid);
      },
    },
    probeCheckpoint: {
      "runtime-synced": () => {
        const ids = new Set([...observed.all()].flatMap((pod) => pod.containers.map((c) => c.id)));
        probeCheckpoint.keepOnly((id) => ids.has(id));
      },
    },
    status: {
      "runtime-observed": ({ uid }) => workerStatuses.refresh(uid),
      "runtime-synced": () => workerStatuses.refreshAll(),
      "post-start-done": ({ uid }) => workerStatuses.refresh(uid),
      "probe-result": ({ uid }) => workerStatuses.refresh(uid),
      "worker-changed": ({ uid }) => workerStatuses.refresh(uid),
      "resize-allocated": ({ uid }) => workerStatuses.refresh(uid),
      "resize-changed": ({ uid }) => workerStatuses.refresh(uid),
      "device-health-changed": ({ uid }) => workerStatuses.refresh(uid),
      "worker-gone": ({ uid }) => statusManager.forget(uid),
      "devices-changed": ({ pods: changed }) => {
        for (const uid of changed) workerStatuses.refresh(uid);
      },
      "mirror-changed": ({ uid, isFirst }) => {
        if (isFirst) workerStatuses.refresh(uid);
      },
    },
    overview: {
      "runtime-observed": ({ uid }) => overview.changed(uid),
      "post-start-done": ({ uid }) => overview.changed(uid),
      "probe-result": ({ uid }) => overview.changed(uid),
      "worker-changed": ({ uid }) => overview.changed(uid),
      "worker-step": ({ uid }) => overview.changed(uid),
      "pull-progress": ({ uid }) => overview.changed(uid),
      "worker-gone": ({ uid }) => overview.changed(uid),
      "status-changed": ({ uid }) => overview.changed(uid),
      "mirror-changed": ({ uid }) => overview.changed(uid),
    },
    workers: {
      "pods-changed": ({ change }) =>
        applyToWorkers(change, {
          update: (pod, kind) => podWorkers.update(allocation.allocatedPod(pod), kind),
          terminate: (uid, options) => podWorkers.terminate(uid, options),
        }),
      "resize-allocated": ({ uid }) => {
        const pod = desired.get(uid);
        if (pod && workers.get(uid)) podWorkers.update(allocation.allocatedPod(pod), "spec");
      },
      "runtime-observed": ({ uid }) => podWorkers.wake(uid),
      "runtime-synced": () => {
        if (initialSync.mayStartPods()) podWorkers.release();
      },
      "runtime-state": ({ state }) => {
        if (initialSync.mayStartPods()) podWorkers.release();
        if (state === "up") podWorkers.wakeAll();
      },
      "orphan-found": ({ pod }) => podWorkers.terminateOrphan(pod),
      "probe-result": ({ uid }) => podWorkers.wake(uid),
      "worker-phase": ({ phase }) => {
        if (phase !== "syncing") podWorkers.wakeWaiting();
      },
      "pod-rejected": ({ uid, failure }) => podWorkers.reject(uid, failure),
      "pod-evicted": ({ uid, failure, graceSeconds }) => podWorkers.evict(uid, { failure, graceSeconds }),
      "pod-shutdown": ({ uid, failure, graceSeconds }) =>
        podWorkers.terminate(uid, { removed: false, failure, graceSeconds }),
      "status-changed": ({ uid }) => {
        const pod = workers.get(uid)?.pod;
        const status = statuses.get(uid);
        if (!pod || !status) return;
        const { isReady, why } = readinessOf(pod, status);
        podWorkers.readiness(uid, isReady, why);
      },
      "api-listed": () => podWorkers.wakeAll(),
      // ResourceClaims that could not be prepared or unprepared are retried immediately.
      "dra-driver-connected": () => {
        for (const { id, pod } of workers.all())
          if (pod?.spec.resourceClaims?.length) podWorkers.wake(id.uid);
      },
    },
    pleg: {
      "runtime-state": ({ state }) => {
        if (state === "up") pleg.relistSoon();
      },
      "oom-kill": ({ kill }) => {
        const id = containerIdIn(kill.victimCgroup);
        if (id !== undefined) pleg.oomKilled(id as ContainerId);
      },
    },
    allocation: {
      "container-started": ({ pod, container }) => allocation.containerStarted(pod, container),
      "worker-gone": ({ uid }) => allocation.forget(uid),
    },
    exclusiveResources: {
      "container-started": ({ pod, container }) => exclusive.topology.containerStarted(pod, container),
      "worker-phase": ({ uid, phase }) => {
        if (phase === "terminated") exclusive.topology.release(uid);
      },
      "worker-gone": ({ uid }) => {
        // A pod that was added again has a new worker, which may already have been admitted.
        if (!workers.get(uid)) exclusive.topology.release(uid);
      },
    },
    resizes: {
      "pods-changed": ({ change: { op, pods: changed } }) => {
        const pods = changed.filter((pod) => !isMirror(pod));
        if (op === "ADD") resizes.added(pods);
        else if (op === "REMOVE") resizes.removed(pods.map(({ metadata }) => metadata.uid));
        else if (op !== "RECONCILE") resizes.updated(pods);
      },
      "source-synced": () => resizes.retry("pods_added"),
      "runtime-synced": () => resizes.retry("pods_added"),
      "worker-phase": ({ uid, phase }) => {
        if (phase === "terminated") resizes.terminated(uid);
      },
    },
    evictedPods: { "worker-gone": ({ uid }) => evictedPods.forget(uid) },
    explanations: {
      "probe-result": ({ result }) => explanations.probeResultChanged(result),
      "worker-gone": ({ worker }) => explanations.podRemoved(worker),
      "oom-kill": ({ kill }) => explanations.oomKilled(kill),
    },
    nodeEvents: {
      "oom-kill": ({ kill }) => {
        if (isSystemOom(kill)) nodeEvents.warning("SystemOOM", systemOomMessage(kill));
      },
    },
    podEvents: {
      "pod-failed": ({ pod, failure: { reason, message } }) => {
        if (reason === deadlineExceeded.reason) events.normal(pod, reason, message);
      },
    },
    startupLatency: {
      "api-pod": ({ pod }) => core.startupLatency.received(pod),
      "worker-gone": ({ uid }) => core.startupLatency.forget(uid),
    },
  };
}

/** When the node's addresses change, a certificate that the cluster signs is requested again. */
export function servingHandlers(
  serving: ServingCertificate | undefined,
): Partial<Pick<EventHandlers, "servingCertificate">> {
  if (!serving?.wake) return {};
  const wake = () => serving.wake?.();
  return { servingCertificate: { "node-changed": ({ addresses }) => (addresses ? wake() : undefined) } };
}

/** For a node whose configuration has a pod CIDR. */
export function podCidrHandlers({
  config: { podCIDR },
  cri: runtime,
  logger,
}: Pick<AgentCore, "config" | "cri" | "logger">): Partial<Pick<EventHandlers, "podCidr">> {
  if (podCIDR === "") return {};
  const configured = new ConfiguredPodCidr({ podCIDR, runtime, logger });
  return {
    podCidr: {
      "runtime-state": ({ state }) => {
        if (state === "up") void configured.runtimeIsUp();
      },
    },
  };
}
