import assert from "node:assert/strict";
import { rmSync } from "node:fs";
import { hostname } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import type { PodRow } from "../../src/kubelet/explain/pod-overview.ts";
import type { ContainerId, CriClient } from "../../src/lib/clients/cri/cri.ts";
import { ContainerState } from "../../src/lib/gen/runtime/v1/api_pb.js";
import { AgentProcess, runtimeClient } from "../e2e/agent-process.ts";
import { podManifest, writeManifest } from "../e2e/manifests.ts";
import { waitFor } from "../e2e/wait-for.ts";
import { seededRandom } from "../faults/seeded-random.ts";
import { rounds } from "../long.ts";
import { describeOnContainerd } from "../node/on-containerd.ts";
import { type ContainerdVersion, startTestNode, type TestNode } from "../node/test-node.ts";
import { allocatable, checkpointed, podResources } from "./allocations.ts";
import { PluginProcess } from "./plugin-process.ts";

const gpu = "vendor.example/gpu";
const deviceIds = ["a", "b", "c", "d"];
const seed = Number(process.env.KILL_SEED ?? 20261117);
/** Each call to a plugin, and which process is killed in the middle of it. */
const methods = [
  "Allocate",
  "GetPreferredAllocation",
  "PreStartContainer",
  "GetDevicePluginOptions",
] as const;
const victims = ["agent", "plugin", "both"] as const;

/**
 * Agent and plugin are killed in the middle of a call, while static pods are added and removed. When both are back, each pod runs with as
 * many devices as it requests or was rejected, and checkpoint, PodResources and containers have the same devices, none of them twice.
 */
function killRounds(version: ContainerdVersion, count: number): void {
  let node: TestNode;
  let agent: AgentProcess;
  let plugin: PluginProcess;
  let runtime: CriClient;
  const random = seededRandom(seed);
  /** The number of devices by pod. */
  const desired = new Map<string, number>();
  let added = 0;
  /** By pod, of the previous round. */
  let ran = new Map<string, string>();

  before(async () => {
    node = await startTestNode({ containerd: version });
    agent = await AgentProcess.create(node);
    runtime = runtimeClient(node.endpoint);
    const options = {
      resource: gpu,
      stateDir: join(node.rootDir, "../gpu"),
      dir: join(node.rootDir, "device-plugins"),
    };
    plugin = new PluginProcess(options, {
      devices: deviceIds.map((id) => ({ id })),
      preStart: true,
      preferred: true,
    });
    agent.start();
    await plugin.start();
    await waitFor(async () => assert.equal((await plugin.calls("ListAndWatch")).length, 1));
  });
  after(async () => {
    runtime?.close();
    await plugin?.kill();
    await agent?.destroy();
  });

  test("allocations are exact after every kill", async (t) => {
    for (let round = 0; round < count; round++) {
      const method = methods[round % methods.length] ?? "Allocate";
      const victim =
        victims[Math.floor(round / methods.length + random.below(3)) % victims.length] ?? "agent";
      try {
        await killDuring(method, victim);
        const rows = await settled();
        const ids = await containerIds();
        for (const row of rows)
          assert.ok(
            !ran.has(row.name) || ids.get(row.name) === ran.get(row.name),
            `${row.name} was restarted`,
          );
        ran = ids;
        for (const row of rows.filter(({ phase }) => phase === "Failed")) remove(nameOf(row));
      } catch (error) {
        t.diagnostic(`round ${round}: ${victim} killed in ${method}, seed ${seed}`);
        t.diagnostic(agent.log().split("\n").slice(-40).join("\n"));
        throw error;
      }
    }
  });

  /** Kills in the middle of the call, and starts what was killed again. */
  async function killDuring(
    method: (typeof methods)[number],
    victim: (typeof victims)[number],
  ): Promise<void> {
    const calls = (await plugin.calls(method)).length;
    if (method === "GetDevicePluginOptions") await plugin.kill();
    await plugin.configure({ faults: { [method]: "hang" } });
    if (desired.size > 0 && (free() === 0 || random.below(2) === 0))
      remove([...desired.keys()][random.below(desired.size)] ?? "");
    if (!plugin.isRunning) await plugin.start();
    add(1 + random.below(Math.max(1, Math.min(2, free()))));
    await waitFor(async () =>
      assert.ok((await plugin.calls(method)).length > calls, `${method} was not called`),
    );
    if (random.below(2) === 0) add(1);
    if (victim !== "plugin") await agent.end("SIGKILL");
    if (victim !== "agent") await plugin.kill();
    await plugin.configure({ faults: {} });
    if (victim !== "plugin") agent.start();
    // A plugin that still waits for the response to its registration would not notice another socket.
    if (method === "GetDevicePluginOptions") await plugin.kill();
    if (!plugin.isRunning) await plugin.start();
  }

  /** All pods run or were rejected, and all records of their devices agree. */
  async function settled(): Promise<PodRow[]> {
    return waitFor(async () => {
      const rows = (await agent.pods()) ?? [];
      assert.deepEqual(new Set(rows.map(nameOf)), new Set(desired.keys()), "pods");
      for (const { name, phase, ready, blockedOn } of rows)
        assert.ok(
          phase === "Failed" || (phase === "Running" && ready === "1/1"),
          `${name} is ${phase}: ${blockedOn}`,
        );
      // Pods of the next round would be rejected while a plugin that was started again has not listed its devices.
      assert.deepEqual(await allocatable(node.rootDir), deviceIds, "healthy devices");
      const running = rows.filter(({ phase }) => phase === "Running");
      const given = await inContainers();
      const named = (uid: string) => rows.find((row) => row.uid === uid)?.name ?? uid;
      assert.deepEqual(await podResources(node.rootDir), given, "PodResources");
      assert.deepEqual(await checkpointed(node.rootDir, named), given, "the checkpoint");
      assert.equal(Object.keys(given).length, running.length, "containers with devices");
      for (const row of running)
        assert.equal(given[`${row.name}/c/${gpu}`]?.split(",").length, desired.get(nameOf(row)), row.name);
      const used = Object.values(given).flatMap((list) => list.split(","));
      assert.equal(new Set(used).size, used.length, `a device has two owners: ${JSON.stringify(given)}`);
      return rows;
    });
  }

  async function containerIds(): Promise<Map<string, string>> {
    const containers = await runtime.listContainers({ state: { state: ContainerState.CONTAINER_RUNNING } });
    return new Map(containers.map(({ id, labels }) => [labels["io.kubernetes.pod.name"] ?? "", id]));
  }

  /** The devices that the containers have. */
  async function inContainers(): Promise<Record<string, string>> {
    const containers = await runtime.listContainers({ state: { state: ContainerState.CONTAINER_RUNNING } });
    const pairs = await Promise.all(
      containers.map(async ({ id, labels }) => {
        const command = ["sh", "-c", "echo $GPU_DEVICES; ls /dev"];
        const { stdout } = await runtime.execSync(id as ContainerId, command, 30);
        const [list = "", ...nodes] = Buffer.from(stdout).toString().trim().split("\n");
        const found = nodes.flatMap((name) => /^gpu-(.*)$/.exec(name)?.[1] ?? []);
        const sorted = list.split(",").sort((a, b) => (a < b ? -1 : 1));
        assert.deepEqual(found, sorted, "environment and devices");
        return [`${labels["io.kubernetes.pod.name"]}/c/${gpu}`, sorted.join()] as const;
      }),
    );
    return Object.fromEntries(pairs.sort(([a], [b]) => (a < b ? -1 : 1)));
  }

  function free(): number {
    return deviceIds.length - [...desired.values()].reduce((sum, n) => sum + n, 0);
  }

  function add(devices: number): void {
    const name = `p${added++}`;
    desired.set(name, devices);
    const container = { name: "c", resources: { limits: { [gpu]: String(devices) } } };
    writeManifest(
      node.manifests,
      `${name}.json`,
      podManifest(name, { hostNetwork: true, containers: [container] }),
    );
  }

  function remove(name: string): void {
    desired.delete(name);
    rmSync(join(node.manifests, `${name}.json`), { force: true });
  }
}

/** The name in the manifest. */
function nameOf({ name }: PodRow): string {
  return name.slice(0, -hostname().length - 1);
}

for (const sizes of rounds("DEVICE_ROUNDS", 4, 30))
  describeOnContainerd(
    "device plugins that are killed",
    // Half of them on older versions: what is tested depends little on the runtime.
    (version) => killRounds(version, sizes.isLong && version !== "2.x" ? sizes.count / 2 : sizes.count),
    sizes,
  );
