// Runs on an isolated host: starts one kubelet with the observed pods, and prints what the node shows once they have settled. The argument
// is "ours" or "reference"; the reference kubelet is the executable that KUBELET_REFERENCE names.
import { execFileSync } from "node:child_process";
import { lstatSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { cgroupMounts, readMounts } from "../../../src/lib/host/mount-table.ts";
import { KillableApi } from "../../cluster/killable-api.ts";
import { AgentProcess, freePort, get } from "../../e2e/agent-process.ts";
import { waitFor } from "../../e2e/wait-for.ts";
import { CriProxy } from "../../faults/cri-proxy.ts";
import { startTestNode } from "../../node/test-node.ts";
import { addAddress, address } from "../isolated-kubelets-host.ts";
import { type Kind, Kubelets } from "../kubelet-kinds.ts";
import { criCall } from "./cri-calls.ts";
import type { CriCall, Observation } from "./kinds.ts";
import { isLimitFile, observedConfig, observeNode } from "./observed-node.ts";
import { observedNodeName } from "./observed-pods.ts";

const settledWithinMs = 120_000;

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
        if (!parent.startsWith("kubepods") || !isLimitFile(file)) return;
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
    lines.push(`${path} ${type} ${(at.mode & 0o777).toString(8)}`);
  });
  return lines;
}

async function main(kind: Kind): Promise<Observation> {
  addAddress();
  // As on a host with systemd: a pod has a volume that mounts of the host reach.
  execFileSync("mount", ["--make-rshared", "/"]);
  const node = await startTestNode({ containerd: "2.x" });
  const socket = node.endpoint.replace("unix://", "");
  // The Go kubelet's metrics look for containers here, whatever the endpoint of the CRI is.
  mkdirSync("/run/containerd", { recursive: true });
  symlinkSync(socket, "/run/containerd/containerd.sock");
  const proxy = await CriProxy.open(join(node.rootDir, "../cri.sock"), socket);
  const cri: CriCall[] = [];
  proxy.onCall = (method, request) => {
    const call = criCall(method, request);
    if (call) cri.push(call);
  };
  const api = await KillableApi.create(observedNodeName);
  api.start();
  const admin = await api.admin();
  const [port, readOnlyPort] = [await freePort(), await freePort()];
  const config = { ...observedConfig, port, readOnlyPort, containerRuntimeEndpoint: proxy.endpoint };
  const agent = await AgentProcess.create(node, config);
  const flags = [
    `--kubeconfig=${api.nodeKubeconfig}`,
    `--hostname-override=${observedNodeName}`,
    `--node-ip=${address}`,
    `--cert-dir=${join(node.rootDir, "pki")}`,
  ];
  const kubelets = new Kubelets(agent, flags, process.env.KUBELET_REFERENCE);
  const save = (program: string) => execFileSync(program, { encoding: "utf8" });
  const observation = await observeNode({
    get: (path) => admin.request({ method: "GET", path }),
    create: (path, body) => admin.request({ method: "POST", path, body }),
    placeManifest: (name, content) => writeFileSync(join(node.manifests, name), content),
    startKubelet: () => kubelets.start(kind),
    page: async (path) => {
      const response = await get({ host: "127.0.0.1", port: readOnlyPort, path });
      if (response?.status !== 200) throw new Error(`${path}: ${response?.status} ${response?.body}`);
      return response.body;
    },
    waitFor: (check) =>
      waitFor(check, settledWithinMs).catch((error: Error) => {
        throw new Error(`${error.message}\n${kubelets.log(kind).slice(-3000)}`, { cause: error });
      }),
    system: () => ({
      cgroups: cgroupLines(node.cgroupRoot),
      mounts: readFileSync("/proc/self/mountinfo", "utf8")
        .split("\n")
        .filter((line) => line.includes(` ${node.rootDir}/`)),
      files: fileLines(node.rootDir),
      iptables: [save("iptables-save"), save("ip6tables-save")],
      cri,
    }),
  });
  await kubelets.stop();
  await proxy.close();
  await agent.destroy();
  await api.destroy();
  return observation;
}

process.stdout.write(JSON.stringify(await main(process.argv[2] as Kind)));
