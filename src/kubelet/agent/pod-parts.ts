import { join } from "node:path";
import { messageOf } from "../../lib/base/errors.ts";
import { isStatic } from "../../lib/model/pod.ts";
import { PodExplanations } from "../explain/pod-explanations.ts";
import { PodOverview } from "../explain/pod-overview.ts";
import { createPodCounts } from "../pipeline/pod-workers/pod-counts.ts";
import { PodWorkers } from "../pipeline/pod-workers/pod-workers.ts";
import { previousVersions } from "../pipeline/pod-workers/previous-versions.ts";
import { createWorkerMetrics } from "../pipeline/pod-workers/worker-metrics.ts";
import { StatusManager } from "../pipeline/status-manager/status-manager.ts";
import { createStatusMetrics } from "../pipeline/status-manager/status-metrics.ts";
import { WorkerStatuses } from "../pipeline/status-manager/worker-statuses.ts";
import type { InitialSync } from "../pipeline/sync-loop/initial-sync.ts";
import { UserNamespaces } from "../pods/user-namespaces/user-namespaces.ts";
import { memoryQosMetrics } from "../resources/cgroups/memory-qos-metrics.ts";
import { QosCgroups } from "../resources/cgroups/qos-cgroups.ts";
import { EvictedPods } from "../resources/evicted-pods/evicted-pods.ts";
import { readySandbox, runningContainers } from "../state/observed-pods.ts";
import { willReleaseResources } from "../state/will-release-resources.ts";
import type { AgentCore } from "./agent-core.ts";
import type { Cluster } from "./cluster.ts";
import { dynamicResources } from "./dynamic-resources.ts";
import { exclusiveResources } from "./exclusive-resources.ts";
import { podCgroupReader } from "./pod-cgroup-reader.ts";
import { podProbes } from "./pod-probes.ts";
import { podResizes } from "./pod-resizes.ts";
import { nodeAdmission, podSyncer } from "./pod-syncer.ts";
import { runtimeObserver } from "./runtime-observer.ts";
import { podRuntime } from "./runtime-parts.ts";
import { tracedSyncer } from "./traced-syncer.ts";

export type PodParts = ReturnType<typeof podParts>;

/** Everything that runs pods and reports on them. */
export function podParts(
  core: AgentCore,
  parts: { initialSync: InitialSync; cluster: () => Pick<Cluster, "statusInApi" | "isWritten"> },
) {
  const { options: o, config, node, clock, logger, metrics, desired, observed, post } = core;
  const { initialSync, cluster } = parts;
  const userNamespaces = new UserNamespaces({
    podsDir: join(o.rootDir, "pods"),
    idsPerPod: config.userNamespaces?.idsPerPod,
    maxPods: config.maxPods,
  });
  const { allocation, resizes, resizing, conditionsOf } = podResizes(core, {
    requests: () => requests,
    reject: (pod) => admission.rejectResize(pod),
    isReady: () => initialSync.isComplete(),
  });
  const evictedPods = new EvictedPods({
    rootDir: o.rootDir,
    logger,
    bootId: node.identity.bootId,
    isStatic: (uid) => {
      const pod = desired.get(uid);
      return pod !== undefined && isStatic(pod);
    },
    onEvicted: (uid, eviction) => post({ kind: "pod-evicted", uid, ...eviction }),
  });
  const allocatedPods = () => desired.all().map((pod) => allocation.allocatedPod(pod));
  const activePods = () => allocatedPods().filter((p) => workers.isActive(p.metadata.uid));
  const qosCgroups = new QosCgroups({
    cgroups: node.cgroups,
    activePods,
    clock,
    logger,
    isSynced: () => initialSync.isComplete(),
    record: memoryQosMetrics(metrics, node.limits),
  });
  const { cgroups } = qosCgroups;
  const exclusive = exclusiveResources(core, {
    isSynced: () => initialSync.isComplete(),
    isKnown: (uid) => desired.get(uid) !== undefined || workers.get(uid)?.pod !== undefined,
    activePods,
    isTerminating: (uid) =>
      willReleaseResources({
        desired: desired.get(uid),
        phase: workers.get(uid)?.phase,
        status: statuses.get(uid),
      }),
    nameOf: (uid) => {
      const id = workers.get(uid)?.id ?? desired.get(uid)?.metadata;
      return id ? `${id.namespace}/${id.name}` : `pod ${uid}`;
    },
  });
  const { pleg, eventStream, syncLoopCheck } = runtimeObserver(core, (uid) => runtime.isStarting(uid));
  const resources = dynamicResources(core);
  const run = podRuntime(core, {
    cgroups,
    userNamespaces,
    dynamicResources: resources,
    resizing: resizing(cgroups),
    observe: {
      refresh: (uid) => pleg.refresh(uid),
      isAbsent: (uid) => pleg.isAbsent(uid),
      started: (id, started) => pleg.started(id, started),
      changed: (uid) => pleg.changed(uid),
    },
    phaseOf: (uid) => workers.get(uid)?.phase ?? (desired.get(uid) ? "syncing" : undefined),
    isSynced: () => initialSync.isComplete(),
    cpusets: exclusive.cpusets,
    devices: exclusive.devices,
  });
  const { runtime, requests, volumes } = run;
  const probing = podProbes(core, { statusInApi: (pod) => cluster().statusInApi(pod) });
  const { probes } = probing;
  const statuses = new StatusManager({
    clock,
    logger,
    observed: core.running,
    probes: probing.outcomes,
    replaced: core.replaced,
    gates: {
      restart: core.restartGates,
      stopSignals: node.settings.gates.containerStopSignals,
      podLevelStatus: o.gates.enabled("InPlacePodLevelResourcesVerticalScaling"),
      podLevelResources: node.settings.gates.podLevelResources,
      readyToStart: o.gates.enabled("PodReadyToStartContainersCondition"),
      imageVolumeDigests: o.gates.enabled("ImageVolumeWithDigest"),
    },
    recursiveReadOnly: (pod) => {
      const handler = requests.knownHandler(pod);
      return handler !== undefined && core.features.recursiveReadOnly(handler);
    },
    podCgroup: podCgroupReader(core, (pod) => cgroups.parentFor(pod)),
    allocation: {
      resizes: conditionsOf,
      actuated: (uid, container) => allocation.actuated(uid, container),
    },
    resourceHealth: o.gates.enabled("ResourceHealthStatus")
      ? (uid, container) => [
          ...exclusive.devices.manager.healthOf(uid, container),
          ...(resources?.healthOf(workers.get(uid)?.pod, container) ?? []),
        ]
      : undefined,
    hostIPs: core.hostIps,
    runtimeName: () => core.connection.runtime?.name ?? "unknown",
    onChange: (uid) => post({ kind: "status-changed", uid }),
    metrics: createStatusMetrics(metrics),
  });
  const admission = nodeAdmission(core, {
    activePods: () => activePods().map((pod) => allocation.accountedPod(pod)),
    devices: exclusive.devices.manager,
    evict: (uid, failure) => void evictedPods.evict(uid, { failure }),
    isTerminating: (uid) => evictedPods.get(uid) !== undefined || workers.get(uid)?.phase === "terminating",
  });
  const syncer = podSyncer(core, {
    runtime,
    probes,
    userNamespaces,
    statuses,
    dynamicResources: resources,
    volumes: volumes.manager,
    pullSecrets: run.pullSecrets,
    exclusiveResources: exclusive.topology,
    admit: admission.admit,
    admitted: (pod) => allocation.admitted(pod),
  });
  const workers: PodWorkers = new PodWorkers({
    syncer: tracedSyncer(syncer, core.tracing?.tracer),
    clock,
    logger,
    syncEveryMs: () => config.syncFrequency * (1 + Math.random() * 0.5),
    evictionOf: (uid) => evictedPods.get(uid),
    previousVersions: (pod) => previousVersions(pod, observed, desired),
    onChange: (uid) => post({ kind: "worker-changed", uid }),
    onStep: (uid) => post({ kind: "worker-step", uid }),
    onPhase: (uid, phase) => post({ kind: "worker-phase", uid, phase }),
    onFailure: (pod, failure) => post({ kind: "pod-failed", uid: pod.metadata.uid, pod, failure }),
    onGone: (uid, worker) => post({ kind: "worker-gone", uid, worker }),
    metrics: createWorkerMetrics({
      metrics,
      isRunning: (uid) =>
        readySandbox(observed.get(uid)) !== undefined || runningContainers(observed.get(uid)).length > 0,
    }),
  });
  createPodCounts(metrics, {
    desired: () => desired.all(),
    active: activePods,
    mirrors: () => desired.mirrors(),
    workers: () => workers.all(),
  });
  const workerStatuses = new WorkerStatuses({
    workers,
    statuses,
    mirrorStatus: (pod) => cluster().statusInApi(pod),
  });
  const overview = new PodOverview({
    clock,
    workers,
    statuses,
    runtimeHealth: () => core.connection.health(),
  });
  const explanations = new PodExplanations({
    nodeName: node.name,
    clock,
    workers,
    statuses,
    observed,
    probes,
    runtime,
    volumes: volumes.manager,
    isWritten: (uid) => cluster().isWritten(uid),
  });
  /** Records on disk, which outlive the agent. */
  const records = [allocation, evictedPods, probing.probeCheckpoint, ...exclusive.records];
  return {
    ...run,
    ...probing,
    probeMetrics: probing.metrics,
    pleg,
    eventStreams: eventStream ? [eventStream] : [],
    syncLoopCheck,
    userNamespaces,
    allocation,
    exclusive,
    resizes,
    records,
    /** Must be done before the first component is started. */
    async prepare() {
      await cgroups.start();
      // Only pods with a user namespace are affected, and they report the error.
      await userNamespaces.start().catch((error) => {
        logger.error("Failed to initialize user namespaces", { err: messageOf(error) });
      });
      for (const record of records) await record.start();
    },
    /** Entries of pods that are gone are removed from these. */
    recordsOfPods: [allocation, evictedPods, exclusive.topology, ...(resources ? [resources.orphans] : [])],
    /** The resources of containers, for the PodResources API. */
    allocated: { ...exclusive.sources, ...resources?.sources },
    // ResourceClaims come before the plugins: these are registered while the components start.
    components: [
      qosCgroups,
      resizes,
      ...exclusive.components,
      ...(resources ? [resources.component] : []),
      ...run.components,
    ],
    cgroups,
    activePods,
    evictedPods,
    workers,
    statuses,
    workerStatuses,
    overview,
    explanations,
  };
}
