import assert from "node:assert/strict";
import { existsSync, lstatSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import type { ContainerId, CriClient } from "../../src/lib/clients/cri/cri.ts";
import type { HttpKubeTransport } from "../../src/lib/clients/kube/transport.ts";
import { ContainerState } from "../../src/lib/gen/runtime/v1/api_pb.js";
import type { Pod } from "../../src/lib/model/pod.ts";
import type { TestNode } from "../node/test-node.ts";
import { apiPods, manifests } from "./takeover-pods.ts";

export interface ContainerSnapshot {
  readonly id: string;
  readonly pod: string;
  readonly podUid: string;
  readonly name: string;
  readonly attempt: number;
  readonly hash: string;
}

/** The state of a node, once all of its pods are ready. */
export interface NodeSnapshot {
  readonly containers: readonly ContainerSnapshot[];
  /** By path below the pod's directory: its type, and whether it is a mount point. */
  readonly volumes: Readonly<Record<string, string>>;
  readonly allocated: string | undefined;
  readonly actuated: string | undefined;
  readonly rootFiles: readonly string[];
  /** The pods in the API; below, the sandboxes and containers in the runtime. */
  readonly pods: readonly Pod[];
  readonly sandboxes: readonly Listed[];
  readonly allContainers: readonly Listed[];
}

/** A sandbox or container of the runtime, with the labels and annotations of the kubelet. */
export interface Listed {
  readonly id: string;
  readonly sandbox?: string;
  readonly metadata: {
    readonly name: string;
    readonly uid?: string;
    readonly namespace?: string;
    readonly attempt: number;
  };
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
}

interface SnapshotOptions {
  readonly node: TestNode;
  readonly runtime: CriClient;
  readonly admin: HttpKubeTransport;
  readonly round: number;
}

export async function snapshotNode({ node, runtime, admin, round }: SnapshotOptions): Promise<NodeSnapshot> {
  const { items } = await admin.request<{ items: Pod[] }>({ method: "GET", path: "/api/v1/pods" });
  assert.equal(
    items.length,
    apiPods.length + Object.keys(manifests).length,
    items.map((p) => p.metadata.name).join(),
  );
  for (const { metadata, status } of items)
    assert.ok(
      status?.conditions?.some(({ type, status: is }) => type === "Ready" && is === "True"),
      `${metadata.name} is not ready: ${JSON.stringify(status)}`,
    );
  const found = await runtime.listContainers({ state: { state: ContainerState.CONTAINER_RUNNING } });
  const containers = found
    .map(({ id, labels, annotations, metadata }) => ({
      id,
      pod: labels["io.kubernetes.pod.name"] ?? "",
      podUid: labels["io.kubernetes.pod.uid"] ?? "",
      name: metadata?.name ?? "",
      attempt: metadata?.attempt ?? 0,
      hash: annotations["io.kubernetes.container.hash"] ?? "",
    }))
    .sort((a, b) => (`${a.pod} ${a.name}` < `${b.pod} ${b.name}` ? -1 : 1));
  const inVolumes = containers.find(({ pod }) => pod === "volumes");
  assert.ok(inVolumes);
  const labels = await inside(runtime, inVolumes.id, "cat /v/about/labels /v/all/labels");
  assert.equal(labels, `round="${round}"`.repeat(2));
  const uid = inVolumes.podUid;
  return {
    containers,
    volumes: layoutOf(join(node.rootDir, "pods", uid)),
    allocated: textOf(join(node.rootDir, "allocated_pods_state")),
    actuated: textOf(join(node.rootDir, "actuated_pods_state")),
    rootFiles: readdirSync(node.rootDir).sort(),
    pods: items,
    sandboxes: (await runtime.listPodSandboxes()).map(listed),
    allContainers: (await runtime.listContainers()).map((c) => ({ ...listed(c), sandbox: c.podSandboxId })),
  };
}

/** The Ready transition times of API pods. The times of static pods change with each kubelet. */
export function readySince(pods: readonly Pod[]): Record<string, string> {
  return Object.fromEntries(
    pods
      .filter(({ metadata }) => !metadata.annotations)
      .map(({ metadata, status }) => {
        const ready = status?.conditions?.find(({ type }) => type === "Ready");
        return [metadata.name, `${ready?.status} ${ready?.lastTransitionTime}`];
      }),
  );
}

function listed(found: { id: string; metadata?: unknown; labels: object; annotations: object }): Listed {
  const { id, labels, annotations } = found;
  const { name = "", uid, namespace, attempt = 0 } = (found.metadata ?? {}) as Partial<Listed["metadata"]>;
  const metadata = { name, attempt, ...(uid && { uid }), ...(namespace && { namespace }) };
  return { id, metadata, labels: { ...labels }, annotations: { ...annotations } };
}

async function inside(runtime: CriClient, id: string, script: string): Promise<string> {
  const { stdout } = await runtime.execSync(id as ContainerId, ["sh", "-c", script], 10);
  return Buffer.from(stdout).toString();
}

/** Modes and mount points of the files of a pod, with normalized generated names. */
function layoutOf(podDir: string): Record<string, string> {
  const layout: Record<string, string> = {};
  const record = (path: string) => {
    // Written by the test, after the first snapshot.
    if (path.endsWith("/scratch/file")) return;
    const at = lstatSync(join(podDir, path));
    const isMount = at.isDirectory() && at.dev !== lstatSync(dirname(join(podDir, path))).dev;
    const name = path.replace(/\.\.\d{4}_[\d_.]+/, "..TIME").replace(/(kube-api-access)-\w+/, "$1");
    layout[name] = `${at.mode.toString(8)}${isMount ? " mount" : ""}`;
  };
  const walk = (path: string, depth: number) => {
    if (!existsSync(join(podDir, path))) return;
    record(path);
    if (depth === 0 || !lstatSync(join(podDir, path)).isDirectory()) return;
    for (const name of readdirSync(join(podDir, path)).sort()) walk(join(path, name), depth - 1);
  };
  walk("volumes", 4);
  walk("plugins", 4);
  return layout;
}

function textOf(path: string): string | undefined {
  return existsSync(path) ? readFileSync(path, "utf8") : undefined;
}
