// Runs on an isolated host: one kubelet creates the pods, then each of the others takes over the node, in the order of the
// arguments. Records the state of the node after each. The reference kubelet is the executable that KUBELET_REFERENCE names.

import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { ContainerId, CriClient } from "../../src/lib/clients/cri/cri.ts";
import type { HttpKubeTransport } from "../../src/lib/clients/kube/transport.ts";
import type { Pod } from "../../src/lib/model/pod.ts";
import { nodeName } from "../cluster/cluster-node.ts";
import { KillableApi } from "../cluster/killable-api.ts";
import { AgentProcess, runtimeClient } from "../e2e/agent-process.ts";
import { waitFor } from "../e2e/wait-for.ts";
import { startTestNode } from "../node/test-node.ts";
import { addAddress, address } from "./isolated-kubelets-host.ts";
import { type Kind, Kubelets } from "./kubelet-kinds.ts";
import { type NodeSnapshot, readySince, snapshotNode } from "./node-snapshot.ts";
import { captureState, type NodeState } from "./node-state.ts";
import { type RecordedFile, recordFiles } from "./recorded-files.ts";
import { apiPods, manifests } from "./takeover-pods.ts";

export interface Round {
  readonly kind: Kind;
  readonly snapshot: NodeSnapshot;
  /** The resources of a restarted container with limits, or why it was not restarted. */
  readonly restarted: string;
  /** The Ready transition times of pods when this kubelet stopped. */
  readonly readySinceAtStop: Readonly<Record<string, string>>;
  /** Once all pods are ready, and after this kubelet has stopped. */
  readonly states: { readonly taken: NodeState; readonly left: NodeState };
  /** Once all pods are ready. */
  readonly files: readonly RecordedFile[];
}

export interface KubeletsReport {
  readonly rounds: Round[];
  readonly manifests: string;
  readonly logs: Record<string, string>;
}

const namespace = "/api/v1/namespaces/default";

async function prepare(admin: HttpKubeTransport): Promise<void> {
  const create = (path: string, body: object) => admin.request({ method: "POST", path, body });
  await waitFor(() => admin.request({ method: "GET", path: `${namespace}/serviceaccounts/default` }));
  const object = (kind: string, name: string) => ({ apiVersion: "v1", kind, metadata: { name } });
  await create(`${namespace}/configmaps`, { ...object("ConfigMap", "settings"), data: { a: "one" } });
  await create(`${namespace}/secrets`, { ...object("Secret", "keys"), stringData: { password: "first" } });
  for (const pod of apiPods) await create(`${namespace}/pods`, pod);
}

async function restart(
  admin: HttpKubeTransport,
  runtime: CriClient,
  snapshot: NodeSnapshot,
): Promise<string> {
  const before = snapshot.containers.find(({ pod }) => pod === "limits")!;
  await runtime.stopContainer(before.id as ContainerId, 0);
  return waitFor(async () => {
    const { status } = await admin.request<Pod>({ method: "GET", path: `${namespace}/pods/limits` });
    const { restartCount, ready, resources } = status!.containerStatuses![0]!;
    if (!ready || restartCount !== before.attempt + 1)
      throw new Error(`not restarted: ${JSON.stringify(status?.containerStatuses)}`);
    return JSON.stringify(resources);
  }, 60_000).catch((error: Error) => error.message);
}

/** A file of an emptyDir volume. */
async function writeScratch(runtime: CriClient, { containers }: NodeSnapshot): Promise<void> {
  const { id } = containers.find(({ pod }) => pod === "volumes")!;
  await runtime.execSync(id as ContainerId, ["sh", "-c", "echo kept > /v/scratch/file"], 10);
}

async function main(order: readonly Kind[]): Promise<KubeletsReport> {
  addAddress();
  const node = await startTestNode({ containerd: "2.x" });
  const api = await KillableApi.create(nodeName);
  api.start();
  const admin = await api.admin();
  await prepare(admin);
  mkdirSync(node.manifests, { recursive: true });
  for (const [name, manifest] of Object.entries(manifests))
    writeFileSync(join(node.manifests, name), JSON.stringify(manifest));
  const agent = await AgentProcess.create(node, { makeIPTablesUtilChains: false, syncFrequency: "5s" });
  const runtime = runtimeClient(node.endpoint);
  const flags = [
    `--kubeconfig=${api.nodeKubeconfig}`,
    `--hostname-override=${nodeName}`,
    `--node-ip=${address}`,
  ];
  const kubelets = new Kubelets(agent, flags, process.env.KUBELET_REFERENCE);
  const get = (path: string) => admin.request({ method: "GET", path });
  const state = () => captureState({ ...node, runtime, get });
  const rounds: KubeletsReport["rounds"] = [];
  for (const [round, kind] of order.entries()) {
    await kubelets.start(kind);
    // Labels that reach the container show that this kubelet syncs pods, and updates volumes that the other kubelet created.
    const body = { metadata: { labels: { round: String(round + 1) } } };
    const contentType = "application/merge-patch+json";
    await admin.request({ method: "PATCH", path: `${namespace}/pods/volumes`, body, contentType });
    const snapshot = await waitFor(() => snapshotNode({ node, runtime, admin, round: round + 1 }), 90_000);
    if (round === 0) await writeScratch(runtime, snapshot);
    const [taken, files] = [await state(), recordFiles(node.rootDir)];
    const restarted = await restart(admin, runtime, snapshot);
    // The reference kubelet reports a pod as not ready until it has probed it.
    const items = await waitFor(async () => {
      const listed = await admin.request<{ items: Pod[] }>({ method: "GET", path: `${namespace}/pods` });
      const late = Object.values(readySince(listed.items)).find((since) => !since.startsWith("True"));
      if (late) throw new Error(`a pod is not ready: ${late}`);
      return listed.items;
    }, 60_000);
    await kubelets.stop();
    const states = { taken, left: await state() };
    rounds.push({ kind, snapshot, restarted, readySinceAtStop: readySince(items), states, files });
  }
  const logs = Object.fromEntries(
    readdirSync(join(node.rootDir, ".."))
      .filter((name) => name.endsWith(".log"))
      .map((name) => [name, readFileSync(join(node.rootDir, "..", name), "utf8")]),
  );
  runtime.close();
  await agent.destroy();
  await api.destroy();
  return { rounds, manifests: node.manifests, logs };
}

process.stdout.write(JSON.stringify(await main(process.argv.slice(2) as Kind[])));
