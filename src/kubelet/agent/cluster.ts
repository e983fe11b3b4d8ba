import type { Component } from "../../lib/base/component.ts";
import type { ApiStatuses } from "../pipeline/status-manager/api-statuses.ts";
import type { EventHandlers } from "../pipeline/sync-loop/event-table.ts";
import type { InitialSync } from "../pipeline/sync-loop/initial-sync.ts";
import type { DeviceManager } from "../resources/devices/device-manager.ts";
import type { AgentCore } from "./agent-core.ts";
import { clusterNode } from "./cluster-node.ts";
import { clusterPods } from "./cluster-pods.ts";
import type { PodVolumes } from "./pod-volumes.ts";

/** The parts of the agent that need a cluster. */
export interface Cluster {
  readonly isPresent: boolean;
  /** Keep the credentials valid: started before anything that sends requests. */
  readonly credentials: readonly Component[];
  /** Must be started in this order, before the first pod is synced. None of them waits for the API server. */
  readonly components: readonly Component[];
  readonly handlers: Partial<Pick<EventHandlers, "statusWriter" | "mirrors" | "nodeStatus">>;
  /** Writes statuses to the API; undefined without one. */
  readonly statuses: ApiStatuses | undefined;
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
  handlers: {},
  statuses: undefined,
  sendEvents: async () => {},
  recordStartEvents() {},
};

export interface ClusterDependencies {
  readonly initialSync: Pick<InitialSync, "areSourcesReady">;
  /** Why pods cannot run here. */
  readonly notReady: () => string[];
  /** Until the volumes are settled, `notReady` is not reliable. */
  readonly volumes: Pick<PodVolumes, "manager" | "isSettled">;
  readonly devices: Pick<DeviceManager, "amounts" | "isNewNode">;
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
    handlers: { ...pods.handlers, nodeStatus: node.handler },
    statuses: pods.statuses,
    recordStartEvents: () => node.recordStartEvents(),
    sendEvents: (withinMs) => cluster.recorder.sendWithin(withinMs),
  };
}
