import { join } from "node:path";
import type { Health } from "../../lib/base/component.ts";
import { messageOf } from "../../lib/base/errors.ts";
import { Lifecycle } from "../../lib/base/lifecycle.ts";
import { createMetrics } from "../../lib/base/metrics.ts";
import { isStatic, type PodUid } from "../../lib/model/pod.ts";
import { EventStream } from "../pipeline/pleg/event-stream.ts";
import { createEventStreamMetrics } from "../pipeline/pleg/event-stream-metrics.ts";
import { Pleg } from "../pipeline/pleg/pleg.ts";
import { createPlegMetrics } from "../pipeline/pleg/pleg-metrics.ts";
import { terminationMessage } from "../pipeline/pleg/termination-message.ts";
import { PodConfig } from "../pipeline/pod-config/pod-config.ts";
import { createPodCounts } from "../pipeline/pod-workers/pod-counts.ts";
import { deadlineExceeded } from "../pipeline/pod-workers/pod-work.ts";
import type { PodWorker } from "../pipeline/pod-workers/pod-worker.ts";
import { PodWorkers } from "../pipeline/pod-workers/pod-workers.ts";
import { createWorkerMetrics } from "../pipeline/pod-workers/worker-metrics.ts";
import { type StatusDetails, StatusManager } from "../pipeline/status-manager/status-manager.ts";
import { createStatusMetrics } from "../pipeline/status-manager/status-metrics.ts";
import { createLagMetrics } from "../pipeline/sync-loop/lag-metrics.ts";
import { SyncLoop } from "../pipeline/sync-loop/sync-loop.ts";
import { UserNamespaces } from "../pods/user-namespaces/user-namespaces.ts";
import { Allocation } from "../resources/allocation/allocation.ts";
import type { Wanted } from "../server/explained.ts";
import { isMirror } from "../state/desired-pods.ts";
import { readySandbox, runningContainers } from "../state/observed-pods.ts";
import { agentCore } from "./agent-core.ts";
import type { Agent, AgentOptions } from "./agent-options.ts";
import { appliedManifests } from "./applied-manifests.ts";
import { type Cluster, joinCluster } from "./cluster.ts";
import { agentDoors } from "./endpoints.ts";
import { readNode } from "./node.ts";
import { warnOfIdleFields } from "./not-acted-on.ts";
import { leftovers } from "./orphan-cleanup.ts";
import { formerVersions } from "./other-pods.ts";
import { PodBoard } from "./pod-board.ts";
import { podCgroupReader } from "./pod-cgroup-reader.ts";
import { PodExplanations } from "./pod-explanations.ts";
import { PodListeners } from "./pod-listeners.ts";
import { podProbes } from "./pod-probes.ts";
import { readinessOf } from "./pod-readiness.ts";
import { podResources } from "./pod-resources.ts";
import { podWork } from "./pod-work.ts";
import { podsApi } from "./pods-api.ts";
import { withQosShares } from "./qos-shares.ts";
import { RootDirLock } from "./root-dir-lock.ts";
import { podRuntime } from "./runtime-parts.ts";
import { servingCertificate } from "./serving-certificate.ts";
import { configuredSources } from "./sources.ts";
import { tracedWork } from "./traced-work.ts";
import { watchdog } from "./watchdog.ts";

export type { Agent, AgentOptions } from "./agent-options.ts";

/** With an event stream the relist is a safety net only. */
const relistMs = 1000;
const relistWithEventsMs = 10_000;
const stopWithinMs = 10_000;

/** Builds the agent from its parts and starts it. The only place that knows all of them. */
export async function startAgent(options: AgentOptions): Promise<Agent> {
  const o = { ...options, metrics: options.metrics ?? createMetrics() };
  const { config, clock, logger } = o;
  const node = await readNode(o);
  const lifecycle = new Lifecycle(clock, logger, o.stopping);
  const listeners = new PodListeners();
  const core = agentCore(o, node, (uid) => {
    probes.observed(uid);
    statusOf(uid);
  });
  const { metrics, cri, connection, events, desired, observed, results, running } = core;
  const probeMetrics = createMetrics();
  const userNamespaces = new UserNamespaces({
    podsDir: join(o.rootDir, "pods"),
    idsPerPod: config.userNamespaces?.idsPerPod,
    maxPods: config.maxPods,
  });
  const allocation = new Allocation({
    ...{ rootDir: o.rootDir, events, clock, logger },
    gates: {
      podLevel: o.gates.enabled("InPlacePodLevelResourcesVerticalScaling"),
      initContainers: o.gates.enabled("InPlacePodVerticalScalingInitContainers"),
    },
  });
  const allocatedPods = () => desired.all().map((pod) => allocation.allocatedPod(pod));
  const cgroups = withQosShares(node.cgroups, allocatedPods, logger);
  const loop: SyncLoop = new SyncLoop({
    clock,
    logger,
    desired,
    workers: {
      // A mirror only shows a pod that is run already.
      update: (pod, news) => {
        if (isMirror(pod)) return;
        workers.update(allocation.updated(pod), news);
        if (news === "spec") nodePods.changed(pod.metadata.uid);
      },
      terminate: (uid, options) => workers.terminate(uid, options),
      poke: (uid) => workers.poke(uid),
      pokeAll: () => workers.pokeAll(),
    },
    onHeard: () => housekeeping.lookSoon(),
    onLag: createLagMetrics(metrics),
  });
  const eventStream: EventStream = new EventStream({
    runtime: cri,
    clock,
    logger,
    onHint: (uid) => void pleg.refresh(uid).catch(() => pleg.relistSoon()),
    onGap: () => pleg.relistSoon(),
    metrics: createEventStreamMetrics(metrics),
  });
  const pleg = new Pleg({
    runtime: cri,
    observed,
    clock,
    logger,
    relistEveryMs: () => (eventStream.connected ? relistWithEventsMs : relistMs),
    terminationMessage,
    metrics: createPlegMetrics(metrics, observed),
    onEvent: (event) => {
      listeners.tell(event.uid);
      // First the probes: what was known of a container before this agent counts from the first status on.
      probes.observed(event.uid);
      statusOf(event.uid);
      loop.post({ kind: "runtime", uid: event.uid, what: event.kind });
    },
  });
  const {
    runtime,
    requests,
    files,
    volumes,
    components: runtimeComponents,
  } = podRuntime(core, {
    cgroups,
    userNamespaces,
    refresh: (uid) => pleg.refresh(uid),
    phaseOf: (uid) => workers.get(uid)?.phase ?? (desired.get(uid) ? "syncing" : undefined),
    mayJudge: () => mayJudge(),
    onVolumesInUse: () => cluster?.nodeChanged(),
    onContainerStarted: (pod, container) => allocation.containerStarted(pod, container),
    onCsiNode: () => cluster?.nodeChanged(),
  });
  const { probes, memory, known } = podProbes(core, {
    metrics: probeMetrics,
    statusInApi: (pod) => cluster?.pods.statusInApi(pod),
  });
  results.onChange(({ uid, id, kind, outcome }) => {
    if (outcome === "failure" && kind !== "readiness") explanations.probeFailed(uid, kind, id);
    statusOf(uid);
    loop.post({ kind: "probe", uid, what: `${kind} ${outcome}` });
  });
  const activePods = () => allocatedPods().filter((p) => workers.get(p.metadata.uid)?.phase !== "terminated");
  const workerMetrics = createWorkerMetrics({
    metrics,
    runs: (uid) =>
      readySandbox(observed.get(uid)) !== undefined || runningContainers(observed.get(uid)).length > 0,
  });
  const workers = new PodWorkers({
    work: tracedWork(
      podWork(core, {
        runtime,
        probes,
        userNamespaces,
        volumes: volumes.manager,
        activePods,
        admitted: (pod) => allocation.admitted(pod),
        statuses: () => statuses,
        refreshStatus: (uid) => statusOf(uid),
        reject: (uid, verdict) => {
          workerMetrics.refused(verdict.reason);
          workers.terminate(uid, { removed: false, verdict });
        },
        onReleased: (uid) => {
          cluster?.pods.cleared(uid, true);
          nodePods.finished(uid);
        },
      }),
      core.tracing?.tracer,
    ),
    clock,
    logger,
    syncEveryMs: () => config.syncFrequency * (1 + Math.random() * 0.5),
    formerVersions: (pod) => formerVersions(pod, observed, desired),
    onChange: (uid) => {
      statusOf(uid);
      cluster?.pods.workerChanged(uid);
    },
    onVerdict: (pod, { reason, message }) => {
      if (reason === deadlineExceeded.reason) events.normal(pod, reason, message);
    },
    onPhase: (uid, phase) => {
      const pod = workers.get(uid)?.pod;
      if (phase !== "terminated") cluster?.pods.cleared(uid, false);
      if (phase === "syncing" && pod) probes.watch(pod);
      if (phase === "terminating") probes.stopForTermination(uid);
      if (phase === "terminated") probes.forget(uid);
    },
    onGone: (uid, worker) => {
      listeners.tell(uid);
      explanations.gone(worker);
      probes.forget(uid);
      statuses.forget(uid);
      allocation.gone(uid);
      core.startTimes.gone(uid);
      cluster?.pods.gone(uid);
      nodePods.gone(uid);
      board.changed(uid);
    },
    metrics: workerMetrics,
  });
  createPodCounts(metrics, {
    desired: () => desired.all(),
    active: activePods,
    mirrors: () => desired.mirrors(),
    workers: () => workers.all(),
  });
  const statuses = new StatusManager({
    clock,
    logger,
    observed: running,
    probes: known,
    replaced: core.replaced,
    gates: {
      restart: core.restartGates,
      stopSignals: node.settings.gates.containerStopSignals,
      podLevelStatus: o.gates.enabled("InPlacePodLevelResourcesVerticalScaling"),
      podLevelResources: node.settings.gates.podLevelResources,
    },
    recursiveReadOnly: (pod) => {
      const handler = requests.knownHandler(pod);
      return handler !== undefined && core.features.recursiveReadOnly(handler);
    },
    podCgroup: podCgroupReader(core, (pod) => cgroups.parentFor(pod)),
    allocation,
    hostIPs: core.hostIps,
    runtimeName: () => connection.runtime?.name ?? "unknown",
    onChange: (uid) => {
      board.changed(uid);
      nodePods.changed(uid);
      const pod = workers.get(uid)?.pod;
      const status = statuses.get(uid);
      if (pod && status) {
        const { isReady, why } = readinessOf(pod, status);
        workers.get(uid)?.readiness(isReady, why);
        cluster?.pods.statusChanged(pod, status);
      }
    },
    metrics: createStatusMetrics(metrics),
  });
  const nodePods = podsApi(core, { workers: () => workers, statuses: () => statuses });
  const board = new PodBoard({ clock, workers, statuses, runtimeHealth: () => connection.health() });
  const explanations = new PodExplanations({
    ...{ nodeName: node.name, clock, workers, statuses, observed, probes, runtime },
    volumes: volumes.manager,
    isWritten: (uid) => cluster?.pods.isWritten(uid) ?? true,
  });
  const explain = (wanted: Wanted) => explanations.explain(wanted);
  const statusOf = (uid: PodUid) => {
    const worker = workers.get(uid);
    try {
      if (worker?.pod) statuses.refresh(worker.pod, detailsOf(worker, cluster?.pods));
    } catch (error) {
      // Whoever asked goes on: a status that cannot be made is that pod's trouble only.
      logger.error("The status of a pod could not be made", { podUID: uid, err: messageOf(error) });
    }
    board.changed(uid);
  };
  const serving = o.certDir === undefined ? undefined : servingCertificate(core, o.certDir);
  const cluster = joinCluster(core, {
    addressesChanged: () => serving?.poke?.(),
    workers: () => workers,
    statuses: () => statuses,
    areSourcesReady: () => areSourcesHeard(),
    onMirror: (uid) => {
      probes.recall(uid);
      statusOf(uid);
    },
    volumesInUse: () => volumes.manager.inUse(),
    onVolumesReported: (names) => volumes.attached?.reported(names),
    onNode: () => volumes.attached?.changed(),
    isSettled: () => volumes.isSettled(),
    notReady: () => [
      ...reasons(connection.health(), connection.networkHealth()),
      ...volumes.notReady(),
      ...reasons(pleg.health()).map((reason) => `PLEG is not healthy: ${reason}`),
    ],
  });
  const applied = o.sources ? undefined : appliedManifests(core);
  const hasLocalObjects = o.localObjects !== undefined;
  const sources = [
    ...(o.sources?.(node.name) ?? configuredSources(config, node.name, clock, logger, hasLocalObjects)),
    ...(applied ? [applied.source] : []),
    ...(cluster ? [cluster.source] : []),
  ];
  const podConfig = new PodConfig({
    sources,
    clock,
    logger,
    onChange: (change) => {
      if (change.op === "ADD")
        for (const pod of change.pods) warnOfIdleFields(pod, cluster !== undefined, logger);
      loop.post({ kind: "pods", change });
    },
  });
  const areSourcesHeard = () =>
    podConfig.sourcesReady() && sources.every((source) => loop.hasHeard(source.name));
  const mayJudge = () => plegSynced && areSourcesHeard();
  const { housekeeping, collectors } = leftovers(core, {
    ...{ workers, files, cgroups, userNamespaces, mayJudge, records: allocation },
    volumes: volumes.manager,
    refresh: (uid) => pleg.refresh(uid),
  });
  const doors = await agentDoors(core, {
    ...{ loop, pleg, board, explain, statuses, volumes, listeners, probeMetrics },
    components: () => lifecycle.components,
    certificate: serving,
    manifests: applied?.routes ?? [],
  });

  let plegSynced = false;
  let stopping = false;
  const runtimeKnown = Promise.withResolvers<void>();
  connection.onChange((state) => {
    if (state.kind === "up" || state.kind === "not-ready") runtimeKnown.resolve();
    cluster?.nodeChanged();
    if (state.kind !== "up") return;
    pleg.relistSoon();
    loop.post({ kind: "runtime-up" });
  });
  pleg.synced.then(
    () => {
      plegSynced = true;
      const ids = new Set([...observed.all()].flatMap((pod) => pod.containers.map((c) => c.id)));
      memory.keepOnly((id) => ids.has(id));
      housekeeping.lookSoon();
      volumes.manager.poke();
      // Whether a pod may run here depends on what the runtime can do, and a refusal is for good.
      return runtimeKnown.promise.then(() => workers.release());
    },
    () => {},
  );

  const startAll = async () => {
    await lifecycle.start(new RootDirLock({ rootDir: o.rootDir, clock, logger }));
    await cgroups.start();
    // It concerns pods with users of their own only: these say what is wrong.
    await userNamespaces.start().catch((error) => {
      logger.error("Pods cannot have users of their own", { err: messageOf(error) });
    });
    await allocation.start();
    await memory.start();
    if (core.tracing) await lifecycle.start(core.tracing.component);
    const parts = [
      ...(serving ? [serving] : []),
      ...doors.serving,
      podResources(core, activePods),
      ...nodePods.components,
      loop,
      probes,
      workers,
      pleg,
      eventStream,
      podConfig,
    ];
    // Whatever speaks to the API server needs the credentials.
    const credentials = o.cluster?.components ?? [];
    const before = [...core.components, ...runtimeComponents, ...(cluster?.components ?? [])];
    for (const part of [...doors.first, ...credentials, connection, ...before, ...parts])
      await lifecycle.start(part);
    for (const part of collectors) await lifecycle.start(part);
    if (o.endsOrphans !== false) await lifecycle.start(housekeeping);
  };
  try {
    await startAll();
  } catch (error) {
    await lifecycle.stop(stopWithinMs);
    cri.close();
    throw error;
  }
  const stopWatchdog = watchdog(o.serviceManager, clock, () => loop.health().ok);
  o.serviceManager?.ready();
  cluster?.announce();
  logger.info("Started kubelet", { node: node.name, cgroupVersion: node.facts.cgroupVersion });

  return {
    nodeName: node.name,
    board,
    metrics,
    probeMetrics,
    get serverPort() {
      return doors.serverPort();
    },
    get healthPort() {
      return doors.healthPort();
    },
    servingCertificate: serving,
    problems: () => sources.flatMap((source) => source.problems?.() ?? []),
    async endPods({ graceSeconds, withinMs }) {
      for (const worker of [...workers.all()])
        workers.terminate(worker.id.uid, { removed: true, graceSeconds });
      await board.until(() => [...workers.all()].length === 0, withinMs);
    },
    async stop() {
      if (stopping) return;
      stopping = true;
      o.serviceManager?.stopping();
      stopWatchdog();
      await lifecycle.stop(stopWithinMs);
      await memory.flushed();
      await allocation.flushed();
      cri.close();
    },
  };
}

function detailsOf(worker: PodWorker, api: Cluster["pods"] | undefined): StatusDetails {
  const { pod, waiting, phase, verdict, refused } = worker;
  const mirror = pod && isStatic(pod) ? api?.statusInApi(pod) : undefined;
  return { waiting, workerPhase: phase, verdict, refused, mirror };
}

function reasons(...healths: Health[]): string[] {
  return healths.flatMap((health) => (health.ok ? [] : [health.reason]));
}
