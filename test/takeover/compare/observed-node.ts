import assert from "node:assert/strict";
import type { Pod } from "../../../src/lib/model/pod.ts";
import type { Summary } from "../../../src/lib/model/stats-summary.ts";
import { busyboxName } from "../../node/test-node.ts";
import type { Json } from "./facts.ts";
import type { Observation } from "./kinds.ts";
import { observedNodeName, observedPods, phases } from "./observed-pods.ts";

/** A node with containerd, an API server and one kubelet, which is not started yet. */
export interface ObservedNode {
  get<T>(path: string): Promise<T>;
  create(path: string, body: object): Promise<unknown>;
  placeManifest(name: string, content: string): Promise<void> | void;
  startKubelet(): Promise<void>;
  /** A page of the kubelet's read-only port. */
  page(path: string): Promise<string>;
  /** Resolves as soon as the check does not throw. */
  waitFor<T>(check: () => Promise<T>): Promise<T>;
  /** Read on the machine itself. */
  system(): Promise<SystemObservation> | SystemObservation;
}

export type SystemObservation = Pick<Observation, "cgroups" | "mounts" | "files" | "iptables" | "cri">;

const namespace = "/api/v1/namespaces/default";
const endpoints = ["/metrics", "/metrics/cadvisor", "/metrics/resource", "/metrics/probes"];

/** Fields of the KubeletConfiguration. */
export const observedConfig = {
  kubeReserved: { cpu: "100m", memory: "100Mi" },
  systemReserved: { memory: "100Mi" },
  podPidsLimit: 512,
  clusterDNS: ["10.96.0.10"],
  clusterDomain: "cluster.local",
  makeIPTablesUtilChains: true,
  volumeStatsAggPeriod: "1s",
  syncFrequency: "5s",
  authentication: { anonymous: { enabled: true }, webhook: { enabled: false } },
  authorization: { mode: "AlwaysAllow" },
  enableServer: true,
};

/** The statuses are final after this time: both kubelets sync each pod again within 1.5 × syncFrequency. */
const unchangedMs = 2 * 1.5 * 5000;

/** Starts the kubelet, and reads everything once the observed pods have settled. */
export async function observeNode(node: ObservedNode): Promise<Observation> {
  await createPods(node);
  await node.startKubelet();
  const pods = await settledPods(node);
  const [object] = await list<Json>(node, "nodes");
  assert.ok(object, `no node ${observedNodeName}`);
  const summary = await node.waitFor(() => completeSummary(node, pods));
  const metrics: Record<string, string> = {};
  for (const path of endpoints) metrics[path] = await node.waitFor(() => node.page(path));
  return {
    node: object,
    pods: pods as unknown as Json[],
    events: await list(node, "events"),
    summary: summary as unknown as Json,
    metrics,
    ...(await node.system()),
  };
}

async function createPods(node: ObservedNode): Promise<void> {
  await node.waitFor(() => node.get(`${namespace}/serviceaccounts/default`));
  const object = (type: string, name: string) => ({ apiVersion: "v1", kind: type, metadata: { name } });
  await node.create(`${namespace}/configmaps`, { ...object("ConfigMap", "cm"), data: { foo: "bar" } });
  await node.create(`${namespace}/secrets`, { ...object("Secret", "sec"), stringData: { k: "v" } });
  const { pods, manifest } = observedPods(busyboxName);
  for (const pod of pods) await node.create(`${namespace}/pods`, pod);
  await node.placeManifest("static.json", JSON.stringify(manifest));
}

async function settledPods(node: ObservedNode): Promise<readonly Pod[]> {
  let last = "";
  let since = 0;
  return node.waitFor(async () => {
    const pods = await list<Pod>(node, "pods");
    const statuses = JSON.stringify(pods.map(({ status }) => status));
    if (statuses !== last) {
      last = statuses;
      since = Date.now();
    }
    assert.deepEqual(phases(pods), phases());
    assert.ok(Date.now() - since > unchangedMs, "the statuses of pods change");
    return pods;
  });
}

async function list<T>(node: ObservedNode, resource: string): Promise<T[]> {
  return (await node.get<{ items: T[] }>(`/api/v1/${resource}`)).items;
}

async function completeSummary(node: ObservedNode, pods: readonly Pod[]): Promise<Summary> {
  const summary = JSON.parse(await node.page("/stats/summary")) as Summary;
  for (const pod of pods) if (pod.status?.phase === "Running") assertMeasured(pod, summary);
  assert.ok(summary.node.cpu?.usageNanoCores !== undefined, "the node has no statistics yet");
  return summary;
}

/** Rates need two samples, and volumes are measured at intervals. */
function assertMeasured({ metadata, spec, status }: Pod, summary: Summary): void {
  const found = summary.pods.find(({ podRef }) => podRef.name === metadata.name);
  const running = [...(status?.initContainerStatuses ?? []), ...(status?.containerStatuses ?? [])].filter(
    ({ state }) => state?.running,
  );
  const complete = found?.containers.filter(
    ({ cpu, rootfs, logs }) =>
      cpu?.usageNanoCores !== undefined && rootfs?.usedBytes !== undefined && logs?.usedBytes !== undefined,
  );
  assert.equal(complete?.length, running.length, `containers of ${metadata.name}`);
  assert.ok(found?.cpu?.usageNanoCores !== undefined, `CPU of ${metadata.name}`);
  // The Go kubelet may discover a container a minute later.
  assert.ok(found.process_stats, `processes of ${metadata.name}`);
  const volumes = (spec.volumes ?? []).filter((volume) => !volume.hostPath);
  assert.equal(found.volume?.length ?? 0, volumes.length, `volumes of ${metadata.name}`);
}

/** Whether an interface file has a limit, of cgroup v1 or v2. */
export const isLimitFile = (name: string): boolean =>
  /^(?:cpu\.(?:shares|cfs_(?:quota|period)_us|weight|max|idle)|memory\.(?:(?:memsw\.)?limit_in_bytes|max|min|low|high|swap\.max|oom\.group)|pids\.max|cpuset\.(?:cpus|mems)|hugetlb\..*(?:max|limit_in_bytes))$/.test(
    name,
  );
