import { isIPv4 } from "node:net";
import type { Clock } from "../../lib/base/clock.ts";
import type { Component } from "../../lib/base/component.ts";
import { KubeletError, messageOf } from "../../lib/base/errors.ts";
import type { Logger } from "../../lib/base/logger.ts";
import { Reflector } from "../../lib/clients/kube/reflector.ts";
import { withoutManagedFields } from "../../lib/clients/kube/reflector-objects.ts";
import type { KubeTransport } from "../../lib/clients/kube/transport-interface.ts";
import type { RawObject } from "../../lib/clients/kube/watch-stream.ts";
import { isStatic, type Pod } from "../../lib/model/pod.ts";
import { type ServiceAddress, serviceVariables } from "../../lib/model/service-env.ts";
import type { NodeSettings } from "../node/node-object.ts";
import type { NodeObject } from "../node/node-types.ts";

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

export interface ClusterViewOptions {
  readonly transport: KubeTransport;
  /** Without a rate limit, for requests that pods wait for. */
  readonly unlimited: KubeTransport;
  readonly nodeName: string;
  /** The node as it will be registered. */
  readonly initialNode: NodeObject;
  readonly clock: Clock;
  readonly logger: Logger;
  /** The node has changed in the API. */
  onNode(changed: NodeChange): void;
  /** Services or runtime classes have been listed. */
  onListed(): void;
}

/** The agent's view of its cluster: watches of API objects. While the API server is unavailable they are stale. */
export class ClusterView {
  readonly #o: ClusterViewOptions;
  readonly #nodes: Reflector<WatchedNode>;
  readonly #services: Reflector<ServiceAddress>;
  readonly #runtimeClasses: Reflector<RuntimeClass>;
  #previousNode: { spec?: string; addresses?: string } = {};
  /** The node as a separate request returned it, which may be newer than the watch. */
  #readNode: WatchedNode | undefined;
  #hostIps: { node: WatchedNode | undefined; ips: readonly string[] } | undefined;

  constructor(options: ClusterViewOptions) {
    this.#o = options;
    const { transport, clock, logger, nodeName, onListed } = options;
    const common = { transport, clock, logger };
    this.#nodes = new Reflector({
      ...common,
      name: "node",
      path: "/api/v1/nodes",
      fieldSelector: `metadata.name=${nodeName}`,
      transform: asNode,
      onBatch: () => this.#nodeChanged(),
    });
    this.#services = new Reflector({
      ...common,
      name: "services",
      path: "/api/v1/services",
      transform: asService,
    });
    this.#runtimeClasses = new Reflector({
      ...common,
      name: "runtimeclasses",
      path: "/apis/node.k8s.io/v1/runtimeclasses",
      transform: asRuntimeClass,
    });
    for (const { synced } of [this.#services, this.#runtimeClasses]) void synced.then(onListed);
  }

  /** The watches; must be started before their users. */
  get components(): readonly Component[] {
    return [this.#nodes, this.#services, this.#runtimeClasses];
  }

  /** Resolves when the node has been listed. */
  get nodeListed(): Promise<void> {
    return this.#nodes.synced;
  }

  #nodeChanged(): void {
    const { spec, status } = this.node() ?? {};
    const previous = this.#previousNode;
    const now = { spec: JSON.stringify(spec), addresses: JSON.stringify(status?.addresses) };
    this.#previousNode = now;
    this.#o.onNode({ spec: now.spec !== previous.spec, addresses: now.addresses !== previous.addresses });
  }

  /** The Node object, once it was observed in the API. */
  node(): WatchedNode | undefined {
    return this.#nodes.store.get("", this.#o.nodeName);
  }

  /** Why there is no watch of the API server now; undefined if there is one. */
  get connectionFailure(): string | undefined {
    return this.#nodes.failure;
  }

  /** Reads the node now, for labels and resources that the watch has not delivered yet. Failures are only logged. */
  async readNode(signal: AbortSignal): Promise<void> {
    const path = `/api/v1/nodes/${encodeURIComponent(this.#o.nodeName)}`;
    try {
      const call = { method: "GET", path, signal, timeoutMs: readNodeMs } as const;
      this.#readNode = asNode(await this.#o.unlimited.request<RawObject>(call));
    } catch (error) {
      if (!signal.aborted) this.#o.logger.warn("Failed to read node", { err: messageOf(error) });
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
    const { metadata, spec } = this.#newestNode() ?? this.#o.initialNode;
    return { labels: metadata.labels ?? {}, taints: spec.taints ?? [] };
  }

  /** The allocatable resources that the API has of this node; none before it is registered. */
  allocatable(): Readonly<Record<string, string>> {
    return this.#newestNode()?.status.allocatable ?? {};
  }

  /** How long objects are cached: in large clusters the TTL controller sets it, by an annotation of the node. */
  objectTtlMs(): number | undefined {
    const seconds = Number(this.node()?.metadata.annotations?.["node.alpha.kubernetes.io/ttl"] ?? Number.NaN);
    return Number.isInteger(seconds) ? seconds * 1000 : undefined;
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
      throw new KubeletError(
        "CreateContainerConfigError",
        "services have not yet been read at least once, cannot construct envvars",
      );
    return serviceVariables(this.#services.store.list(), {
      namespace: pod.metadata.namespace,
      enableServiceLinks: pod.spec.enableServiceLinks ?? true,
    });
  }
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
