import { isIPv4 } from "node:net";
import type { Component } from "../../lib/base/component.ts";
import { KubeletError } from "../../lib/base/errors.ts";
import { ListWatch, type ListWatchOptions } from "../../lib/clients/kube/list-watch.ts";
import { withoutManagedFields } from "../../lib/clients/kube/list-watch-objects.ts";
import type { KubeTransport } from "../../lib/clients/kube/transport-interface.ts";
import type { RawObject } from "../../lib/clients/kube/watch-stream.ts";
import { isStatic, type Pod } from "../../lib/model/pod.ts";
import { type ServiceAddress, serviceVariables } from "../../lib/model/service-env.ts";
import { initialNode, type NodeSettings } from "../node/node-object.ts";
import type { NodeObject } from "../node/node-types.ts";
import { containerConfigError } from "../pipeline/pod-runtime/config/errors.ts";
import { ApiSource } from "../pipeline/sources/api-source.ts";
import { PodObjects } from "../pods/api-objects/pod-objects.ts";
import { EventRecorder } from "../pods/events/event-recorder.ts";
import type { AgentOptions } from "./agent-options.ts";
import type { Node } from "./node.ts";

/** The cluster that the node is to be part of. */
export interface ClusterOptions {
  /** At the rate that the configuration allows (kubeAPIQPS, kubeAPIBurst). */
  readonly transport: KubeTransport;
  /** The same without a limit, for heartbeats and for events, which have a rate of their own. */
  readonly unlimited?: KubeTransport;
  /** What this node says it is, "v1.36.4". */
  readonly kubeletVersion: string;
  /** What keeps the credentials good: started before anybody speaks to the API. */
  readonly components?: readonly Component[];
  /** Where the client certificate is rotated: what requests wait for, undefined if they do not. */
  readonly certificate?: () => string | undefined;
}

export interface RuntimeClass {
  readonly handler: string;
  readonly overhead?: Readonly<Record<string, string>>;
}

/** The node as it was watched, with what only a deletion brings. */
type WatchedNode = NodeObject & { metadata: { deletionTimestamp?: string } };

/** What of the node in the API is another than before. */
export interface NodeChange {
  readonly spec: boolean;
  readonly addresses: boolean;
}

/** What the agent knows of its cluster: copies of objects, kept up to date. The API being away makes them old, not wrong. */
export class ClusterView {
  readonly settings: NodeSettings;
  readonly source: ApiSource;
  /** The config maps and secrets that pods here refer to. */
  readonly objects: PodObjects;
  readonly recorder: EventRecorder;
  /** To be started before anything that asks; `source` is started with the other sources. */
  readonly components: readonly Component[];
  readonly #nodes: ListWatch<WatchedNode>;
  readonly #services: ListWatch<ServiceAddress>;
  readonly #runtimeClasses: ListWatch<RuntimeClass>;
  readonly #name: string;
  #onNode: (changed: NodeChange) => void = () => {};
  #nodeBefore: { spec?: string; addresses?: string } = {};
  #onPod: (pod: Pod) => void = () => {};

  constructor(o: AgentOptions, cluster: ClusterOptions, node: Node) {
    const { clock, logger, config } = o;
    const { transport, unlimited = transport } = cluster;
    const common = { transport, clock, logger };
    const watch = <T>(
      more: Pick<ListWatchOptions<T>, "name" | "path" | "transform" | "fieldSelector" | "onBatch">,
    ) => new ListWatch<T>({ ...common, ...more });
    const { os, arch } = node.identity;
    this.#name = node.name;
    this.settings = { ...node.configuration.settings, name: node.name, hostname: node.name, os, arch };
    this.objects = new PodObjects({
      api: transport,
      strategy: config.configMapAndSecretChangeDetectionStrategy,
      ttlMs: () => objectTtl(this.node()),
      resyncMs: config.syncFrequency,
      clock,
      logger,
    });
    this.recorder = new EventRecorder({
      api: unlimited,
      clock,
      logger,
      nodeName: node.name,
      perSecond: config.eventRecordQPS ?? 50,
      burst: config.eventBurst,
    });
    this.#nodes = watch({
      name: "node",
      path: "/api/v1/nodes",
      fieldSelector: `metadata.name=${node.name}`,
      transform: asNode,
      onBatch: () => this.#nodeChanged(),
    });
    this.#services = watch({ name: "services", path: "/api/v1/services", transform: asService });
    this.#runtimeClasses = watch({
      name: "runtimeclasses",
      path: "/apis/node.k8s.io/v1/runtimeclasses",
      transform: asRuntimeClass,
    });
    this.source = new ApiSource({
      ...common,
      nodeName: node.name,
      after: this.#nodes.synced,
      onPod: (pod) => this.#onPod(pod),
    });
    this.components = [this.recorder, this.objects, this.#nodes, this.#services, this.#runtimeClasses];
  }

  /** Called when the node or a pod in the API is another than before, and when all of something was listed. */
  listen(o: {
    onNode: (changed: NodeChange) => void;
    onPod: (pod: Pod) => void;
    onListed: () => void;
  }): void {
    this.#onNode = o.onNode;
    this.#onPod = o.onPod;
    for (const { synced } of [this.#services, this.#runtimeClasses]) void synced.then(o.onListed);
  }

  #nodeChanged(): void {
    const { spec, status } = this.node() ?? {};
    const before = this.#nodeBefore;
    const now = { spec: JSON.stringify(spec), addresses: JSON.stringify(status?.addresses) };
    this.#nodeBefore = now;
    this.#onNode({ spec: now.spec !== before.spec, addresses: now.addresses !== before.addresses });
  }

  /** The node in the API, if it is known to be there. */
  node(): WatchedNode | undefined {
    return this.#nodes.store.get("", this.#name);
  }

  /** Labels and taints of the node; before it is registered, those that it will be registered with. */
  labelsAndTaints(): { labels: Readonly<Record<string, string>>; taints: NodeSettings["taints"] } {
    const { metadata, spec } = this.node() ?? initialNode(this.settings);
    return { labels: metadata.labels ?? {}, taints: spec.taints ?? [] };
  }

  /** The node's addresses as the cluster knows them, one of each family; none before it is registered. */
  hostIps(): string[] {
    const all = this.node()?.status.addresses ?? [];
    const ips = ["InternalIP", "ExternalIP"].flatMap((type) => all.filter((a) => a.type === type));
    const [first, ...rest] = ips.map(({ address }) => address);
    if (!first) return [];
    const other = rest.find((ip) => isIPv4(ip) !== isIPv4(first));
    return other ? [first, other] : [first];
  }

  /** The handler of a RuntimeClass; throws as long as it is not known which there are. */
  runtimeClass(name: string): RuntimeClass | undefined {
    const found = this.#runtimeClasses.store.get("", name);
    if (found || this.#runtimeClasses.hasSynced) return found;
    throw new KubeletError("RuntimeClass", "runtime classes have not yet been read at least once");
  }

  serviceEnv(pod: Pod): Record<string, string> {
    // A static pod may be what an API server needs to run. Any other shows that there is one, which will tell soon.
    if (!isStatic(pod) && !this.#services.hasSynced)
      throw containerConfigError("services have not yet been read at least once, cannot construct envvars");
    return serviceVariables(this.#services.store.list(), {
      namespace: pod.metadata.namespace,
      wantsLinks: pod.spec.enableServiceLinks ?? true,
    });
  }
}

/** A large cluster tells its nodes how long they may use what they have read. */
function objectTtl(node: NodeObject | undefined): number | undefined {
  const seconds = Number(node?.metadata.annotations?.["node.alpha.kubernetes.io/ttl"] ?? Number.NaN);
  return Number.isInteger(seconds) ? seconds * 1000 : undefined;
}

function asNode(raw: RawObject): WatchedNode {
  const { metadata, spec = {}, status = {} } = withoutManagedFields(raw) as Partial<WatchedNode>;
  return { apiVersion: "v1", kind: "Node", metadata: metadata as WatchedNode["metadata"], spec, status };
}

function asService(raw: RawObject): ServiceAddress {
  const { metadata, spec } = raw as {
    metadata: { namespace: string; name: string };
    spec?: { clusterIP?: string; ports?: ServiceAddress["ports"] };
  };
  const ports = (spec?.ports ?? []).map(({ name, port, protocol }) => ({
    ...(name && { name }),
    port,
    ...(protocol && { protocol }),
  }));
  return { namespace: metadata.namespace, name: metadata.name, clusterIP: spec?.clusterIP ?? "", ports };
}

function asRuntimeClass(raw: RawObject): RuntimeClass {
  const { handler, overhead } = raw as {
    handler?: unknown;
    overhead?: { podFixed?: Record<string, string> };
  };
  if (typeof handler !== "string") throw new KubeletError("RuntimeClass", "it has no handler");
  return { handler, ...(overhead?.podFixed && { overhead: overhead.podFixed }) };
}
