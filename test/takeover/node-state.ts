import { createHash } from "node:crypto";
import { existsSync, globSync, lstatSync, readFileSync, readlinkSync } from "node:fs";
import { join } from "node:path";
import type { CriClient } from "../../src/lib/clients/cri/cri.ts";
import { ContainerState, PodSandboxState } from "../../src/lib/gen/runtime/v1/api_pb.js";
import type { Pod } from "../../src/lib/model/pod.ts";

/** The parts of the node's state, by row of the table, with a value that changes when the part is replaced or written. */
export type NodeState = Readonly<Record<string, Readonly<Record<string, string>>>>;

export interface StateSource {
  readonly rootDir: string;
  readonly logDir: string;
  readonly cgroupRoot: string;
  readonly runtime: CriClient;
  readonly get: (path: string) => Promise<unknown>;
}

interface Named {
  readonly metadata: { readonly name: string; readonly namespace?: string; readonly uid?: string };
}

const fileRows = {
  "CPU and memory manager": "{cpu,memory}_manager_state",
  "devices of device plugins": "device-plugins/kubelet_internal_checkpoint",
  "prepared resource claims": "dra_manager_state",
  "records of image pulls": "image_manager/**/*",
  certificates: "pki/*",
  "`etc-hosts` of pods": "pods/*/etc-hosts",
  "termination messages": "pods/*/containers/*/*",
} as const;

export async function captureState(from: StateSource): Promise<NodeState> {
  const { rootDir, runtime, get } = from;
  const { items: pods } = (await get("/api/v1/pods")) as { items: Pod[] };
  const staticUids = new Set(
    pods.flatMap((pod) => pod.metadata.annotations?.["kubernetes.io/config.hash"] ?? []),
  );
  const containers = await runtime.listContainers({ state: { state: ContainerState.CONTAINER_RUNNING } });
  const sandboxes = await runtime.listPodSandboxes({ state: { state: PodSandboxState.SANDBOX_READY } });
  const isStatic = (labels: Readonly<Record<string, string>>) =>
    staticUids.has(labels["io.kubernetes.pod.uid"] ?? "");
  const idOf = (labels: Readonly<Record<string, string>>) =>
    `${labels["io.kubernetes.pod.name"]}/${labels["io.kubernetes.container.name"] ?? ""}`;
  const ids = (of: typeof containers) =>
    Object.fromEntries(of.map(({ id, labels }) => [`${idOf(labels)} ${id}`, id]));
  const { api, mirrors } = Object.groupBy(pods, ({ metadata }) =>
    metadata.annotations?.["kubernetes.io/config.mirror"] ? "mirrors" : "api",
  );
  return {
    "containers of pods from the API server": ids(containers.filter(({ labels }) => !isStatic(labels))),
    "containers of static pods": ids(containers.filter(({ labels }) => isStatic(labels))),
    sandboxes: Object.fromEntries(sandboxes.map(({ id }) => [id, id])),
    "pod cgroups": inodes(cgroupsOf(from.cgroupRoot), "**/pod*"),
    "container logs": inodes(from.logDir, "*/*/*.log"),
    "mirror pods (UID)": Object.fromEntries((mirrors ?? []).map(uidOf)),
    "transition times of the Ready condition of pods with startup or readiness probes": readyTimes(
      (api ?? []).filter(isProbed),
    ),
    "transition times of the Ready condition of other pods": readyTimes(
      (api ?? []).filter((pod) => !isProbed(pod)),
    ),
    "transition times of the Ready condition of static pods": readyTimes(mirrors ?? []),
    "Node, Lease, CSINode (UID)": await nodeUids(get),
    "mounts of volumes": inodes(rootDir, "pods/*/volumes/*/*", (path) => lstatSync(path).dev),
    "files of emptyDir volumes": inodes(rootDir, "pods/*/volumes/kubernetes.io~empty-dir/*/*"),
    "files of ConfigMap and Secret volumes": links(
      rootDir,
      "pods/*/volumes/kubernetes.io~{configmap,secret}/*/..data",
    ),
    "service account tokens": links(
      rootDir,
      "pods/*/volumes/kubernetes.io~projected/kube-api-access-*/..data",
    ),
    "allocated and actuated resources": allocations(rootDir),
    ...Object.fromEntries(
      Object.entries(fileRows).map(([row, pattern]) => [row, contents(rootDir, pattern)]),
    ),
  };
}

/** In one hierarchy of cgroup v1, or in the hierarchy of cgroup v2. */
function cgroupsOf(root: string): string {
  const dirs = ["/sys/fs/cgroup/memory", "/sys/fs/cgroup"].map((dir) => join(dir, root));
  return dirs.find((dir) => existsSync(dir)) ?? dirs[0]!;
}

const uidOf = ({ metadata }: Named): [string, string] => [metadata.name, metadata.uid ?? ""];

const isProbed = ({ spec: { initContainers = [], containers } }: Pod) =>
  [...initContainers, ...containers].some((one) => one.startupProbe ?? one.readinessProbe);

function readyTimes(pods: readonly Pod[]): Record<string, string> {
  return Object.fromEntries(
    pods.map(({ metadata, status }) => {
      const ready = status?.conditions?.find(({ type }) => type === "Ready");
      return [metadata.name, `${ready?.status} ${ready?.lastTransitionTime}`];
    }),
  );
}

async function nodeUids(get: StateSource["get"]): Promise<Record<string, string>> {
  const lists = [
    "/api/v1/nodes",
    "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases",
    "/apis/storage.k8s.io/v1/csinodes",
  ];
  const found = await Promise.all(
    lists.map(async (path) => {
      const { items } = (await get(path)) as { items: Named[] };
      return items.map((item) => [`${path}/${item.metadata.name}`, item.metadata.uid ?? ""] as const);
    }),
  );
  return Object.fromEntries(found.flat());
}

const paths = (dir: string, pattern: string) =>
  existsSync(dir) ? globSync(pattern, { cwd: dir }).filter((path) => existsSync(join(dir, path))) : [];

function inodes(
  dir: string,
  pattern: string,
  value: (path: string) => unknown = (path) => lstatSync(path).ino,
): Record<string, string> {
  return Object.fromEntries(paths(dir, pattern).map((path) => [path, String(value(join(dir, path)))]));
}

const links = (dir: string, pattern: string) => inodes(dir, pattern, (path) => readlinkSync(path));

function contents(dir: string, pattern: string): Record<string, string> {
  const isFile = (path: string) => lstatSync(join(dir, path)).isFile();
  const digest = (path: string) =>
    createHash("sha256")
      .update(readFileSync(join(dir, path)))
      .digest("hex");
  return Object.fromEntries(
    paths(dir, pattern)
      .filter(isFile)
      .map((path) => [path, digest(path)]),
  );
}

/** By pod: other pods may be added. */
function allocations(dir: string): Record<string, string> {
  const entries = paths(dir, "{allocated,actuated}_pods_state").flatMap((path) => {
    const { data } = JSON.parse(readFileSync(join(dir, path), "utf8")) as { data: string };
    const { entries: byUid } = JSON.parse(data) as { entries: Record<string, unknown> };
    return Object.entries(byUid).map(([uid, resources]) => [`${path} ${uid}`, JSON.stringify(resources)]);
  });
  return Object.fromEntries(entries);
}
