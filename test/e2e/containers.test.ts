import assert from "node:assert/strict";
import { existsSync, readFileSync, realpathSync, rmSync } from "node:fs";
import { join } from "node:path";
import { after, afterEach, before, test } from "node:test";
import type { PodRow } from "../../src/kubelet/explain/pod-overview.ts";
import type { ContainerId, CriClient } from "../../src/lib/clients/cri/cri.ts";
import { describeOnContainerd } from "../node/on-containerd.ts";
import { startTestNode, type TestNode } from "../node/test-node.ts";
import { containerIdOf, containerOf, podsOf } from "./agent-pods.ts";
import { AgentProcess, cgroupFile, freePort, get, runtimeClient } from "./agent-process.ts";
import { type PodSpecInit, podManifest, writeManifest } from "./manifests.ts";
import { waitFor } from "./wait-for.ts";

const sh = (script: string) => ["sh", "-c", script];

describeOnContainerd("containers of a pod", (version) => {
  let node: TestNode;
  let agent: AgentProcess;
  let runtime: CriClient;
  let pods: ReturnType<typeof podsOf>;
  const placed: string[] = [];

  before(async () => {
    node = await startTestNode({ containerd: version });
    agent = await AgentProcess.create(node, {
      featureGates: { KubeletCrashLoopBackOffMax: true },
      crashLoopBackOff: { maxContainerRestartPeriod: "1s" },
    });
    pods = podsOf(agent);
    runtime = runtimeClient(node.endpoint);
    agent.start();
  });

  after(async () => {
    runtime?.close();
    await agent?.destroy();
  });

  afterEach(() => {
    for (const file of placed.splice(0)) rmSync(join(node.manifests, file));
  });

  function run(name: string, spec: PodSpecInit): void {
    placed.push(`${name}.json`);
    writeManifest(node.manifests, `${name}.json`, podManifest(name, spec));
  }

  const containersOf = async (row: PodRow, name: string) =>
    (await runtime.listContainers()).filter(
      (c) => c.labels["io.kubernetes.pod.uid"] === row.uid && c.metadata?.name === name,
    );

  const statusOf = async (id: string) => (await runtime.containerStatus(id as ContainerId)).status!;

  test("a container that exits is restarted with back-off; attempts increase and one dead container is kept", async () => {
    run("crash", { containers: [{ name: "c", command: sh("exit 3") }] });
    const waiting = await pods.waitForPod("crash", (row) => {
      const { state } = containerOf(row);
      assert.equal(state?.waiting?.reason, "CrashLoopBackOff");
      assert.match(row.blockedOn, /^back-off 1s until \S+ before restarting c$/);
    });
    assert.match(
      containerOf(waiting).state?.waiting?.message ?? "",
      new RegExp(
        `^back-off 1s restarting failed container=c pod=${waiting.name}_default\\(${waiting.uid}\\)$`,
      ),
    );
    assert.equal(containerOf(waiting).lastState?.terminated?.exitCode, 3);
    const row = await pods.waitForPod("crash", (row) =>
      assert.ok(row.restarts >= 3, `${row.restarts} restarts`),
    );
    assert.equal(row.phase, "Running");
    await waitFor(async () => {
      const all = await containersOf(row, "c");
      assert.equal(all.length, 1, "more than the last dead container was kept");
      assert.ok(all[0]!.metadata!.attempt >= 3);
    });
  });

  test("a container with restartPolicy Never is not restarted, and its pod succeeds or fails with it", async () => {
    run("ends-well", { restartPolicy: "Never", containers: [{ name: "c", command: sh("exit 0") }] });
    run("ends-badly", {
      restartPolicy: "Never",
      containers: [
        { name: "c", command: sh("exit 7") },
        { name: "good", command: sh("exit 0") },
      ],
    });
    const well = await pods.inPhase("ends-well", "Succeeded");
    assert.equal(containerOf(well).state?.terminated?.reason, "Completed");
    const badly = await pods.inPhase("ends-badly", "Failed");
    assert.equal(containerOf(badly).state?.terminated?.exitCode, 7);
    assert.equal(containerOf(badly).state?.terminated?.reason, "Error");
    assert.equal(badly.restarts, 0);
    assert.equal((await containersOf(badly, "c")).length, 1);
  });

  test("a container with restartPolicy OnFailure is restarted until it succeeds", async () => {
    // /dev/shm belongs to the sandbox, and keeps its files when a container is restarted.
    run("retries", {
      restartPolicy: "OnFailure",
      containers: [{ name: "c", command: sh("test -e /dev/shm/ran || { touch /dev/shm/ran; exit 1; }") }],
    });
    run("once", { restartPolicy: "OnFailure", containers: [{ name: "c", command: sh("exit 0") }] });
    const row = await pods.inPhase("retries", "Succeeded");
    assert.equal(row.restarts, 1);
    assert.equal(containerOf(row).state?.terminated?.exitCode, 0);
    assert.equal((await pods.inPhase("once", "Succeeded")).restarts, 0);
  });

  test("init containers run one at a time, before the regular containers", async () => {
    run("inits", {
      initContainers: [
        { name: "one", command: sh("sleep 1.5") },
        { name: "two", command: sh("exit 0") },
      ],
      containers: [{ name: "c" }],
    });
    await pods.waitForPod("inits", (row) =>
      assert.equal(row.blockedOn, "waiting for init container one to complete"),
    );
    const row = await pods.running("inits");
    const [one, two, main] = await Promise.all(
      ["one", "two", "c"].map((name) => statusOf(containerIdOf(row, name))),
    );
    assert.ok(
      one!.finishedAt > 0n && one!.finishedAt <= two!.startedAt,
      "the second init container started before the first completed",
    );
    assert.ok(
      two!.finishedAt > 0n && two!.finishedAt <= main!.startedAt,
      "the main container started before the init containers completed",
    );
    await pods.waitForPod("inits", (row) => assert.equal(row.blockedOn, ""));
  });

  test("an init container that fails is retried, or fails its pod with restartPolicy Never", async () => {
    run("init-never", {
      restartPolicy: "Never",
      initContainers: [{ name: "one", command: sh("exit 4") }],
      containers: [{ name: "c" }],
    });
    run("init-again", {
      initContainers: [{ name: "one", command: sh("exit 4") }],
      containers: [{ name: "c" }],
    });
    const failed = await pods.inPhase("init-never", "Failed");
    assert.equal(containerOf(failed, "one").state?.terminated?.exitCode, 4);
    assert.equal((await containersOf(failed, "c")).length, 0);
    const pending = await pods.waitForPod("init-again", (row) =>
      assert.ok(containerOf(row, "one").restartCount >= 1, "the init container was not retried"),
    );
    assert.equal(pending.phase, "Pending");
    assert.equal((await containersOf(pending, "c")).length, 0);
  });

  test("a sidecar starts before the regular containers, is restarted, and is stopped after they have terminated", async () => {
    run("helped", {
      restartPolicy: "Never",
      initContainers: [{ name: "side", restartPolicy: "Always" }],
      containers: [{ name: "c" }],
    });
    const row = await pods.waitForPod("helped", (row) => {
      assert.equal(row.phase, "Running");
      assert.ok(containerOf(row, "side").state?.running);
      assert.ok(containerOf(row).state?.running);
    });
    const [side, main] = [await statusOf(containerIdOf(row, "side")), await statusOf(containerIdOf(row))];
    assert.ok(side.startedAt <= main.startedAt);
    const tasks = await node.ctr(["tasks", "list"]);
    const pidOf = (id: string) => Number(tasks.match(`${id}\\s+(\\d+)`)?.[1]);
    process.kill(pidOf(side.id), "SIGKILL");
    await pods.waitForPod("helped", (row) => {
      assert.equal(containerOf(row, "side").restartCount, 1);
      assert.ok(containerOf(row, "side").state?.running);
    });
    process.kill(pidOf(main.id), "SIGTERM");
    const terminated = await pods.inPhase("helped", "Succeeded");
    await waitFor(async () => {
      const left = await runtime.listContainers({ state: { state: 1 } });
      assert.equal(left.filter((c) => c.labels["io.kubernetes.pod.uid"] === terminated.uid).length, 0);
    });
  });

  test("a missing image is reported by its container, and the other containers of the pod run", async () => {
    run("imageless", {
      containers: [{ name: "c", image: "localhost/no/such:1" }, { name: "other" }],
    });
    const message = 'Container image "localhost/no/such:1" is not present with pull policy of Never';
    const row = await pods.waitForPod("imageless", (row) => {
      assert.deepEqual(containerOf(row).state, { waiting: { reason: "ErrImageNeverPull", message } });
      assert.equal(row.blockedOn, message);
      assert.ok(containerOf(row, "other").state?.running);
    });
    assert.equal(row.phase, "Pending");
    assert.equal(row.ready, "1/2");
  });

  test("the cgroups of a pod and its containers have the limits of the spec", async () => {
    const limits = { cpu: "200m", memory: "64Mi" };
    run("limited", {
      containers: [
        { name: "c", resources: { requests: { cpu: "100m", memory: "32Mi" }, limits } },
        { name: "other", resources: { requests: { cpu: "50m" }, limits } },
      ],
    });
    run("guaranteed", { containers: [{ name: "c", resources: { limits } }] });
    const limited = await pods.running("limited");
    const guaranteed = await pods.running("guaranteed");
    assert.deepEqual([limited.status?.qosClass, guaranteed.status?.qosClass], ["Burstable", "Guaranteed"]);
    const mebi = 1024 * 1024;
    const pod = `${node.cgroupRoot}/kubepods/burstable/pod${limited.uid}`;
    assert.deepEqual(limitsIn(pod), { memory: 128 * mebi, quota: 40_000, weight: weightOf(150) });
    assert.deepEqual(limitsIn(`${pod}/${containerIdOf(limited)}`), {
      memory: 64 * mebi,
      quota: 20_000,
      weight: weightOf(100),
    });
    const own = `${node.cgroupRoot}/kubepods/pod${guaranteed.uid}`;
    assert.deepEqual(limitsIn(own), { memory: 64 * mebi, quota: 20_000, weight: weightOf(200) });
  });

  test("logs have the CRI format, and the symlink for log collectors points to them", async () => {
    run("talks", {
      restartPolicy: "Never",
      containers: [{ name: "c", command: sh("echo out; echo err >&2; printf half") }],
    });
    const row = await pods.inPhase("talks", "Succeeded");
    const file = join(node.logDir, `default_${row.name}_${row.uid}`, "c", "0.log");
    const time = String.raw`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+(?:Z|[+-]\d\d:\d\d)`;
    await waitFor(() => {
      const text = readFileSync(file, "utf8");
      assert.match(text, new RegExp(`^${time} stdout F out$`, "m"));
      assert.match(text, new RegExp(`^${time} stderr F err$`, "m"));
      assert.match(text, new RegExp(`^${time} stdout P half$`, "m"));
    });
    const link = `/var/log/containers/${row.name}_default_c-${containerIdOf(row)}.log`;
    assert.ok(existsSync(link), `${link} is missing`);
    assert.equal(realpathSync(link), realpathSync(file));
  });

  test("a host port is forwarded to the container", async () => {
    const hostPort = await freePort();
    run("web", {
      containers: [
        {
          name: "c",
          command: sh("mkdir /tmp/w; echo hello > /tmp/w/index.html; exec httpd -f -p 8080 -h /tmp/w"),
          ports: [{ containerPort: 8080, hostPort }],
        },
      ],
    });
    const row = await pods.running("web");
    const bridge = row.ip.replace(/\d+$/, "1");
    await waitFor(async () => {
      const direct = await get({ host: row.ip, port: 8080, path: "/" });
      assert.equal(direct?.body, "hello\n");
    });
    await waitFor(async () => {
      const mapped = await get({ host: bridge, port: hostPort, path: "/" });
      assert.equal(mapped?.body, "hello\n");
    });
  });
});

/** cgroup v1 has a file for each; in cgroup v2 quota and period share one, and the weight has another scale. */
function limitsIn(cgroup: string): { memory: number; quota: number; weight: number } {
  const memory = cgroupFile(cgroup, "memory.limit_in_bytes") ?? cgroupFile(cgroup, "memory.max");
  const quota = cgroupFile(cgroup, "cpu.cfs_quota_us") ?? cgroupFile(cgroup, "cpu.max")?.split(" ")[0];
  const weight = cgroupFile(cgroup, "cpu.shares") ?? cgroupFile(cgroup, "cpu.weight");
  return { memory: Number(memory), quota: Number(quota), weight: Number(weight) };
}

function weightOf(milliCpu: number): number {
  const shares = Math.floor((milliCpu * 1024) / 1000);
  const isUnified = existsSync("/sys/fs/cgroup/cgroup.controllers");
  return isUnified ? Math.floor(1 + ((shares - 2) * 9999) / 262142) : shares;
}
