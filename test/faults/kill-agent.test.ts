import assert from "node:assert/strict";
import { readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import type { CriClient } from "../../src/lib/clients/cri/cri.ts";
import { ContainerState, PodSandboxState } from "../../src/lib/gen/runtime/v1/api_pb.js";
import { AgentProcess, cgroupDirs, runtimeClient } from "../e2e/agent-process.ts";
import { manifest, writeManifest } from "../e2e/manifests.ts";
import { waitFor } from "../e2e/wait-for.ts";
import { rounds } from "../long.ts";
import { describeOnContainerd } from "../node/on-containerd.ts";
import { type ContainerdVersion, startTestNode, type TestNode } from "../node/test-node.ts";
import { seededRandom } from "./seeded-random.ts";

const podCount = 20;
const seed = Number(process.env.KILL_SEED ?? 20261115);

/**
 * containerd (1.6 and 2.1 alike) that is interrupted while it starts a container may keep a task that it does not track,
 * and then fails to remove the container until it is restarted. The container does not run; the agent reports what it is
 * blocked on and retries.
 */
const cannotRemove = /cannot delete running task/;

interface Running {
  id: string;
  pod: string;
  sandbox: string;
  attempt: number;
}

/**
 * kill -9 of the agent at random moments while pods are added, changed and removed. After each restart the runtime must
 * have exactly what the manifests specify: one container per pod, and every container that ran and was still desired,
 * untouched.
 */
function killRounds(version: ContainerdVersion, count: number): void {
  let node: TestNode;
  let agent: AgentProcess;
  let runtime: CriClient;
  const random = seededRandom(seed);
  /** The desired manifests: the note in each, by file number. */
  const desired = new Map<number, string>();

  before(async () => {
    node = await startTestNode({ containerd: version });
    agent = await AgentProcess.create(node);
    runtime = runtimeClient(node.endpoint);
  });

  after(async () => {
    runtime?.close();
    await agent?.destroy();
  });

  test("the node converges to the manifests after every kill", async (t) => {
    for (let round = 0; round < count; round++) {
      agent.start();
      const changed = new Set<string>();
      // Some kills happen while the agent is still starting, some in the middle of the changes, some after them.
      const killedAfterMs = random.below(1200);
      const killAt = Date.now() + killedAfterMs;
      for (let change = 0; change < 5 && Date.now() < killAt; change++) {
        changed.add(changeOne());
        await pause(random.below(120));
      }
      await pause(killAt - Date.now());
      const runningBefore = await runningContainers();
      await agent.end("SIGKILL");
      // Pods that changed in this round may have been started and may be replaced. All other containers must keep running.
      const untouched = runningBefore.filter((c) => !changed.has(c.pod));

      agent.start();
      try {
        await converged();
        const runningIds = new Set((await runningContainers()).map((c) => c.id));
        for (const container of untouched)
          assert.ok(
            runningIds.has(container.id),
            `${container.pod} ran as ${container.id} and was restarted`,
          );
      } catch (error) {
        t.diagnostic(`round ${round}, killed after ${killedAfterMs} ms, seed ${seed}`);
        t.diagnostic(agent.log().split("\n").slice(-40).join("\n"));
        throw error;
      }
      await agent.end(random.below(2) === 0 ? "SIGTERM" : "SIGKILL");
    }
  });

  test("nothing remains when all manifests are removed", async () => {
    for (const file of readdirSync(node.manifests)) rmSync(join(node.manifests, file));
    desired.clear();
    await agent.end("SIGKILL");
    // After a restart the runtime can remove everything; the agent then does so.
    await node.stopRuntime();
    await node.startRuntime();
    agent.start();
    await waitFor(async () => {
      assert.equal((await runtime.listPodSandboxes()).length, 0, "a sandbox is left");
      assert.equal((await runtime.listContainers()).length, 0, "a container is left");
      assert.deepEqual(readdirSync(node.logDir), [], "logs are left");
      assert.deepEqual(readdirSync(join(node.rootDir, "pods")), [], "pod directories are left");
      assert.deepEqual(agent.links(), [], "log links are left");
      const cgroups = cgroupDirs(`${node.cgroupRoot}/kubepods/besteffort`).filter((dir) =>
        dir.includes("/pod"),
      );
      assert.deepEqual(cgroups, [], "cgroups are left");
    }, 90_000);
  });

  /** Adds, edits or removes the manifest of one pod; returns the name that the pod has, or had. */
  function changeOne(): string {
    const n = random.below(podCount);
    const file = `p${n}.yaml`;
    const note = desired.get(n);
    if (note !== undefined && random.below(3) > 0) {
      desired.delete(n);
      rmSync(join(node.manifests, file));
    } else {
      const next = String(random.below(1_000_000));
      desired.set(n, next);
      writeManifest(node.manifests, file, manifest({ name: `p${n}`, note: next, hostNetwork: n % 2 === 0 }));
    }
    return `p${n}`;
  }

  async function runningContainers(): Promise<Running[]> {
    const containers = await runtime.listContainers({ state: { state: ContainerState.CONTAINER_RUNNING } });
    return containers.map((c) => ({
      id: c.id,
      pod: podName(c.labels["io.kubernetes.pod.name"] ?? ""),
      sandbox: c.podSandboxId,
      attempt: c.metadata?.attempt ?? 0,
    }));
  }

  async function converged(): Promise<void> {
    await waitFor(async () => {
      const sandboxes = await runtime.listPodSandboxes();
      const ready = sandboxes.filter((s) => s.state === PodSandboxState.SANDBOX_READY);
      const names = ready.map((s) => podName(s.metadata?.name ?? "")).sort(byText);
      assert.deepEqual(names, [...desired.keys()].map((n) => `p${n}`).sort(byText), "ready sandboxes");
      for (const s of ready)
        assert.equal(
          s.labels.test,
          desired.get(Number(podName(s.metadata?.name ?? "").slice(1))),
          "an old version runs",
        );
      const running = await runningContainers();
      const rows = (await agent.pods()) ?? [];
      const blocked = rows.map(({ name, blockedOn }) => blockedOn && `\n${name}: ${blockedOn}`).join("");
      assert.deepEqual(running.map((c) => c.pod).sort(byText), names, `running containers${blocked}`);
      const stuck = rows.filter((row) => cannotRemove.test(row.blockedOn)).map((row) => row.uid);
      const uids = new Set([...ready.map((s) => s.metadata?.uid), ...stuck]);
      const orphans = sandboxes.filter((s) => !uids.has(s.metadata?.uid));
      assert.equal(
        orphans.length,
        0,
        `sandboxes of pods that are gone: ${orphans.map((s) => s.metadata?.name).join()}`,
      );
      assert.equal(
        rows.filter((row) => row.phase === "Running").length,
        desired.size,
        "running pods of the agent",
      );
    }, 90_000);
  }

  const podName = (name: string) => name.split("-")[0]!;
}

for (const some of rounds("KILL_ROUNDS", 6, 50))
  describeOnContainerd(
    `the agent killed at random moments, ${some.count} rounds with seed ${seed}`,
    (version) => killRounds(version, some.count),
    some,
  );

function byText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, Math.max(0, ms)));
}
