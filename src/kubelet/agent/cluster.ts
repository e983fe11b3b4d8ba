import type { Component } from "../../lib/base/component.ts";
import type { Pod, PodStatus, PodUid } from "../../lib/model/pod.ts";
import type { PodWorkers } from "../pipeline/pod-workers/pod-workers.ts";
import type { PodSource } from "../pipeline/sources/source.ts";
import type { StatusManager } from "../pipeline/status-manager/status-manager.ts";
import type { EventHandlers } from "../pipeline/sync-loop/event-table.ts";
import type { DeviceAmounts } from "../resources/devices/device-inventory.ts";
import type { AgentCore } from "./agent-core.ts";
import { clusterNode } from "./cluster-node.ts";
import { clusterPods } from "./cluster-pods.ts";

/** The parts of the agent that need a cluster. */
export interface Cluster {
  readonly isPresent: boolean;
  /** Keep the credentials valid: started before anything that sends requests. */
  readonly credentials: readonly Component[];
  /** Must be started in this order, before the first pod is synced. None of them waits for the API server. */
  readonly components: readonly Component[];
  /** The pods that the API assigns to this node. */
  readonly sources: readonly PodSource[];
  readonly handlers: Partial<Pick<EventHandlers, "statusWriter" | "mirrors" | "nodeStatus">>;
  /** The status that the API has of the pod or of its mirror; not of a previous instance of the pod. */
  statusInApi(pod: Pod): PodStatus | undefined;
  /** True if the API has the newest status of the pod; always true without an API. */
  isWritten(uid: PodUid): boolean;
  /** Records the node events of a start. */
  recordStartEvents(): void;
  /** Sends the recorded events, for as long. */
  sendEvents(withinMs: number): Promise<void>;
}

/** A standalone node. */
const noCluster: Cluster = {
  isPresent: false,
  credentials: [],
  components: [],
  sources: [],
  handlers: {},
  statusInApi: () => undefined,
  isWritten: () => true,
  sendEvents: async () => {},
  recordStartEvents() {},
};

export interface ClusterDependencies {
  readonly workers: PodWorkers;
  readonly statuses: StatusManager;
  readonly areSourcesReady: () => boolean;
  /** Why pods cannot run here. */
  readonly notReady: () => string[];
  /** Whether `notReady` is reliable; shortly after the start it is not. */
  readonly isSettled: () => boolean;
  readonly volumesInUse: () => string[] | undefined;
  /** Resources of device plugins. */
  readonly devices: { amounts(): DeviceAmounts; isNewNode(): boolean };
}

/** Makes the agent a node of its cluster, if one is configured. */
export function joinCluster(core: AgentCore, needs: ClusterDependencies): Cluster {
  const { cluster, post } = core;
  if (!cluster) return noCluster;
  const pods = clusterPods(core, cluster, needs);
  const node = clusterNode(core, cluster, needs);
  cluster.recorder.writeStatusesWith(pods.statuses);
  cluster.transport.onReconnect?.(() => post({ kind: "api-reconnected" }));
  return {
    isPresent: true,
    credentials: cluster.options.components ?? [],
    components: [...cluster.components, ...node.components, ...pods.components],
    sources: [cluster.source],
    handlers: { ...pods.handlers, nodeStatus: node.handler },
    statusInApi: (pod) => pods.statusInApi(pod),
    isWritten: (uid) => pods.isWritten(uid),
    recordStartEvents: () => node.recordStartEvents(),
    sendEvents: (withinMs) => cluster.recorder.sendWithin(withinMs),
  };
}
