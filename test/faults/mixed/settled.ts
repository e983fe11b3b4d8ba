import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";
import type { SandboxId } from "../../../src/lib/clients/cri/cri.ts";
import { ContainerState, PodSandboxState } from "../../../src/lib/gen/runtime/v1/api_pb.js";
import { readMounts } from "../../../src/lib/host/mount-table.ts";
import type { Pod } from "../../../src/lib/model/pod.ts";
import { nodeName } from "../../cluster/cluster-node.ts";
import { podsPath } from "../../cluster/node-with-api.ts";
import { cgroupDirs } from "../../e2e/agent-process.ts";
import { snapshot } from "../../node/leaks.ts";
import type { FaultNode } from "./fault-node.ts";
import { runningOf, settings } from "./pod-kinds.ts";
import type { Workload } from "./workload.ts";

/** A pod in the runtime. */
interface Sandbox {
  readonly id: string;
  readonly uid: string;
  readonly name: string;
  readonly ready: boolean;
  readonly note: string | undefined;
}

const uidPattern = /\b([0-9a-f]{32}|[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12})\b/g;
const checkpoints = [
  "allocated_pods_state",
  "actuated_pods_state",
  "resizing_pods_state",
  "probe-results.json",
];
const sorted = (texts: Iterable<string>) => [...texts].sort((a, b) => (a < b ? -1 : 1));

/** Throws unless the node, the runtime and the API server have exactly what is desired, and nothing of any other pod. */
export async function assertSettled(node: FaultNode, workload: Workload): Promise<void> {
  const { items } = await node.apiNode.get<{ items: Pod[] }>(podsPath);
  const mirrors = [...workload.statics.keys()].map((name) => `${name}-${nodeName}`);
  const names = sorted([...workload.pods.keys(), ...mirrors]);
  assert.deepEqual(sorted(items.map(({ metadata }) => metadata.name)), names, "pods in the API");
  const sandboxes = await sandboxesOf(node);
  const uids = new Set(sandboxes.filter(({ name }) => names.includes(name)).map(({ uid }) => uid));
  const running = sandboxes.filter(({ ready }) => ready);
  const lasting = [...workload.pods].filter(([, kind]) => kind !== "completing").map(([name]) => name);
  assert.deepEqual(
    sorted(running.map(({ name }) => name)),
    sorted([...lasting, ...mirrors]),
    "ready sandboxes",
  );
  for (const pod of items) await assertTrue(node, workload, pod, sandboxes);
  // Completed pods have no sandbox if it failed before they were started.
  for (const { metadata } of items)
    if (!metadata.annotations?.["kubernetes.io/config.mirror"]) uids.add(metadata.uid);
  const others = sandboxes.filter(({ uid }) => !uids.has(uid));
  assert.deepEqual(others, [], "sandboxes of pods that are gone");
  assertNothingElse(node, uids, running);
}

async function sandboxesOf(node: FaultNode): Promise<Sandbox[]> {
  const found = await node.apiNode.runtime.listPodSandboxes();
  return found.map(({ id, metadata, state, labels }) => ({
    id,
    uid: metadata?.uid ?? "",
    name: metadata?.name ?? "",
    note: labels.note,
    ready: state === PodSandboxState.SANDBOX_READY,
  }));
}

/** Its status in the API server matches the runtime, where each of its containers runs once. */
async function assertTrue(
  node: FaultNode,
  workload: Workload,
  pod: Pod,
  sandboxes: Sandbox[],
): Promise<void> {
  const { metadata, status } = pod;
  const { name } = metadata;
  const staticPod = workload.statics.get(name.replace(`-${nodeName}`, ""));
  const kind = workload.pods.get(name) ?? staticPod!.kind;
  const shown = `${name}: ${JSON.stringify(status)}`;
  const containers = await node.apiNode.runtime.listContainers({
    labelSelector: { "io.kubernetes.pod.name": name },
  });
  const running = containers.filter(({ state }) => state === ContainerState.CONTAINER_RUNNING);
  const inRuntime = running.map(
    ({ id, labels }) => `${labels["io.kubernetes.container.name"]} containerd://${id}`,
  );
  const statuses = [...(status?.initContainerStatuses ?? []), ...(status?.containerStatuses ?? [])];
  const reported = statuses.filter(({ state }) => state?.running);
  assert.deepEqual(
    sorted(running.map(({ labels }) => labels["io.kubernetes.container.name"] ?? "")),
    runningOf(kind),
    `running containers of ${shown}`,
  );
  assert.deepEqual(
    sorted(reported.map((one) => `${one.name} ${one.containerID}`)),
    sorted(inRuntime),
    `containers in the status of ${shown}`,
  );
  if (kind === "completing") return assert.match(status?.phase ?? "", /^(Succeeded|Failed)$/, shown);
  assert.equal(status?.phase, "Running", shown);
  assert.ok(
    status?.containerStatuses?.every(({ ready }) => ready),
    shown,
  );
  const own = sandboxes.find((sandbox) => sandbox.name === name && sandbox.ready)!;
  for (const { podSandboxId } of running) assert.equal(podSandboxId, own.id, `sandbox of ${shown}`);
  const inspected = await node.apiNode.runtime.podSandboxStatus(own.id as SandboxId);
  assert.equal(status?.podIP, inspected.status?.network?.ip, `address of ${shown}`);
  if (staticPod) {
    assert.equal(metadata.labels?.note, staticPod.note, `version of the mirror ${name}`);
    assert.equal(own.note, staticPod.note, `version of ${name}`);
  }
  if (kind === "config") {
    const volume = join(
      node.apiNode.node.rootDir,
      "pods",
      own.uid,
      "volumes/kubernetes.io~configmap",
      settings,
    );
    assert.equal(readFileSync(join(volume, "n"), "utf8"), workload.setting, `ConfigMap of ${name}`);
  }
}

/** Nothing on the node belongs to pods other than these. */
function assertNothingElse(node: FaultNode, uids: ReadonlySet<string>, running: readonly Sandbox[]): void {
  const { rootDir, logDir, cgroupRoot } = node.apiNode.node;
  const foreign = (texts: Iterable<string>) =>
    [...texts].filter((text) => [...text.matchAll(uidPattern)].some(([uid]) => !uids.has(uid)));
  assert.deepEqual(foreign(namesIn(join(rootDir, "pods"))), [], "pod directories");
  assert.deepEqual(foreign(namesIn(logDir)), [], "log directories");
  assert.deepEqual(foreign(node.apiNode.agent.links().filter((link) => !existsSync(link))), [], "log links");
  const mounts = readMounts();
  const below = mounts.filter(({ path }) => path.startsWith(`${rootDir}/pods/`)).map(({ path }) => path);
  assert.deepEqual(foreign(below.map((path) => path.slice(rootDir.length))), [], "mounts");
  const cgroups = ["", "/besteffort", "/burstable"]
    .flatMap((qos) => cgroupDirs(`${cgroupRoot}/kubepods${qos}`))
    .map((dir) => /^pod(.*)$/.exec(basename(dir))?.[1])
    .filter((uid) => uid !== undefined);
  assert.deepEqual(sorted(new Set(cgroups)), sorted(running.map(({ uid }) => uid)), "cgroups");
  const namespaces = mounts.filter(
    ({ path, fsType }) => fsType === "nsfs" && path.startsWith(`${node.files.run}/`),
  );
  assert.equal(
    namespaces.length,
    running.length,
    `network namespaces: ${namespaces.map((m) => m.path).join()}`,
  );
  const ports = [...snapshot().links].filter(([, bridge]) => bridge === node.files.bridge);
  assert.equal(ports.length, running.length, "ports of the bridge");
  const addresses = namesIn(join(node.files.cni.ipam, node.files.network)).filter((name) =>
    /^[\d.]+$/.test(name),
  );
  assert.equal(addresses.length, running.length, `addresses: ${addresses.join()}`);
}

/** The agent's records have entries of existing pods only. An entry of a deleted pod may remain until the next pod is admitted. */
export async function assertRecordsSettled(node: FaultNode): Promise<void> {
  const uids = new Set((await sandboxesOf(node)).map(({ uid }) => uid));
  for (const name of checkpoints) {
    const file = join(node.apiNode.node.rootDir, name);
    const found = existsSync(file) ? readFileSync(file, "utf8").match(uidPattern) : undefined;
    assert.deepEqual(
      (found ?? []).filter((uid) => !uids.has(uid)),
      [],
      name,
    );
  }
}

function namesIn(dir: string): string[] {
  return existsSync(dir) ? readdirSync(dir) : [];
}
