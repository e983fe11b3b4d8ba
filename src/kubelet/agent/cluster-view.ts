import { isIPv4 } from "node:net";
import type { Component } from "../../lib/base/component.ts";
import { KubeletError, messageOf } from "../../lib/base/errors.ts";
import type { Logger } from "../../lib/base/logger.ts";
import { clientRate } from "../../lib/clients/kube/client-rate.ts";
import { Reflector, type ReflectorOptions } from "../../lib/clients/kube/reflector.ts";
import { withoutManagedFields } from "../../lib/clients/kube/reflector-objects.ts";
import type { KubeTransport } from "../../lib/clients/kube/transport-interface.ts";
import type { RawObject } from "../../lib/clients/kube/watch-stream.ts";
import { isStatic, type Pod, type PodUid } from "../../lib/model/pod.ts";
import { type ServiceAddress, serviceVariables } from "../../lib/model/service-env.ts";
import { initialNode, type NodeSettings } from "../node/node-object.ts";
import type { NodeObject } from "../node/node-types.ts";
import { containerConfigError } from "../pipeline/pod-runtime/config/errors.ts";
import { ApiSource } from "../pipeline/sources/api-source.ts";
import { PodObjects } from "../pods/api-objects/pod-objects.ts";
import { EventRecorder } from "../pods/events/event-recorder.ts";
import type { AgentOptions } from "./agent-options.ts";
import type { Node } from "./node.ts";

/** The cluster that the node joins. */
export interface ClusterOptions {
  /** Limited to the configured rate (kubeAPIQPS, kubeAPIBurst). */
  readonly transport: KubeTransport;
  /** The same without a limit, for heartbeats and for events, which have their own rate limit. */
  readonly unlimited?: KubeTransport;
  /** The address of the API server, for display. */
  readonly server?: string;
  /** The version that the node reports, "v1.36.4". */
  readonly kubeletVersion: string;
  /** Keep the credentials valid: started before anything that sends requests. */
  readonly components?: readonly Component[];
  /** Present if the client certificate is rotated: why requests wait for it, undefined while they do not. */
  readonly certificateWait?: () => string | undefined;
  /** The client certificate in PEM, without its key; undefined if other credentials are used. */
  readonly clientCertificate?: () => Promise<string | undefined>;
}

/** A pod that is about to be rejected does not wait longer for the node. */
const readNodeMs = 10_000;

export interface RuntimeClass {
  readonly handler: string;
  readonly overhead?: Readonly<Record<string, string>>;
}

/** The node as it was last watched. */
type WatchedNode = NodeObject & { metadata: { deletionTimestamp?: string } };

/** A change of the Node object. */
export interface NodeChange {
  readonly spec: boolean;
  readonly addresses: boolean;
}

/** The agent's view of its cluster: caches of API objects. While the API server is unavailable they are stale. */
export class ClusterView {
  readonly settings: NodeSettings;
  readonly source: ApiSource;
  /** The ConfigMaps and Secrets that pods of this node refer to. */
  readonly objects: PodObjects;
  readonly recorder: EventRecorder;
  /** Must be started before their users; `source` is started with the other sources. */
  readonly components: readonly Component[];
  readonly #nodes: Reflector<WatchedNode>;
  readonly #services: Reflector<ServiceAddress>;
  readonly #runtimeClasses: Reflector<RuntimeClass>;
  readonly #name: string;
  readonly #transport: KubeTransport;
  readonly #logger: Logger;
  #onNode: (changed: NodeChange) => void = () => {};
  #previousNode: { spec?: string; addresses?: string } = {};
  /** From a request of its own, which may be newer than the watch. */
  #readNode: WatchedNode | undefined;
  #hostIps: { node: WatchedNode | undefined; ips: readonly string[] } | undefined;
  #onPod: (pod: Pod) => void = () => {};
  #writeStatus: (uid: PodUid) => Promise<void> = async () => {};

  constructor(o: AgentOptions, cluster: ClusterOptions, node: Node) {
    const { clock, logger, config } = o;
    const { transport, unlimited = transport } = cluster;
    const eventRate = clientRate(config.eventRecordQPS ?? 50, config.eventBurst);
    const common = { transport, clock, logger };
    const watch = <T>(
      more: Pick<ReflectorOptions<T>, "name" | "path" | "transform" | "fieldSelector" | "onBatch">,
    ) => new Reflector<T>({ ...common, ...more });
    const { os, arch } = node.identity;
    this.#name = node.name;
    this.#transport = unlimited;
    this.#logger = logger;
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
      perSecond: eventRate.qps,
      burst: eventRate.burst,
      writeStatus: (uid) => this.#writeStatus(uid),
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

  /**
   * Called when the node or a pod changes in the API, and when services or runtime classes were listed. `writeStatus` writes the status of a
   * pod before events that may refer to it are sent.
   */
  listen(o: {
    writeStatus: (uid: PodUid) => Promise<void>;
    onNode: (changed: NodeChange) => void;
    onPod: (pod: Pod) => void;
    onListed: () => void;
  }): void {
    this.#writeStatus = o.writeStatus;
    this.#onNode = o.onNode;
    this.#onPod = o.onPod;
    for (const { synced } of [this.#services, this.#runtimeClasses]) void synced.then(o.onListed);
  }

  #nodeChanged(): void {
    const { spec, status } = this.node() ?? {};
    const previous = this.#previousNode;
    const now = { spec: JSON.stringify(spec), addresses: JSON.stringify(status?.addresses) };
    this.#previousNode = now;
    this.#onNode({ spec: now.spec !== previous.spec, addresses: now.addresses !== previous.addresses });
  }

  /** The Node object, once it was observed in the API. */
  node(): WatchedNode | undefined {
    return this.#nodes.store.get("", this.#name);
  }

  /** Why there is no watch of the API server now; undefined if there is one. */
  get connectionFailure(): string | undefined {
    return this.#nodes.failure;
  }

  /** Reads the node now, for labels and resources that the watch has not delivered yet. Failures are only logged. */
  async readNode(signal: AbortSignal): Promise<void> {
    const path = `/api/v1/nodes/${encodeURIComponent(this.#name)}`;
    try {
      const call = { method: "GET", path, signal, timeoutMs: readNodeMs } as const;
      this.#readNode = asNode(await this.#transport.request<RawObject>(call));
    } catch (error) {
      if (!signal.aborted) this.#logger.warn("Failed to read node", { err: messageOf(error) });
    }
  }

  #newestNode(): WatchedNode | undefined {
    const watched = this.node();
    const read = this.#readNode;
    if (!watched || !read) return watched ?? read;
    return Number(read.metadata.resourceVersion) > Number(watched.metadata.resourceVersion) ? read : watched;
  }

  /** Labels and taints of the node; before it is registered, those that it will be registered with. */
  labelsAndTaints(): { labels: Readonly<Record<string, string>>; taints: NodeSettings["taints"] } {
    const { metadata, spec } = this.#newestNode() ?? initialNode(this.settings);
    return { labels: metadata.labels ?? {}, taints: spec.taints ?? [] };
  }

  /** The allocatable resources that the API has of this node; none before it is registered. */
  allocatable(): Readonly<Record<string, string>> {
    return this.#newestNode()?.status.allocatable ?? {};
  }

  /** The node's addresses in the API, one of each family; none before it is registered. */
  hostIps(): readonly string[] {
    const node = this.node();
    const known = this.#hostIps;
    if (known && known.node === node) return known.ips;
    const ips = hostIpsOf(node);
    this.#hostIps = { node, ips };
    return ips;
  }

  /** The handler of a RuntimeClass; throws until runtime classes have been listed. */
  runtimeClass(name: string): RuntimeClass | undefined {
    const found = this.#runtimeClasses.store.get("", name);
    if (found || this.#runtimeClasses.hasSynced) return found;
    throw new KubeletError("RuntimeClass", "runtime classes have not yet been read at least once");
  }

  serviceEnv(pod: Pod): Record<string, string> {
    // The API server itself may be a static pod. Any other pod came from an API server, so services will be listed soon.
    if (!isStatic(pod) && !this.#services.hasSynced)
      throw containerConfigError("services have not yet been read at least once, cannot construct envvars");
    return serviceVariables(this.#services.store.list(), {
      namespace: pod.metadata.namespace,
      enableServiceLinks: pod.spec.enableServiceLinks ?? true,
    });
  }
}

/** In large clusters the TTL controller sets how long objects are cached, by an annotation of the node. */
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

function hostIpsOf(node: WatchedNode | undefined): string[] {
  const all = node?.status.addresses ?? [];
  const ips = ["InternalIP", "ExternalIP"].flatMap((type) => all.filter((a) => a.type === type));
  const [first, ...rest] = ips.map(({ address }) => address);
  if (!first) return [];
  const other = rest.find((ip) => isIPv4(ip) !== isIPv4(first));
  return other ? [first, other] : [first];
}
