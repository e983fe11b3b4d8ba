import type {
  ConsoleAccess,
  ConsoleChanges,
  ConsoleNode,
  ConsoleNodeState,
  ConsolePod,
  ConsoleProbe,
} from "../../console/console-node.ts";
import { epochMs } from "../../lib/base/time.ts";
import { deadline } from "../../lib/base/wait.ts";
import { readProcessUsage } from "../../lib/host/process-usage.ts";
import type { Pod, PodUid } from "../../lib/model/pod.ts";
import type { ServingCertificate } from "../certs/serving-certificate.ts";
import type { Explainer } from "../explain/explain-node.ts";
import type { PodExplanations } from "../explain/pod-explanations.ts";
import type { ManifestStore } from "../server/manifests/manifest-store.ts";
import type { Exchange, UpgradeExchange } from "../server/route.ts";
import { newestContainer } from "../state/observed-pods.ts";
import type { Stats } from "../stats/stats.ts";
import type { AgentCore } from "./agent-core.ts";
import type { PodParts } from "./pod-parts.ts";
import type { PodStreams } from "./pod-streams.ts";

export interface ConsoleParts {
  readonly pods: PodParts;
  readonly explanations: PodExplanations;
  readonly stats: Stats;
  readonly streams: PodStreams;
  readonly explainer: Explainer;
  /** Applied manifests; undefined if they are not served. */
  readonly manifests: ManifestStore | undefined;
  readonly certificate: ServingCertificate | undefined;
}

/** Stopping is limited by the grace period of the pod. */
const restartWithinMs = 300_000;

/** The node as the console reads it: everything is in memory already, or read on request. */
export function consoleNode(
  core: AgentCore,
  parts: ConsoleParts,
  serving: {
    readonly origins: () => readonly string[];
    readonly linkCommand: string;
    readonly access: () => ConsoleAccess | undefined;
  },
): ConsoleNode {
  const { node, cri, options } = core;
  const { pods, stats, streams } = parts;
  const { workers, statuses } = core;
  const { explanations } = parts;
  const { identity } = node;
  const changes = consoleChanges(core, parts);
  return {
    name: node.name,
    versions: {
      kubelet: options.server?.version ?? options.cluster?.kubeletVersion ?? options.version ?? "",
      kernel: identity.kernelVersion,
      os: identity.osImage,
      architecture: identity.arch,
      cgroups: `v${node.info.cgroupVersion}`,
      node: process.version,
    },
    bootedAt: epochMs(node.bootedAt),
    startedAt: epochMs(node.startedAt),
    uids: () => [...workers.all()].map(({ id }) => id.uid),
    pod(uid): ConsolePod | undefined {
      const worker = workers.get(uid);
      if (!worker) return undefined;
      const { id, pod, phase, removed } = worker;
      return {
        uid: id.uid,
        namespace: id.namespace,
        name: id.name,
        pod,
        status: statuses.get(uid),
        explanation: explanations.ofWorker(worker),
        terminating: phase === "terminating" || (phase === "terminated" && removed),
      };
    },
    activePods: pods.activePods,
    probes: (uid) => consoleProbes(core, pods, uid),
    state: () => nodeState(core, parts),
    usage: (whole) => (whole ? stats.summary() : stats.cpuAndMemory()),
    process: () => readProcessUsage(node.bootedAt),
    images: async () =>
      (await cri.listImages()).map(({ id, repoTags, repoDigests, size, pinned }) => ({
        id,
        name: repoTags[0] ?? repoDigests[0] ?? id,
        bytes: Number(size),
        pinned,
      })),
    clientCertificate: async () => await options.cluster?.clientCertificate?.(),
    streams: {
      logs: (exchange, { namespace, pod, container }, query) =>
        streams.logs.handle(asCaller(exchange, { namespace, pod, container }, query)),
      async exec(exchange, { namespace, pod, uid, container }, query) {
        const params = { namespace, pod, uid, container };
        const exec = streams.streaming.find((route) => route.path.startsWith("/exec/"));
        await exec?.upgrade?.({ ...exchange, ...asCaller(exchange, params, query) });
      },
    },
    changes,
    whyReadOnly: options.cluster
      ? "this node belongs to a cluster: change its pods with kubectl"
      : "manifests cannot be applied to this kubelet over HTTP (--enable-manifests-handler)",
    get access() {
      return serving.access();
    },
    origins: serving.origins,
    linkCommand: serving.linkCommand,
  };
}

/** Permissions were checked by the console. */
function asCaller<T extends Pick<Exchange, "request" | "response" | "signal">>(
  exchange: T,
  params: Readonly<Record<string, string>>,
  query: URLSearchParams,
): T & Pick<UpgradeExchange, "params" | "query" | "caller"> {
  return { ...exchange, params, query, caller: { name: "console", groups: [] } };
}

/** Pods can be applied and deleted in a single-node cluster, and where manifests can be applied over HTTP. Elsewhere the cluster owns the pods. */
function consoleChanges(core: AgentCore, { pods, manifests }: ConsoleParts): ConsoleChanges | undefined {
  const { options } = core;
  const { isSingleNode = false, cluster, server } = options;
  if (!manifests || !(isSingleNode || server?.manifests)) return undefined;
  const deleteApiPod = async (pod: Pod, graceSeconds: number | undefined) => {
    const { namespace, name, uid } = pod.metadata;
    await cluster?.transport.request({
      method: "DELETE",
      path: `/api/v1/namespaces/${encodeURIComponent(namespace)}/pods/${encodeURIComponent(name)}`,
      body: {
        apiVersion: "v1",
        kind: "DeleteOptions",
        preconditions: { uid },
        ...(graceSeconds !== undefined && { gracePeriodSeconds: graceSeconds }),
      },
    });
  };
  return {
    manifests,
    deleteApiPod: isSingleNode && cluster ? deleteApiPod : undefined,
    async stopContainer(uid, container) {
      const pod = core.workers.get(uid)?.pod;
      using limit = deadline(core.clock, restartWithinMs);
      return pod !== undefined && (await pods.runtime.stopContainer(pod, container, limit.signal));
    },
  };
}

function consoleProbes(core: AgentCore, { probes }: PodParts, uid: PodUid): ConsoleProbe[] {
  const observed = core.observed.get(uid);
  const failures = probes.failures(uid);
  const names = [...new Set(observed?.containers.map(({ name }) => name) ?? [])];
  return names.flatMap((container) =>
    (["startup", "liveness", "readiness"] as const).map((kind): ConsoleProbe => {
      const id = newestContainer(observed, container)?.id;
      const failure = failures.find((f) => f.kind === kind && f.container === container);
      return {
        container,
        kind,
        failures: failure?.times ?? 0,
        outcome: id && core.results.get(kind, id),
        lastFailure: failure && { text: failure.text, at: epochMs(failure.at) },
      };
    }),
  );
}

function nodeState(core: AgentCore, { explainer, certificate }: ConsoleParts): ConsoleNodeState {
  const { node, config, connection, view, options } = core;
  const { cause, notReady, conditions, thresholds, lastEviction } = explainer.explainNode();
  const { capacity, allocatable, conditions: published = [] } = view?.node()?.status ?? {};
  const { state, runtime } = connection;
  const serving = certificate?.current()?.cert;
  return {
    cause,
    notReady,
    published,
    thresholds,
    lastEviction,
    pressure: conditions.map(({ type }) => type),
    capacity: capacity ?? node.capacity,
    allocatable: allocatable ?? node.info.allocatable,
    addresses: core.hostIps(),
    runtime: {
      name: runtime?.name ?? "",
      version: runtime?.version ?? "",
      endpoint: config.containerRuntimeEndpoint,
      state: state.kind,
      problem: "reason" in state ? state.reason : undefined,
    },
    api: options.cluster && {
      server: options.cluster.server ?? "",
      problem: view?.connectionFailure ?? options.cluster.certificateWait?.(),
    },
    certificates: serving === undefined ? [] : [{ name: "serving", certificate: serving }],
  };
}
