import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { after, describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import { podName } from "../../src/kubelet/resources/cgroups/names.ts";
import { cgroupMembership } from "../../src/lib/host/cgroups/membership.ts";
import { cgroupFilesystem, detectLayout } from "../../src/lib/host/cgroups/mounted-cgroups.ts";
import type { PodUid } from "../../src/lib/model/pod.ts";
import type { QosClass } from "../../src/lib/model/qos.ts";
import { waitFor } from "../e2e/wait-for.ts";
import { seededRandom } from "../faults/seeded-random.ts";
import { rounds } from "../long.ts";
import { removeDir } from "../node/remove-dir.ts";
import { CgroupNode } from "./cgroup-node.ts";
import { contentsOf, kernelValues } from "./kernel-values.ts";
import { killedPods, killedRows } from "./killed-pods.ts";

const layout = await detectLayout();
const kernel = cgroupFilesystem(layout);
const cgroupRoot = `/kubelet-ts-killed-${process.pid}`;
const seed = Number(process.env.KILL_SEED ?? 20261116);
const program = fileURLToPath(new URL("./killed-node.ts", import.meta.url));
const skip = process.getuid?.() === 0 ? false : "only root can create cgroups";
const qosCgroups = ["", "/burstable", "/besteffort"].map((qosCgroup) => `${cgroupRoot}/kubepods${qosCgroup}`);

describe("cgroups after kill -9 of the agent", { skip }, () => {
  after(() => kernel.remove(cgroupRoot));

  it("orphaned pod cgroups are removed with their processes, and nothing else is", async () => {
    const orphan = `${cgroupRoot}/kubepods/burstable/podd1d1d1d1-0000-4000-8000-999999999999`;
    const daemon = `${cgroupRoot}/daemons`;
    const processes = await Promise.all(
      [`${orphan}/container`, `${orphan}/container`, daemon].map(processIn),
    );
    const ended = processes.map((process) => process.exitCode ?? once(process, "exit"));
    const node = await CgroupNode.start({ driver: "cgroupfs", cgroupRoot });
    try {
      node.run(killedPods.slice(0, 2));
      await waitFor(async () => assert.equal(await kernel.missingControllers(orphan), undefined));
      assert.deepEqual(await Promise.all(ended.slice(0, 2)), [
        [null, "SIGKILL"],
        [null, "SIGKILL"],
      ]);
      assert.deepEqual(await kernel.pids(daemon), [processes[2]!.pid]);
      await waitFor(async () => assert.equal((await podCgroups()).length, 2));
      node.run([]);
      await waitFor(async () => assert.deepEqual(await podCgroups(), []));
    } finally {
      for (const process of processes) process.kill("SIGKILL");
      await node.stop();
    }
  });

  for (const { count, named } of rounds("KILL_ROUNDS", 3, 25))
    it(named("desired pods have all of their limits, and no other pod has a cgroup"), async () => {
      const random = seededRandom(seed);
      for (let round = 0; round < count; round++) {
        await killedNode(seed + round, random.below(400));
        const wanted = killedPods.filter(() => random.below(2) === 0);
        const node = await CgroupNode.start({ driver: "cgroupfs", cgroupRoot });
        try {
          node.run(wanted);
          await waitFor(async () =>
            assert.deepEqual(
              new Set(await podCgroups()),
              new Set(wanted.map((pod) => `pod${pod.metadata.uid}`)),
            ),
          );
          for (const pod of wanted) await hasLimits(pod.metadata.uid);
          node.run([]);
          await waitFor(async () => assert.deepEqual(await podCgroups(), []));
        } finally {
          await node.stop();
        }
      }
    });
});

/** A node that is killed this long after it has started, in the middle of changes. Only its cgroups are left. */
async function killedNode(ofSeed: number, afterMs: number): Promise<void> {
  const child = spawn(process.execPath, [program, cgroupRoot, String(ofSeed)], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const [dir] = await Promise.race([once(child.stdout, "data"), once(child, "exit")]);
  assert.equal(child.exitCode, null, "the node runs");
  await new Promise((resolve) => setTimeout(resolve, afterMs));
  const exited = once(child, "exit");
  child.kill("SIGKILL");
  await exited;
  await removeDir(String(dir));
}

async function hasLimits(uid: PodUid): Promise<void> {
  const { qos, v1, v2 } = killedRows[killedPods.findIndex((pod) => pod.metadata.uid === uid)]!;
  const path = `/${podName([cgroupRoot.slice(1), "kubepods"], qos as QosClass, uid).join("/")}`;
  const want = kernelValues(layout.version, (layout.version === 1 ? v1 : v2).pod);
  await waitFor(async () => assert.deepEqual(await contentsOf(layout, path, Object.keys(want)), want));
}

/** Directories of pods, in any hierarchy. */
async function podCgroups(): Promise<string[]> {
  const dirs = await Promise.all(qosCgroups.map((qosCgroup) => kernel.children(qosCgroup)));
  return dirs.flat().filter((dir) => dir.startsWith("pod"));
}

async function processIn(path: string): Promise<ChildProcess> {
  await kernel.create(path, {});
  const child = spawn("sleep", ["1000"], { stdio: "ignore" });
  await cgroupMembership(layout).attach(path, child.pid!);
  return child;
}
