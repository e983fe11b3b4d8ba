import { join } from "node:path";
import { messageOf } from "../../lib/base/errors.ts";
import { isStatic } from "../../lib/model/pod.ts";
import { PodOverview } from "../explain/pod-overview.ts";
import { ContainerResources } from "../pipeline/pod-runtime/container-resources.ts";
import { RuntimeHandlers } from "../pipeline/pod-runtime/runtime-handlers.ts";
import { createPodCounts } from "../pipeline/pod-workers/pod-counts.ts";
import { PodWorkers } from "../pipeline/pod-workers/pod-workers.ts";
import { previousVersions } from "../pipeline/pod-workers/previous-versions.ts";
import { createWorkerMetrics } from "../pipeline/pod-workers/worker-metrics.ts";
import { StatusManager } from "../pipeline/status-manager/status-manager.ts";
import { createStatusMetrics } from "../pipeline/status-manager/status-metrics.ts";
import { WorkerStatuses } from "../pipeline/status-manager/worker-statuses.ts";
import type { InitialSync } from "../pipeline/sync-loop/initial-sync.ts";
import { UserNamespaces } from "../pods/user-namespaces/user-namespaces.ts";
import { ActivePods } from "../resources/allocation/active-pods.ts";
import { memoryQosMetrics } from "../resources/cgroups/memory-qos-metrics.ts";
import { QosCgroups } from "../resources/cgroups/qos-cgroups.ts";
import { ResizeCgroups } from "../resources/cgroups/resize-cgroups.ts";
import { EvictedPods } from "../resources/evicted-pods/evicted-pods.ts";
import { readySandbox, runningContainers } from "../state/observed-pods.ts";
import type { AgentCore } from "./agent-core.ts";
import { dynamicResources } from "./dynamic-resources.ts";
import { exclusiveResources } from "./exclusive-resources.ts";
import { podProbes } from "./pod-probes.ts";
import { podAllocation, podResizes } from "./pod-resizes.ts";
import { nodeAdmission, podSyncer } from "./pod-syncer.ts";
import { runtimeObserver } from "./runtime-observer.ts";
import { podRuntime } from "./runtime-parts.ts";
import { startLimiter } from "./start-limiter.ts";
import { tracedSyncer } from "./traced-syncer.ts";

export type PodParts = ReturnType<typeof podParts>;

/** Everything that runs pods and reports on them. */
export function podParts(core: AgentCore, initialSync: InitialSync) {
  const { options: o, config, node, clock, logger, metrics, observed, post } = core;
  const { desired, workers, statuses, apiPods } = core;
  const userNamespaces = new UserNamespaces({
    podsDir: join(o.rootDir, "pods"),
    idsPerPod: config.userNamespaces?.idsPerPod,
    maxPods: config.maxPods,
  });
  const { allocation, conditions } = podAllocation(core);
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
  const pods = new ActivePods({ desired, workers, allocation });
  const activePods = () => pods.all();
  const qosCgroups = new QosCgroups({
    cgroups: node.cgroups,
    activePods,
    clock,
    logger,
    initialSync,
    record: memoryQosMetrics(metrics, node.limits),
  });
  const { cgroups } = qosCgroups;
  const exclusive = exclusiveResources(core, { initialSync, activePods });
  const { manager: devices } = exclusive.devices;
  const admission = nodeAdmission(core, { activePods: () => pods.accounted(), devices, evictedPods });
  const resources = new ContainerResources({ node: node.info, settings: node.settings });
  const resizeCgroups = new ResizeCgroups(cgroups, node.layout);
  const { resizes, resizing } = podResizes(core, {
    cgroups: resizeCgroups,
    allocation,
    conditions,
    resources,
    admission,
    initialSync,
  });
  const limiter = startLimiter({ clock, metrics, cpus: node.cpus, width: o.maxParallelStarts });
  const { pleg, eventStream, syncLoopCheck } = runtimeObserver(core, limiter);
  const claims = dynamicResources(core);
  const handlers = new RuntimeHandlers(core.view);
  const run = podRuntime(core, {
    cgroups,
    userNamespaces,
    dynamicResources: claims,
    resizing,
    pleg,
    limiter,
    handlers,
    initialSync,
    cpusets: exclusive.cpusets,
    devices: exclusive.devices,
  });
  const { runtime, volumes } = run;
  const probing = podProbes(core);
  const { probes } = probing;
  const statusManager = new StatusManager({
    statuses,
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
      const handler = handlers.known(pod);
      return handler !== undefined && core.features.recursiveReadOnly(handler);
    },
    // Without pod cgroups a pod has no limit of its own, and the path is the cgroup of all containers.
    podCgroup: config.cgroupsPerQOS ? (pod) => resizeCgroups.currentLimits(pod) : undefined,
    allocation,
    resizeConditions: conditions,
    resourceHealth: o.gates.enabled("ResourceHealthStatus")
      ? (uid, container) => [
          ...devices.healthOf(uid, container),
          ...(claims?.health.of(workers.get(uid)?.pod, container) ?? []),
        ]
      : undefined,
    hostIPs: core.hostIps,
    runtimeName: () => core.connection.runtime?.name ?? "unknown",
    onChange: (uid) => post({ kind: "status-changed", uid }),
    metrics: createStatusMetrics(metrics),
  });
  const syncer = podSyncer(core, {
    runtime,
    probes,
    userNamespaces,
    dynamicResources: claims,
    volumes: volumes.manager,
    pullSecrets: run.pullSecrets,
    topology: exclusive.topology,
    admission,
    allocation,
  });
  const podWorkers = new PodWorkers({
    syncer: tracedSyncer(syncer, core.tracing?.tracer),
    states: workers,
    clock,
    logger,
    syncEveryMs: () => config.syncFrequency * (1 + Math.random() * 0.5),
    evictedPods,
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
  createPodCounts(metrics, { desired, workers, active: activePods });
  const workerStatuses = new WorkerStatuses({ workers, statuses: statusManager, apiPods });
  const overview = new PodOverview({
    clock,
    workers,
    statuses,
    connection: core.connection,
    pulls: run.pulls,
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
    recordsOfPods: [allocation, evictedPods, exclusive.topology, ...(claims ? [claims.orphans] : [])],
    /** The resources of containers, for the PodResources API. */
    allocated: { ...exclusive.sources, ...(claims && { claims: claims.allocated }) },
    // ResourceClaims come before the plugins: these are registered while the components start.
    components: [
      qosCgroups,
      resizes,
      ...exclusive.components,
      ...(claims ? [claims.component] : []),
      ...run.components,
    ],
    cgroups,
    activePods,
    evictedPods,
    podWorkers,
    statusManager,
    workerStatuses,
    overview,
  };
}
