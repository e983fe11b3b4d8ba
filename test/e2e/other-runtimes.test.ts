import assert from "node:assert/strict";
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { systemClock } from "../../src/lib/base/clock.ts";
import { cgroupMounts, readMounts } from "../../src/lib/host/mount-table.ts";
import { removeCgroups } from "../../src/single-node/cgroup-trees.ts";
import { type FakeRuntime, fakeImages, startFakeRuntime } from "../fake-runtime/fake-runtime.ts";
import { removeDir } from "../node/remove-dir.ts";
import { containerOf } from "./agent-pods.ts";
import { MutablePods, type MutablePodsAgent, startMutablePodsAgent } from "./mutable-pods.ts";

/** Values that containerd never reports, but other runtimes do. */
describe("other runtimes", { skip: process.getuid?.() === 0 ? false : "needs root" }, () => {
  const dir = mkdtempSync(join(tmpdir(), "other-runtime-"));
  const cgroupRoot = `/kubelet-ts-other-${process.pid}`;
  const source = new MutablePods();
  let runtime: FakeRuntime;
  let agent: MutablePodsAgent;

  before(async () => {
    runtime = await startFakeRuntime({ socketPath: join(dir, "cri.sock"), clock: systemClock });
    agent = await startMutablePodsAgent(
      {
        endpoint: runtime.endpoint,
        logDir: join(dir, "logs"),
        containerLogDir: join(dir, "links"),
        rootDir: join(dir, "kubelet"),
        cgroupRoot,
      },
      source,
    );
  });

  after(async () => {
    await agent?.stop();
    await runtime?.close();
    await removeCgroups(
      cgroupMounts(readMounts()).map((mount) => join(mount, cgroupRoot)),
      systemClock,
    );
    await removeDir(dir);
  });

  test("ContainerCannotRun", async () => {
    source.add("rejected", {
      restartPolicy: "Never",
      containers: [{ name: "c", image: fakeImages.busybox, command: ["sleep", "inf"] }],
    });
    await agent.running("rejected");
    const [container] = [...runtime.pods.containers.values()];
    container!.reason = "ContainerCannotRun";
    runtime.exit(container!.id, 127);
    const row = await agent.waitForPod("rejected", (row) => assert.equal(row.phase, "Failed"));
    const { terminated } = containerOf(row).state ?? {};
    assert.deepEqual([terminated?.reason, terminated?.exitCode], ["ContainerCannotRun", 127]);
  });
});
