import assert from "node:assert/strict";
import { readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import type { CriClient } from "../../src/lib/clients/cri/cri.ts";
import { ContainerState, PodSandboxState } from "../../src/lib/gen/runtime/v1/api_pb.js";
import { AgentProcess, cgroupDirs, runtimeClient } from "../e2e/agent-process.ts";
import { manifest, place } from "../e2e/manifests.ts";
import { waitFor } from "../e2e/wait-for.ts";
import { rounds } from "../long.ts";
import { describeOnContainerd } from "../node/on-containerd.ts";
import { type ContainerdVersion, startTestNode, type TestNode } from "../node/test-node.ts";
import { seededRandom } from "./seeded-random.ts";

const podCount = 20;
const seed = Number(process.env.KILL_SEED ?? 20261115);

/**
 * containerd (1.6 and 2.1 alike) that is interrupted while it starts a container may keep a task that it does not track,
 * and then fails to remove the container until it is restarted. Nothing of it runs; the agent reports what it is
 * blocked on and keeps trying.
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
 * have exactly what the manifests specify: one container a pod, and every container that ran and was still desired,
 * untouched.
 */
function killed(version: ContainerdVersion, count: number): void {
  let node: TestNode;
  let agent: AgentProcess;
  let runtime: CriClient;
  const random = seededRandom(seed);
  /** The desired content: file number to the note in its content. */
  const wanted = new Map<number, string>();

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
      const moment = random.below(1200);
      const killAt = Date.now() + moment;
      for (let change = 0; change < 5 && Date.now() < killAt; change++) {
        changed.add(changeOne());
        await pause(random.below(120));
      }
      await pause(killAt - Date.now());
      const ran = await runningNow();
      await agent.end("SIGKILL");
      // What was requested in the round may have been started: it may be replaced. All else must stay as it was.
      const untouched = ran.filter((c) => !changed.has(c.pod));

      agent.start();
      try {
        await converged();
        const now = new Set((await runningNow()).map((c) => c.id));
        for (const container of untouched)
          assert.ok(now.has(container.id), `${container.pod} ran as ${container.id} and was restarted`);
      } catch (error) {
        t.diagnostic(`round ${round}, killed after ${moment} ms, seed ${seed}`);
        t.diagnostic(agent.log().split("\n").slice(-40).join("\n"));
        throw error;
      }
      await agent.end(random.below(2) === 0 ? "SIGTERM" : "SIGKILL");
    }
  });

  test("and when all manifests are removed, nothing remains", async () => {
    for (const file of readdirSync(node.manifests)) rmSync(join(node.manifests, file));
    wanted.clear();
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
    const note = wanted.get(n);
    if (note !== undefined && random.below(3) > 0) {
      wanted.delete(n);
      rmSync(join(node.manifests, file));
    } else {
      const next = String(random.below(1_000_000));
      wanted.set(n, next);
      place(node.manifests, file, manifest({ name: `p${n}`, note: next, hostNetwork: n % 2 === 0 }));
    }
    return `p${n}`;
  }

  async function runningNow(): Promise<Running[]> {
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
      assert.deepEqual(names, [...wanted.keys()].map((n) => `p${n}`).sort(byText), "ready sandboxes");
      for (const s of ready)
        assert.equal(
          s.labels.test,
          wanted.get(Number(podName(s.metadata?.name ?? "").slice(1))),
          "an old version runs",
        );
      const running = await runningNow();
      assert.deepEqual(running.map((c) => c.pod).sort(byText), names, "running containers");
      const rows = (await agent.pods()) ?? [];
      const stuck = rows.filter((row) => cannotRemove.test(row.blockedOn)).map((row) => row.uid);
      const uids = new Set([...ready.map((s) => s.metadata?.uid), ...stuck]);
      const strays = sandboxes.filter((s) => !uids.has(s.metadata?.uid));
      assert.equal(
        strays.length,
        0,
        `sandboxes of pods that are gone: ${strays.map((s) => s.metadata?.name).join()}`,
      );
      assert.equal(
        rows.filter((row) => row.phase === "Running").length,
        wanted.size,
        "running pods as the agent sees them",
      );
    }, 90_000);
  }

  const podName = (name: string) => name.split("-")[0]!;
}

for (const some of rounds("KILL_ROUNDS", 6, 50))
  describeOnContainerd(
    `the agent killed at random moments, ${some.count} rounds with seed ${seed}`,
    (version) => killed(version, some.count),
    some,
  );

function byText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, Math.max(0, ms)));
}
