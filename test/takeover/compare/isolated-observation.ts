// Runs on an isolated host: starts one kubelet with the recorded pods, and prints what the node shows once they have settled. The argument
// is "ours" or "reference"; the reference kubelet is the executable that KUBELET_REFERENCE names.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { lstatSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fromBinary, toJson } from "@bufbuild/protobuf";
import { ImageService, RuntimeService } from "../../../src/lib/gen/runtime/v1/api_pb.js";
import { cgroupMounts, readMounts } from "../../../src/lib/host/mount-table.ts";
import type { Pod } from "../../../src/lib/model/pod.ts";
import type { Summary } from "../../../src/lib/model/stats-summary.ts";
import { KillableApi } from "../../cluster/killable-api.ts";
import { AgentProcess, freePort, get } from "../../e2e/agent-process.ts";
import { waitFor } from "../../e2e/wait-for.ts";
import { CriProxy } from "../../faults/cri-proxy.ts";
import { busyboxName, startTestNode } from "../../node/test-node.ts";
import { addAddress, address } from "../isolated-kubelets-host.ts";
import { type Kind, Kubelets } from "../kubelet-kinds.ts";
import type { Json } from "./facts.ts";
import type { CriCall, Observation } from "./kinds.ts";
import { observedNode, observedPods, phases } from "./observed-pods.ts";

const namespace = "/api/v1/namespaces/default";
const endpoints = ["/metrics", "/metrics/cadvisor", "/metrics/resource", "/metrics/probes"];
/** Interface files with limits, of cgroup v1 and v2. */
const limits =
  /^(?:cpu\.(?:shares|cfs_(?:quota|period)_us|weight|max|idle)|memory\.(?:(?:memsw\.)?limit_in_bytes|max|min|low|high|swap\.max|oom\.group)|pids\.max|cpuset\.(?:cpus|mems)|hugetlb\..*(?:max|limit_in_bytes))$/;

const config = {
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

function recordCalls(proxy: CriProxy): CriCall[] {
  const calls: CriCall[] = [];
  const methods = [...RuntimeService.methods, ...ImageService.methods];
  proxy.onCall = (method, request) => {
    const input = methods.find(({ name }) => name === method)?.input;
    // Behind the five bytes of gRPC's framing.
    if (input && /^(?:RunPodSandbox|CreateContainer)$/.test(method))
      calls.push({ method, request: toJson(input, fromBinary(input, request.subarray(5))) as Json });
  };
  return calls;
}

function walk(dir: string, visit: (path: string) => void, path = ""): void {
  for (const name of readdirSync(join(dir, path)).sort()) {
    const child = path === "" ? name : `${path}/${name}`;
    visit(child);
    if (lstatSync(join(dir, child)).isDirectory()) walk(dir, visit, child);
  }
}

function cgroupLines(root: string): string[] {
  const lines: string[] = [];
  for (const mount of cgroupMounts(readMounts())) {
    const dir = join(mount, root);
    try {
      walk(dir, (path) => {
        const [, parent = "", file = ""] = /^(?:(.*)\/)?([^/]+)$/.exec(path) ?? [];
        if (!parent.startsWith("kubepods") || !limits.test(file)) return;
        lines.push(`${parent} ${file} ${readFileSync(join(dir, path), "utf8").trim()}`);
      });
    } catch {
      // a hierarchy without this cgroup, or a container that has ended
    }
  }
  return lines;
}

function fileLines(rootDir: string): string[] {
  const lines: string[] = [];
  walk(rootDir, (path) => {
    const at = lstatSync(join(rootDir, path));
    const type = at.isDirectory() ? "directory" : at.isSocket() ? "socket" : "file";
    if (path.split("/").length <= 5) lines.push(`${path} ${type} ${(at.mode & 0o777).toString(8)}`);
  });
  return lines;
}

/** Rates need two samples, and volumes are measured at intervals. */
function isMeasured({ metadata, spec, status }: Pod, summary: Summary): void {
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
  const volumes = (spec.volumes ?? []).filter((volume) => !volume.hostPath);
  assert.equal(found.volume?.length ?? 0, volumes.length, `volumes of ${metadata.name}`);
}

async function main(kind: Kind): Promise<Observation> {
  addAddress();
  // As on a host with systemd: a pod has a volume that mounts of the host reach.
  execFileSync("mount", ["--make-rshared", "/"]);
  const node = await startTestNode({ containerd: "2.x" });
  const proxy = await CriProxy.open(join(node.rootDir, "../cri.sock"), node.endpoint.replace("unix://", ""));
  const calls = recordCalls(proxy);
  const api = await KillableApi.create(observedNode);
  api.start();
  const admin = await api.admin();
  const read = <T>(path: string) => admin.request<T>({ method: "GET", path });
  const create = (path: string, body: object) => admin.request({ method: "POST", path, body });
  await waitFor(() => read(`${namespace}/serviceaccounts/default`));
  const object = (type: string, name: string) => ({ apiVersion: "v1", kind: type, metadata: { name } });
  await create(`${namespace}/configmaps`, { ...object("ConfigMap", "cm"), data: { foo: "bar" } });
  await create(`${namespace}/secrets`, { ...object("Secret", "sec"), stringData: { k: "v" } });
  const { pods, manifest } = observedPods(busyboxName);
  for (const pod of pods) await create(`${namespace}/pods`, pod);
  const [port, readOnlyPort] = [await freePort(), await freePort()];
  const more = { ...config, port, readOnlyPort, containerRuntimeEndpoint: proxy.endpoint };
  const agent = await AgentProcess.create(node, more);
  writeFileSync(join(node.manifests, "static.json"), JSON.stringify(manifest));
  const flags = [
    `--kubeconfig=${api.nodeKubeconfig}`,
    `--hostname-override=${observedNode}`,
    `--node-ip=${address}`,
    `--cert-dir=${join(node.rootDir, "pki")}`,
  ];
  const kubelets = new Kubelets(agent, flags, process.env.KUBELET_REFERENCE);
  await kubelets.start(kind);
  const page = async (path: string) => {
    const response = await get({ host: "127.0.0.1", port: readOnlyPort, path });
    if (response?.status !== 200) throw new Error(`${path}: ${response?.status} ${response?.body}`);
    return response.body;
  };
  const observation = await waitFor(async () => {
    const { items } = await read<{ items: Pod[] }>("/api/v1/pods");
    assert.deepEqual(phases(items), phases(), kubelets.log(kind).slice(-3000));
    const summary = JSON.parse(await page("/stats/summary")) as Summary;
    for (const pod of items) if (pod.status?.phase === "Running") isMeasured(pod, summary);
    assert.ok(summary.node.cpu?.usageNanoCores !== undefined, "the node has no statistics yet");
    const { items: nodes } = await read<{ items: Json[] }>("/api/v1/nodes");
    const { items: events } = await read<{ items: Observation["events"] }>("/api/v1/events");
    return {
      node: nodes[0]!,
      pods: items as unknown as Json[],
      events,
      summary: summary as unknown as Json,
      metrics: Object.fromEntries(
        await Promise.all(endpoints.map(async (path) => [path, await page(path)] as const)),
      ),
    };
  }, 120_000);
  const save = (program: string) => execFileSync(program, { encoding: "utf8" });
  const report: Observation = {
    ...observation,
    cgroups: cgroupLines(node.cgroupRoot),
    mounts: readFileSync("/proc/self/mountinfo", "utf8")
      .split("\n")
      .filter((line) => line.includes(` ${node.rootDir}/`)),
    files: fileLines(node.rootDir),
    iptables: [save("iptables-save"), save("ip6tables-save")],
    cri: calls,
  };
  await kubelets.stop();
  await proxy.close();
  await agent.destroy();
  await api.destroy();
  return report;
}

process.stdout.write(JSON.stringify(await main(process.argv[2] as Kind)));
