import type { Component } from "../../lib/base/component.ts";
import type { PodUid } from "../../lib/model/pod.ts";
import type { PodWorkers } from "../pipeline/pod-workers/pod-workers.ts";
import type { PodSource } from "../pipeline/sources/source.ts";
import type { StatusManager } from "../pipeline/status-manager/status-manager.ts";
import type { AgentCore } from "./agent-core.ts";
import { clusterNode } from "./cluster-node.ts";
import { type ClusterPods, clusterPods } from "./cluster-pods.ts";

export interface Cluster {
  /** The pods that the cluster wants here. */
  readonly source: PodSource;
  readonly pods: ClusterPods;
  /** To be started in this order, before the first pod is worked on. None of them waits for the API. */
  readonly components: readonly Component[];
  /** Something the node's status is made of has changed. */
  nodeChanged(): void;
  /** Tells users that the agent was started. */
  announce(): void;
}

/** Makes the agent a node of its cluster; undefined if it has none. */
export function joinCluster(
  core: AgentCore,
  parts: {
    workers: () => PodWorkers;
    statuses: () => StatusManager;
    areSourcesReady: () => boolean;
    /** The mirror of this static pod is known now. */
    onMirror: (uid: PodUid) => void;
    /** Why pods cannot run here. */
    notReady: () => string[];
    /** Whether `notReady` is known to be true; for a moment after the start it is not. */
    isSettled: () => boolean;
    volumesInUse: () => string[] | undefined;
    /** The API knows that these are in use. */
    onVolumesReported: (names: readonly string[]) => void;
    /** The node in the API is another than before. */
    onNode: () => void;
    /** The node in the API has other addresses than before. */
    addressesChanged: () => void;
  },
): Cluster | undefined {
  const { view } = core;
  const { cluster } = core.options;
  if (!view || !cluster) return undefined;
  const pods = clusterPods(core, cluster, view, parts);
  const node = clusterNode(core, cluster, view, parts);
  let before: { spec?: string; addresses?: string } = {};
  view.listen({
    onNode: () => {
      pods.nodeChanged();
      parts.onNode();
      // Status and heartbeats are what this agent wrote itself.
      const { spec, status } = view.node() ?? {};
      const now = { spec: JSON.stringify(spec), addresses: JSON.stringify(status?.addresses) };
      if (now.spec !== before.spec) node.poke();
      if (now.addresses !== before.addresses) parts.addressesChanged();
      before = now;
    },
    onPod: (pod) => {
      core.startTimes.seen(pod);
      pods.apiPodChanged(pod);
    },
    // Who failed for want of them need not wait for the next try.
    onListed: () => parts.workers().pokeAll(),
  });
  return {
    source: view.source,
    pods,
    components: [...view.components, ...node.components, ...pods.components],
    nodeChanged: () => node.poke(),
    announce: () => node.announce(),
  };
}
