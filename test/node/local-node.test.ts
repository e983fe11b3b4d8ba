import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readdirSync, readFileSync, readlinkSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { systemClock } from "../../src/lib/base/clock.ts";
import { silentLogger } from "../../src/lib/base/logger.ts";
import { createMetrics } from "../../src/lib/base/metrics.ts";
import { createCriClient } from "../../src/lib/clients/cri/client.ts";
import type { CriClient, PodSandboxConfigInit } from "../../src/lib/clients/cri/cri.ts";
import { cleanUpNode } from "../../src/single-node/cleanup.ts";
import { nodeFiles } from "../../src/single-node/node-files.ts";
import { processesOfNode, readProcesses } from "../../src/single-node/processes.ts";
import { eventually } from "../contracts/eventually.ts";
import { leaks, ofNode, type Snapshot, snapshot } from "./leaks.ts";
import { describeOnContainerd } from "./on-containerd.ts";
import { type ContainerdVersion, startTestNode, type TestNode } from "./test-node.ts";

const namespaceModePod = 0;
const hostPort = { "1.6": 18_016, "2.x": 18_020 } as const;

function sandboxConfig(node: TestNode, name: string, hostPort = 0): PodSandboxConfigInit {
  return {
    metadata: { name, uid: `uid-${name}`, namespace: "default", attempt: 0 },
    hostname: name,
    logDirectory: join(node.logDir, name),
    portMappings: hostPort ? [{ protocol: 0, containerPort: 80, hostPort, hostIp: "" }] : [],
    linux: {
      cgroupParent: join(node.cgroupRoot, `pod-${name}`),
      securityContext: { namespaceOptions: { network: namespaceModePod, pid: namespaceModePod } },
    },
  };
}

function client(node: TestNode): CriClient {
  return createCriClient({
    runtimeEndpoint: node.endpoint,
    requestTimeoutMs: 30_000,
    logger: silentLogger,
    clock: systemClock,
    metrics: createMetrics(),
  });
}

/** Starts a pod with a host port and one container that sleeps. */
async function runPod(node: TestNode, cri: CriClient, name: string, hostPort = 0) {
  const config = sandboxConfig(node, name, hostPort);
  const sandbox = await cri.runPodSandbox(config, "");
  const container = await cri.createContainer(
    sandbox,
    {
      metadata: { name: "main", attempt: 0 },
      image: { image: node.images.busybox },
      command: ["sleep", "100000"],
      logPath: "main.log",
    },
    config,
  );
  await cri.startContainer(container);
  return { sandbox, container };
}

const natTable = async () => {
  const { run } = await import("../../src/single-node/run.ts");
  return run({ program: "/usr/sbin/iptables-save", options: [["-t", "nat"]] });
};

describeOnContainerd("a local node", (version) => {
  let node: TestNode;
  let cri: CriClient;
  let during: Snapshot | undefined;
  const first = snapshot();
  before(async () => {
    node = await startTestNode({ containerd: version });
    cri = client(node);
  });
  after(async () => {
    cri.close();
    await node.stop(); // throws if something remains
    assert.deepEqual(leaks(first, snapshot(), ofNode(nodeFiles(node.name), during)), []);
  });

  test("is the requested version", async () => {
    const { runtimeVersion } = await cri.version();
    assert.match(runtimeVersion, version === "1.6" ? /^v?1\.6\./ : /^v?2\./);
  });

  test("has a network and the pause, demo and busybox images", async () => {
    const { status } = await cri.status(false);
    assert.deepEqual(status?.conditions.map((c) => [c.type, c.status]).slice(0, 2), [
      ["RuntimeReady", true],
      ["NetworkReady", true],
    ]);
    for (const image of [node.images.pause, node.images.busybox, "localhost/kubelet-ts/demo:1"]) {
      assert.ok(await cri.imageStatus({ image }), image);
    }
  });

  test("runs a pod with an address of its subnet, in its cgroup, with its own network namespace", async () => {
    const { sandbox, container } = await runPod(node, cri, "one");
    const { status } = await cri.podSandboxStatus(sandbox);
    const [network] = node.podSubnet.split(".0/24");
    assert.ok(status?.network?.ip.startsWith(`${network}.`), `${status?.network?.ip} in ${node.podSubnet}`);
    const pid = (await node.ctr(["tasks", "list"])).match(`${container}\\s+(\\d+)`)?.[1];
    assert.match(readFileSync(`/proc/${pid}/cgroup`, "utf8"), new RegExp(`:${node.cgroupRoot}/pod-one/`));
    assert.ok(readdirSync("/sys/class/net").includes(nodeFiles(node.name).bridge));
    during = snapshot();
    await cri.stopPodSandbox(sandbox);
    await cri.removePodSandbox(sandbox);
  });

  test("keeps containers while containerd is stopped and started again", async () => {
    const { sandbox, container } = await runPod(node, cri, "stays");
    const pidOf = async () => (await node.ctr(["tasks", "list"])).match(`${container}\\s+(\\d+)`)?.[1];
    const pid = await pidOf();
    assert.ok(pid);
    await node.stopRuntime();
    assert.ok(existsSync(`/proc/${pid}`), "the container does not run without containerd");
    await node.startRuntime();
    assert.equal(await pidOf(), pid);
    // containerd 1.6 responds before its CRI plugin does.
    await eventually(() => cri.listPodSandboxes().catch(() => undefined));
    await cri.stopPodSandbox(sandbox);
    await cri.removePodSandbox(sandbox);
  });
});

describeOnContainerd("stopping a local node", (version) => {
  test("stops with pods still running, and leaves no process, mount, namespace, link, cgroup, rule or file", async (t) => {
    const first = snapshot();
    const node = await startTestNode({ containerd: version });
    t.after(() => node.stop());
    const cri = client(node);
    await runPod(node, cri, "left-one", hostPort[version]);
    await runPod(node, cri, "left-two");
    cri.close();
    const files = nodeFiles(node.name);
    const running = snapshot();
    const during = leaks(first, running, ofNode(files));
    for (const kind of ["processes", "mounts", "networkNamespaces", "links", "cgroups"] as const) {
      assert.ok(
        during.some((leak) => leak.kind === kind),
        `a running node shows ${kind}`,
      );
    }
    assert.match(await natTable(), new RegExp(files.network));
    await node.stop();
    assert.deepEqual(leaks(first, snapshot(), ofNode(files, running)), []);
    assert.doesNotMatch(await natTable(), new RegExp(files.network));
    assert.equal(existsSync(files.base) || existsSync(files.run) || existsSync(files.lock), false);
    const cached = existsSync("/var/lib/cni/results") ? readdirSync("/var/lib/cni/results") : [];
    assert.deepEqual(
      cached.filter((name) => name.startsWith(`${files.network}-`)),
      [],
    );
  });

  test("leaves no link, even if another mount namespace has a copy of the network namespaces of its pods", async (t) => {
    const first = snapshot();
    const node = await startTestNode({ containerd: version });
    t.after(() => node.stop());
    const cri = client(node);
    await runPod(node, cri, "held");
    cri.close();
    const running = snapshot();
    const files = nodeFiles(node.name);
    const ports = [...running.links].filter(([, bridge]) => bridge === files.bridge);
    assert.equal(ports.length, 1, "the pod has a link");
    // The process has private mounts, as with container engines: an unmount on the machine does not propagate to it.
    const holder = spawn("unshare", ["--mount", "--propagation=private", "sleep", "1000"], {
      stdio: "ignore",
    });
    try {
      const mountsOfHolder = () => readFileSync(`/proc/${holder.pid}/mountinfo`, "utf8");
      const isApart = () => readlinkSync(`/proc/${holder.pid}/ns/mnt`) !== readlinkSync("/proc/self/ns/mnt");
      await eventually(async () => (isApart() && mountsOfHolder().includes(files.run)) || undefined);
      await node.stop();
    } finally {
      holder.kill("SIGKILL");
    }
    assert.deepEqual(leaks(first, snapshot(), ofNode(files, running)), []);
  });

  test("is cleaned up by the next start after it, its containerd and one shim were killed", async () => {
    const first = snapshot();
    const name = await nodeOfKilledProcess(version);
    const files = nodeFiles(name);
    const alive = (kind: "shims" | "containers") =>
      processesOfNode(files, readProcesses(), process.pid)[kind].filter((p) => !p.zombie);
    process.kill(alive("shims")[0]!.pid, "SIGKILL");
    assert.ok(alive("containers").length >= 2, "containers outlive the process that started them");
    const during = snapshot();
    const node = await startTestNode({ containerd: version, name });
    const stillAlive = alive("containers");
    await node.stop();
    assert.deepEqual(stillAlive, []);
    assert.deepEqual(leaks(first, snapshot(), ofNode(files, during)), []);
  });
});

/** Starts a node with a pod in another process, which kills itself and its containerd when the pod runs. */
async function nodeOfKilledProcess(version: ContainerdVersion): Promise<string> {
  const child = spawn(process.execPath, [import.meta.filename.replace(/[^/]+$/, "killed-node.ts"), version], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  let output = "";
  child.stdout.on("data", (chunk) => {
    output += chunk;
  });
  const [, signal] = await once(child, "close");
  assert.equal(signal, "SIGKILL");
  return output.trim();
}

test("two nodes with one name do not run at the same time", {
  skip: process.getuid?.() === 0 ? false : "needs root",
}, async () => {
  const { lockNode } = await import("../../src/single-node/node-lock.ts");
  const files = nodeFiles(`t-${process.pid}-0`);
  const lock = await lockNode(files);
  try {
    await assert.rejects(lockNode(files), {
      code: "NodeInUse",
      message: new RegExp(`process ${process.pid}`),
    });
    assert.match(readFileSync(files.lock, "utf8"), new RegExp(`^${process.pid} \\d+$`));
  } finally {
    lock.release();
  }
  const report = await cleanUpNode(files, { keep: "nothing" });
  assert.deepEqual(report, { killed: 0, unmounted: 0, remaining: [] });
});
