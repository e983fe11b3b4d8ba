import type { Clock } from "../../lib/base/clock.ts";
import type { Component } from "../../lib/base/component.ts";
import type { Logger } from "../../lib/base/logger.ts";
import { createMetrics, type Metrics } from "../../lib/base/metrics.ts";
import { msBetween } from "../../lib/base/time.ts";
import { createCriClient } from "../../lib/clients/cri/client.ts";
import { RuntimeConnection } from "../../lib/clients/cri/connection.ts";
import type { CriClient } from "../../lib/clients/cri/cri.ts";
import type { KubeletConfiguration } from "../../lib/config/kubelet-configuration.ts";
import { openKernelLog } from "../../lib/host/kernel-log.ts";
import type { Pod, PodUid } from "../../lib/model/pod.ts";
import type { NodeEvents, PodEvents } from "../../lib/model/pod-events.ts";
import type { ClusterView } from "../cluster/cluster-view.ts";
import { RuntimeFeatures } from "../node/runtime-features.ts";
import { watchRuntimeSupport } from "../node/runtime-support.ts";
import { PodStartupLatency } from "../pipeline/status-manager/pod-startup-latency.ts";
import type { Post } from "../pipeline/sync-loop/events.ts";
import { createLagMetrics } from "../pipeline/sync-loop/lag-metrics.ts";
import { SyncLoop } from "../pipeline/sync-loop/sync-loop.ts";
import type { PodObjects } from "../pods/api-objects/pod-objects.ts";
import { OomWatcher } from "../resources/oom/oom-watcher.ts";
import { ApiPods } from "../state/api-pods.ts";
import { DesiredPods } from "../state/desired-pods.ts";
import { NodePods } from "../state/node-pods.ts";
import { NodePressure } from "../state/node-pressure.ts";
import { NodeShutdownState } from "../state/node-shutdown-state.ts";
import { type ObservedPod, ObservedPods } from "../state/observed-pods.ts";
import { PodStatuses } from "../state/pod-statuses.ts";
import { ProbeResults } from "../state/probe-results.ts";
import { ReplacedContainers } from "../state/replaced-containers.ts";
import { StartingContainers } from "../state/starting-containers.ts";
import { WorkerStates } from "../state/worker-states.ts";
import type { AgentOptions } from "./agent-options.ts";
import { type ClusterApi, clusterApi } from "./cluster-api.ts";
import { hostSetup } from "./host-setup.ts";
import { localObjects } from "./local-objects.ts";
import { bothEvents, bothNodeEvents, loggedEvents, loggedNodeEvents, postedEvents } from "./logged-events.ts";
import type { Node } from "./node.ts";
import { nodeAllocatable } from "./node-allocatable.ts";
import { isCrio } from "./node-stats.ts";
import { systemCgroups } from "./system-cgroups.ts";
import { configuredTracing, type Tracing } from "./tracing.ts";

/** The common dependencies of all components of the agent: the runtime, the shared state, events and metrics. */
export interface AgentCore {
  readonly options: AgentOptions;
  readonly config: KubeletConfiguration;
  readonly node: Node;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: Metrics;
  readonly loop: SyncLoop;
  /** How a component notifies others: the event table lists the handlers of each event. */
  readonly post: Post;
  /** Undefined if tracing is not configured. */
  readonly tracing: Tracing | undefined;
  readonly oomWatcher: OomWatcher;
  readonly cri: CriClient;
  readonly connection: RuntimeConnection;
  readonly features: RuntimeFeatures;
  readonly events: PodEvents;
  readonly nodeEvents: NodeEvents;
  /** Undefined for a node without a cluster. */
  readonly cluster: ClusterApi | undefined;
  readonly view: ClusterView | undefined;
  /** The ConfigMaps and Secrets that pods refer to, from the cluster or a local directory; undefined if there is neither. */
  readonly objects: ReferencedObjects | undefined;
  /** Must be started before the first pod is synced. */
  readonly components: readonly Component[];
  readonly desired: DesiredPods;
  readonly workers: WorkerStates;
  readonly statuses: PodStatuses;
  readonly nodePods: NodePods;
  readonly apiPods: ApiPods;
  readonly observed: ObservedPods;
  readonly results: ProbeResults;
  readonly pressure: NodePressure;
  readonly shutdown: NodeShutdownState;
  readonly replaced: ReplacedContainers;
  readonly starting: StartingContainers;
  /** Running pods as users see them: a container whose postStart hook is still running does not count yet. */
  readonly running: { get(uid: PodUid): ObservedPod | undefined; knows(uid: PodUid): boolean };
  /** The feature gates for restarts by rule, and of all containers of a pod. */
  readonly restartGates: { containerRules: boolean; restartAll: boolean };
  readonly startupLatency: PodStartupLatency;
  /** The node's addresses: those in the API once the node is registered. None while a cloud provider has yet to set them. */
  readonly hostIps: () => readonly string[];
  /** Labels and taints of the node. */
  readonly labelsAndTaints: ClusterView["labelsAndTaints"];
}

export type ReferencedObjects = Pick<PodObjects, "register" | "unregister" | "get" | "find" | "onChange">;

export function agentCore(options: AgentOptions, node: Node): AgentCore {
  const { config, clock, logger, gates } = options;
  const local = localObjects(options);
  const metrics = options.metrics ?? createMetrics();
  const version = options.server?.version ?? options.cluster?.kubeletVersion ?? "";
  const tracing =
    options.tracing ?? configuredTracing({ config, nodeName: node.name, version, clock, logger });
  const cri = createCriClient({
    runtimeEndpoint: config.containerRuntimeEndpoint,
    imageEndpoint: config.imageServiceEndpoint || undefined,
    requestTimeoutMs: config.runtimeRequestTimeout,
    logger,
    clock,
    metrics,
    tracer: tracing?.tracer,
    streamsLists: gates.enabled("CRIListStreaming"),
    countsImageFs: isCrio(config) && !gates.enabled("PodAndContainerStatsFromCRI"),
  });
  const loop = new SyncLoop({ clock, logger, onLag: createLagMetrics(metrics) });
  const { post } = loop;
  const connection = new RuntimeConnection({ client: cri, logger, clock });
  connection.onChange(({ kind: state }) => post({ kind: "runtime-state", state }));
  watchRuntimeSupport({ cri, connection, cgroupDriver: config.cgroupDriver, metrics, logger });
  const desired = new DesiredPods();
  const workers = new WorkerStates();
  const statuses = new PodStatuses();
  const observed = new ObservedPods();
  const starting = new StartingContainers((uid) => post({ kind: "post-start-done", uid }));
  const results = new ProbeResults();
  results.onChange((result) => post({ kind: "probe-result", uid: result.uid, result }));
  const cluster = options.cluster && clusterApi(options, options.cluster, node, post);
  const oomWatcher = new OomWatcher({
    open: options.kernelLog ?? (() => openKernelLog()),
    onKill: (kill) => post({ kind: "oom-kill", kill }),
    clock,
    logger,
  });
  const unposted = cluster ? withCluster(cluster, logger, node) : withoutCluster(local, logger, node);
  const clusterDependent = options.console ? withPostedEvents(unposted, post) : unposted;
  return {
    options,
    config,
    node,
    clock,
    logger,
    metrics,
    loop,
    post,
    tracing,
    oomWatcher,
    cri,
    connection,
    features: new RuntimeFeatures(() => connection.state),
    ...clusterDependent,
    cluster,
    view: cluster?.view,
    components: [
      ...hostSetup(options, clusterDependent.nodeEvents),
      oomWatcher,
      nodeAllocatable({ config, node, clock, ...clusterDependent }),
      ...systemCgroups(options, node),
      ...(local ? [local] : []),
    ],
    desired,
    workers,
    statuses,
    nodePods: new NodePods({ desired, workers, statuses }),
    apiPods: new ApiPods(cluster?.source.pods),
    observed,
    results,
    pressure: new NodePressure(),
    shutdown: new NodeShutdownState(),
    replaced: new ReplacedContainers(),
    starting,
    running: {
      get: (uid) => starting.asReported(observed.get(uid)),
      knows: (uid) => observed.knows(uid),
    },
    restartGates: {
      containerRules: gates.enabled("ContainerRestartRules"),
      restartAll: gates.enabled("RestartAllContainersOnContainerExits"),
    },
    startupLatency: new PodStartupLatency({ metrics, clock, initMs: (pod) => initDuration(pod, observed) }),
  };
}

type ClusterDependent = Pick<AgentCore, "events" | "nodeEvents" | "objects" | "hostIps" | "labelsAndTaints">;

function withCluster({ view, recorder, objects }: ClusterApi, logger: Logger, node: Node): ClusterDependent {
  const { nodeIps, settings } = node.configuration;
  const waitsForCloudProvider = settings.externalCloudProvider && nodeIps.length === 0;
  return {
    events: bothEvents(loggedEvents(logger), recorder),
    nodeEvents: bothNodeEvents(loggedNodeEvents(logger, node.name), recorder.node),
    objects,
    hostIps: () => {
      const known = view.hostIps();
      return known.length > 0 || waitsForCloudProvider ? known : node.info.hostIps;
    },
    labelsAndTaints: () => view.labelsAndTaints(),
  };
}

function withoutCluster(
  objects: ReferencedObjects | undefined,
  logger: Logger,
  node: Node,
): ClusterDependent {
  return {
    events: loggedEvents(logger),
    nodeEvents: loggedNodeEvents(logger, node.name),
    objects,
    hostIps: () => node.info.hostIps,
    labelsAndTaints: () => ({ labels: node.configuration.settings.labels, taints: [] }),
  };
}

/** Events are posted first: recording one never fails. */
function withPostedEvents(recorded: ClusterDependent, post: Post): ClusterDependent {
  const posted = postedEvents(post);
  return {
    ...recorded,
    events: bothEvents(posted.events, recorded.events),
    nodeEvents: bothNodeEvents(posted.nodeEvents, recorded.nodeEvents),
  };
}

/** How long the init containers ran in total, without sidecars. */
function initDuration({ metadata, spec }: Pod, observed: ObservedPods): number {
  const names = new Set(
    (spec.initContainers ?? []).filter((c) => c.restartPolicy !== "Always").map((c) => c.name),
  );
  const exited = (observed.get(metadata.uid)?.containers ?? []).filter(
    ({ name, state }) => names.has(name) && state === "exited",
  );
  return exited.reduce(
    (sum, { startedAt, finishedAt }) => sum + Math.max(0, msBetween(startedAt, finishedAt)),
    0,
  );
}
