import type { Component } from "../../lib/base/component.ts";
import { clientRate } from "../../lib/clients/kube/client-rate.ts";
import type { KubeTransport } from "../../lib/clients/kube/transport-interface.ts";
import type { ClusterOptions } from "../certs/cluster-access.ts";
import { ClusterView } from "../cluster/cluster-view.ts";
import { initialNode, type NodeSettings } from "../node/node-object.ts";
import { ApiSource } from "../pipeline/sources/api-source.ts";
import type { Post } from "../pipeline/sync-loop/events.ts";
import { PodObjects } from "../pods/api-objects/pod-objects.ts";
import { EventRecorder } from "../pods/events/event-recorder.ts";
import type { AgentOptions } from "./agent-options.ts";
import type { Node } from "./node.ts";

/** The clients of the cluster: the view of it, the source of its pods, the cache of their objects, and the recorder of events. */
export interface ClusterApi {
  readonly options: ClusterOptions;
  readonly transport: KubeTransport;
  /** A client without a rate limit. */
  readonly unlimited: KubeTransport;
  readonly settings: NodeSettings;
  readonly view: ClusterView;
  /** The pods that the API assigns to this node; started with the other sources. */
  readonly source: ApiSource;
  /** The ConfigMaps and Secrets that pods of this node refer to. */
  readonly objects: PodObjects;
  readonly recorder: EventRecorder;
  /** Must be started before their users. */
  readonly components: readonly Component[];
}

export function clusterApi(
  { clock, logger, config }: AgentOptions,
  cluster: ClusterOptions,
  node: Node,
  post: Post,
): ClusterApi {
  const { transport, unlimited = transport } = cluster;
  const { os, arch } = node.identity;
  const settings = { ...node.configuration.settings, name: node.name, hostname: node.name, os, arch };
  const view = new ClusterView({
    transport,
    unlimited,
    nodeName: node.name,
    initialNode: initialNode(settings),
    clock,
    logger,
    onNode: (changed) => post({ kind: "node-changed", ...changed }),
    onListed: () => post({ kind: "api-listed" }),
  });
  const eventRate = clientRate(config.eventRecordQPS ?? 50, config.eventBurst);
  const recorder = new EventRecorder({
    api: unlimited,
    clock,
    logger,
    nodeName: node.name,
    perSecond: eventRate.qps,
    burst: eventRate.burst,
  });
  const objects = new PodObjects({
    api: transport,
    strategy: config.configMapAndSecretChangeDetectionStrategy,
    ttlMs: () => view.objectTtlMs(),
    resyncMs: config.syncFrequency,
    clock,
    logger,
  });
  const source = new ApiSource({
    transport,
    clock,
    logger,
    nodeName: node.name,
    after: view.nodeListed,
    onPod: (pod) => post({ kind: "api-pod", uid: pod.metadata.uid, pod }),
  });
  return {
    options: cluster,
    transport,
    unlimited,
    settings,
    view,
    source,
    objects,
    recorder,
    components: [recorder, objects, ...view.components],
  };
}
