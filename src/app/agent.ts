import type { Clock } from "../base/clock.ts";
import { healthy } from "../base/component.ts";
import { messageOf } from "../base/errors.ts";
import { ConcurrencyGate } from "../base/gate.ts";
import type { Logger } from "../base/logger.ts";
import { createMetrics, type Metrics } from "../base/metrics.ts";
import { createCriClient } from "../clients/cri/client.ts";
import { RuntimeConnection } from "../clients/cri/connection.ts";
import type { KubeletConfiguration } from "../config/kubelet-configuration.ts";
import type { ServiceManager } from "../host/sd-notify.ts";
import type { PodUid } from "../model/pod.ts";
import type { PodEvents } from "../model/pod-events.ts";
import { EventStream } from "../pipeline/pleg/event-stream.ts";
import { Pleg } from "../pipeline/pleg/pleg.ts";
import { PodConfig } from "../pipeline/pod-config/pod-config.ts";
import { PodFiles } from "../pipeline/pod-runtime/pod-files.ts";
import { PodRuntime } from "../pipeline/pod-runtime/pod-runtime.ts";
import { PodWorkers } from "../pipeline/pod-workers/pod-workers.ts";
import type { PodSource, SourceProblem } from "../pipeline/sources/source.ts";
import { podPhase } from "../pipeline/status-manager/phase.ts";
import { StatusManager } from "../pipeline/status-manager/status-manager.ts";
import { Housekeeping } from "../pipeline/sync-loop/housekeeping.ts";
import { SyncLoop } from "../pipeline/sync-loop/sync-loop.ts";
import { ImageManager } from "../pods/images/image-manager.ts";
import { HealthServer } from "../server/health-server.ts";
import { LocalApi } from "../server/local-api.ts";
import { DesiredPods } from "../state/desired-pods.ts";
import { ObservedPods } from "../state/observed-pods.ts";
import { criRequests } from "./cri-requests.ts";
import { Lifecycle } from "./lifecycle.ts";
import { loggedEvents } from "./logged-events.ts";
import { readNode } from "./node.ts";
import { warnOfIdleFields } from "./not-acted-on.ts";
import { formerVersions, isFromApi } from "./other-pods.ts";
import { PodBoard } from "./pod-board.ts";
import { withQosShares } from "./qos-shares.ts";
import { configuredSources } from "./sources.ts";
import { watchdog } from "./watchdog.ts";

export interface AgentOptions {
  config: KubeletConfiguration;
  rootDir: string;
  /** Where the links to container logs go. */
  containerLogsDir?: string;
  hostnameOverride?: string;
  nodeIp?: string;
  /** Instead of those that the configuration names. */
  sources?: (nodeName: string) => PodSource[];
  /** True if the cgroup root is ours to make. */
  makesCgroupRoot?: boolean;
  /** Instead of the configured port for /healthz; 0 for any that is free. */
  healthPort?: number;
  /** False if others may run pods in the same runtime: what is not ours is then left alone. */
  endsOrphans?: boolean;
  /** True if an API server may want pods that we do not hear of: those that came from one are then left alone. */
  leavesApiPods?: boolean;
  clock: Clock;
  logger: Logger;
  serviceManager?: ServiceManager;
  gates: { enabled(name: string): boolean };
}

export interface Agent {
  readonly nodeName: string;
  readonly board: PodBoard;
  readonly metrics: Metrics;
  readonly healthPort: number | undefined;
  problems(): SourceProblem[];
  /** Ends all pods and removes what they left. Resolves when they are gone, or when it has taken too long. */
  endPods(options: { graceSeconds: number; withinMs: number }): Promise<void>;
  /** Ends the agent. Pods run on. */
  stop(): Promise<void>;
}

/** With an event stream the relist is a safety net only. */
const relistMs = 1000;
const relistWithEventsMs = 10_000;
const stopWithinMs = 10_000;
/** A start that takes longer hangs on a network or a disk; it must not keep others from starting. */
const longestTurnMs = 10_000;

/** Builds the agent from its parts and starts it. The only place that knows all of them. */
export async function startAgent(o: AgentOptions): Promise<Agent> {
  const { config, clock, logger } = o;
  const node = await readNode(o);
  const lifecycle = new Lifecycle(clock, logger);
  const metrics = createMetrics();
  const cri = createCriClient({
    runtimeEndpoint: config.containerRuntimeEndpoint,
    imageEndpoint: config.imageServiceEndpoint || undefined,
    requestTimeoutMs: config.runtimeRequestTimeout,
    logger,
    clock,
    metrics,
  });
  const connection = new RuntimeConnection({ client: cri, logger, clock });
  const events = loggedEvents(logger);
  const desired = new DesiredPods();
  const observed = new ObservedPods();
  const cgroups = withQosShares(node.cgroups, () => [...desired.all()], logger);
  const loop: SyncLoop = new SyncLoop({
    clock,
    logger,
    desired,
    workers: {
      update: (pod) => workers.update(pod),
      terminate: (uid, options) => workers.terminate(uid, options),
      poke: (uid) => workers.poke(uid),
      pokeAll: () => workers.pokeAll(),
    },
  });
  const eventStream: EventStream = new EventStream({
    runtime: cri,
    clock,
    logger,
    onHint: (uid) => void pleg.refresh(uid).catch(() => pleg.relistSoon()),
    onGap: () => pleg.relistSoon(),
  });
  const pleg = new Pleg({
    runtime: cri,
    observed,
    clock,
    logger,
    relistEveryMs: () => (eventStream.connected ? relistWithEventsMs : relistMs),
    onEvent: (event) => {
      statusOf(event.uid);
      loop.post({ kind: "runtime", uid: event.uid, what: event.kind });
    },
  });
  const files = new PodFiles({
    rootDir: o.rootDir,
    podLogsDir: config.podLogsDir,
    containerLogsDir: o.containerLogsDir ?? "/var/log/containers",
  });
  const runtime = new PodRuntime({
    runtime: cri,
    images: imageManager(cri, o, events),
    requests: criRequests({
      node: node.facts,
      settings: node.settings,
      clusterDns: config.clusterDNS,
      clusterDomain: config.clusterDomain,
      resolvConf: config.resolvConf ?? "",
      cgroupParentOf: (pod) => cgroups.parentFor(pod),
      events,
    }),
    cgroups,
    files,
    observe: { get: (uid) => observed.get(uid), refresh: (uid) => pleg.refresh(uid) },
    gate: new ConcurrencyGate(Math.max(4, node.cpus * 2), { clock, longestMs: longestTurnMs }),
    clock,
    logger,
    events,
    maxRestartDelayMs: config.crashLoopBackOff.maxContainerRestartPeriod ?? 300_000,
  });
  const workers = new PodWorkers({
    work: {
      sync: (pod, report, signal) => runtime.sync(pod, report, signal),
      stop: (uid, pod, options) => runtime.stop(uid, pod, options),
      release: (uid) => runtime.release(uid),
      remove: (id, signal) => runtime.remove(id, signal),
      hasEnded: (pod) => isFinal(podPhase(pod, observed.get(pod.metadata.uid))),
    },
    clock,
    logger,
    syncEveryMs: () => config.syncFrequency * (1 + Math.random() * 0.5),
    formerVersions: (pod) => formerVersions(pod, observed, desired),
    onChange: (uid) => statusOf(uid),
    onGone: (uid) => {
      statuses.forget(uid);
      board.changed(uid);
    },
  });
  const statuses = new StatusManager({
    clock,
    observed,
    hostIPs: () => node.facts.hostIps,
    runtimeName: () => connection.runtime?.name ?? "unknown",
    onChange: (uid) => board.changed(uid),
  });
  const board = new PodBoard({ clock, workers, statuses, runtimeHealth: () => connection.health() });
  const statusOf = (uid: PodUid) => {
    const worker = workers.get(uid);
    try {
      if (worker?.pod) statuses.refresh(worker.pod, worker.waiting);
    } catch (error) {
      // Whoever asked goes on: a status that cannot be made is that pod's trouble only.
      logger.error("The status of a pod could not be made", { podUID: uid, err: messageOf(error) });
    }
    board.changed(uid);
  };
  const sources = (o.sources ?? ((name: string) => configuredSources(config, name, clock, logger)))(
    node.name,
  );
  const podConfig = new PodConfig({
    sources,
    clock,
    logger,
    onChange: (change) => {
      if (change.op === "ADD") for (const pod of change.pods) warnOfIdleFields(pod, logger);
      loop.post({ kind: "pods", change });
    },
  });
  const housekeeping = new Housekeeping({
    clock,
    logger,
    mayJudge: () =>
      plegSynced && podConfig.sourcesReady() && sources.every((source) => loop.hasHeard(source.name)),
    isKnown: (uid) => desired.get(uid) !== undefined || workers.get(uid) !== undefined,
    inRuntime: () => observed.all(),
    mayEnd: (uid) => !o.leavesApiPods || !isFromApi(observed.get(uid)),
    removesLeftovers: !o.leavesApiPods,
    terminateOrphan: (pod) => workers.terminateOrphan(pod),
    files,
    cgroups,
  });
  const health = new HealthServer({
    address: config.healthzBindAddress,
    port: o.healthPort ?? (config.healthzPort || -1),
    logger,
    checks: () => [
      { name: "ping", health: () => ({ ok: true }) as const },
      { name: "syncloop", health: () => loop.health() },
      { name: "pleg", health: () => pleg.health() },
      // Before the first answer there is nothing to say of it.
      {
        name: "runtime",
        health: () => (connection.state.kind === "unknown" ? healthy : connection.health()),
      },
    ],
  });
  const localApi = new LocalApi({ socketPath: `${o.rootDir}/kubelet.sock`, logger, board });

  let plegSynced = false;
  let stopping = false;
  connection.onChange((state) => {
    if (state.kind !== "up") return;
    pleg.relistSoon();
    loop.post({ kind: "runtime-up" });
  });
  pleg.synced.then(
    () => {
      plegSynced = true;
      workers.release();
    },
    () => {},
  );

  const startAll = async () => {
    await cgroups.start();
    for (const part of [health, localApi, connection, loop, workers, pleg, eventStream, podConfig])
      await lifecycle.start(part);
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
  logger.info("Started kubelet", { node: node.name, cgroupVersion: node.facts.cgroupVersion });

  return {
    nodeName: node.name,
    board,
    metrics,
    get healthPort() {
      return health.port;
    },
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
      cri.close();
    },
  };
}

function imageManager(
  cri: ConstructorParameters<typeof ImageManager>[0]["images"],
  o: AgentOptions,
  events: PodEvents,
) {
  const { config, clock } = o;
  return new ImageManager({
    images: cri,
    clock,
    parallelPulls: config.serializeImagePulls ? 1 : (config.maxParallelImagePulls ?? 1000),
    pullsPerSecond: config.registryPullQPS ?? 5,
    pullBurst: config.registryBurst,
    events,
  });
}

function isFinal(phase: string): boolean {
  return phase === "Succeeded" || phase === "Failed";
}
