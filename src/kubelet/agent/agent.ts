import { messageOf } from "../../lib/base/errors.ts";
import { Lifecycle } from "../../lib/base/lifecycle.ts";
import { createMetrics } from "../../lib/base/metrics.ts";
import { servingCertificate } from "../certs/serving-certificate.ts";
import { Explainer } from "../explain/explain-node.ts";
import { PodExplanations } from "../explain/pod-explanations.ts";
import { makeNodeDirectories } from "../node/node-directories.ts";
import { notReadyReasons } from "../node/not-ready.ts";
import { PodConfig } from "../pipeline/pod-config/pod-config.ts";
import { InitialSync } from "../pipeline/sync-loop/initial-sync.ts";
import { checkResolvConf } from "../pods/network/resolv-conf-limits.ts";
import { healthChecks, watchdog } from "../server/watchdog.ts";
import { agentCore } from "./agent-core.ts";
import type { Agent, AgentOptions } from "./agent-options.ts";
import { withCgroupDriverOfRuntime } from "./cgroup-driver.ts";
import { joinCluster } from "./cluster.ts";
import { agentEndpoints } from "./endpoints.ts";
import { type AgentHandlers, podCidrHandlers, podHandlers, servingHandlers } from "./event-handlers.ts";
import { evictionManager } from "./eviction.ts";
import { readNode } from "./node.ts";
import { nodeShutdown } from "./node-shutdown.ts";
import { nodeStats } from "./node-stats.ts";
import { orphanCleanup } from "./orphan-cleanup.ts";
import { PodListeners } from "./pod-listeners.ts";
import { podParts } from "./pod-parts.ts";
import { podResources } from "./pod-resources.ts";
import { podsApi } from "./pods-api.ts";
import { RootDirLock } from "./root-dir-lock.ts";
import { podSources } from "./sources.ts";

export type { Agent, AgentOptions } from "./agent-options.ts";

const stopWithinMs = 10_000;
/** How long an agent that cannot start tries to report it. */
const reportWithinMs = 2000;

/** Constructs the components of the agent, subscribes them to the events of the event table, and starts them. */
export async function startAgent(options: AgentOptions): Promise<Agent> {
  const metrics = options.metrics ?? createMetrics();
  const o = await withCgroupDriverOfRuntime({ ...options, metrics });
  const { clock, logger } = o;
  const node = await readNode(o);
  const lifecycle = new Lifecycle(clock, logger, o.stopping);
  const core = agentCore(o, node);
  const { loop, post, cri, connection } = core;

  const { sources, events, ...applied } = podSources(core);
  const initialSync = new InitialSync({ post, sources: sources.map(({ name }) => name) });
  const pods = podParts(core, initialSync);
  const { podWorkers, volumes, pleg, overview } = pods;
  const notReady = () => notReadyReasons({ connection, volumes, pleg, shutdown: core.shutdown });
  const cluster = joinCluster(core, {
    initialSync,
    volumes,
    devices: pods.exclusive.devices.manager,
    notReady,
  });
  const explanations = new PodExplanations({
    ...core,
    nodeName: node.name,
    probes: pods.probes,
    runtime: pods.runtime,
    volumes: volumes.manager,
    pulls: pods.pulls,
    apiStatuses: cluster.statuses,
  });
  const podConfig = new PodConfig({
    sources,
    clock,
    logger,
    onChange: (change) => post({ kind: "pods-changed", change }),
    events,
  });
  const { housekeeping, collectors, reclaim } = orphanCleanup(core, {
    ...pods,
    volumes: volumes.manager,
    records: pods.recordsOfPods,
    initialSync,
  });
  const stats = nodeStats(core, { volumes });
  const eviction = evictionManager(core, { ...pods, stats, reclaim, initialSync });
  const shutdown = nodeShutdown(core, { ...pods, initialSync, apiStatuses: cluster.statuses });
  const nodePods = podsApi(core);
  const { certDir, gates } = o;
  const serving =
    certDir === undefined
      ? undefined
      : servingCertificate({
          config: o.config,
          gates,
          certDir,
          nodeName: node.name,
          cluster: core.cluster,
          clock,
          logger,
          metrics,
        });
  const listeners = new PodListeners();
  const checks = healthChecks(pods.syncLoopCheck, pods.exclusive.devices.server);
  const endpoints = await agentEndpoints(core, {
    checks,
    pods,
    explanations,
    stats,
    listeners,
    certificate: serving,
    manifests: applied,
    explainer: new Explainer({
      nodeName: node.name,
      clock,
      pods: explanations,
      eviction,
      shutdown,
      notReady,
    }),
    components: () => lifecycle.components,
  });

  const handlers: AgentHandlers = {
    ...podHandlers(core, pods, {
      initialSync,
      explanations,
      housekeeping,
      listeners,
      hasApi: cluster.isPresent,
    }),
    ...volumes.handlers,
    ...nodePods.handlers,
    ...cluster.handlers,
    ...servingHandlers(serving),
    ...podCidrHandlers(core),
    ...endpoints.handlers,
  };
  loop.subscribe(handlers);

  const stopWatchdog = watchdog(o.serviceManager, { clock, logger, checks });
  const startAll = async () => {
    await makeNodeDirectories(o, node.info).catch(async (error: unknown) => {
      core.nodeEvents.warning("KubeletSetupFailed", messageOf(error));
      await cluster.sendEvents(reportWithinMs);
      throw error;
    });
    await lifecycle.start(new RootDirLock({ rootDir: o.rootDir, clock, logger }));
    await pods.prepare();
    const first = [...(core.tracing ? [core.tracing.component] : []), ...endpoints.first];
    const early = [...core.components, ...pods.components, ...cluster.components];
    const serve = [...(serving ? [serving] : []), ...endpoints.serving];
    const { activePods, allocated, exclusive } = pods;
    const { server } = exclusive.devices;
    const sockets = [podResources(core, activePods, allocated), server, ...nodePods.components];
    const pipeline = [loop, pods.probes, podWorkers, pleg, ...pods.eventStreams, podConfig];
    const cleanUp = [
      ...collectors,
      eviction,
      ...(shutdown ? [shutdown] : []),
      ...(o.terminatesOrphans === false ? [] : [housekeeping]),
    ];
    // All components that send requests to the API server need the credentials.
    for (const group of [first, cluster.credentials, [connection], early, serve, sockets, pipeline, cleanUp])
      for (const component of group) await lifecycle.start(component);
  };
  try {
    await startAll();
  } catch (error) {
    stopWatchdog();
    await lifecycle.stop(stopWithinMs);
    cri.close();
    throw error;
  }
  o.serviceManager?.ready();
  cluster.recordStartEvents();
  await checkResolvConf(o.config, core.nodeEvents);
  logger.info("Started kubelet", { node: node.name, cgroupVersion: node.info.cgroupVersion });
  const stop = async () => {
    o.serviceManager?.stopping();
    stopWatchdog();
    await lifecycle.stop(stopWithinMs);
    for (const record of pods.records) await record.flushed();
    cri.close();
  };
  let stopped: Promise<void> | undefined;

  return {
    nodeName: node.name,
    overview,
    metrics,
    probeMetrics: pods.probeMetrics,
    get serverPort() {
      return endpoints.serverPort();
    },
    get healthPort() {
      return endpoints.healthPort();
    },
    servingCertificate: serving,
    consoleLink: endpoints.consoleLink,
    problems: () => sources.flatMap((source) => source.problems?.() ?? []),
    async terminatePods({ graceSeconds, withinMs }) {
      for (const { id } of [...core.workers.all()])
        podWorkers.terminate(id.uid, { removed: true, graceSeconds });
      await overview.until(() => [...core.workers.all()].length === 0, withinMs);
    },
    stop() {
      stopped ??= stop();
      return stopped;
    },
  };
}
