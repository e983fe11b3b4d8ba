import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { PodRow } from "../../src/kubelet/explain/pod-overview.ts";
import type { ContainerId, CriClient } from "../../src/lib/clients/cri/cri.ts";
import { describeOnContainerd } from "../node/on-containerd.ts";
import { startTestNode, type TestNode } from "../node/test-node.ts";
import { containerIdOf, containerOf } from "./agent-pods.ts";
import { runtimeClient } from "./agent-process.ts";
import { sh } from "./lifecycle-suite.ts";
import { MutablePods, type MutablePodsAgent, startMutablePodsAgent } from "./mutable-pods.ts";
import { waitFor } from "./wait-for.ts";

describeOnContainerd("updates of running pods", (version) => {
  let node: TestNode;
  let agent: MutablePodsAgent;
  let runtime: CriClient;
  const source = new MutablePods();

  before(async () => {
    node = await startTestNode({ containerd: version });
    runtime = runtimeClient(node.endpoint);
    agent = await startMutablePodsAgent(node, source);
  });

  after(async () => {
    await agent?.stop();
    runtime?.close();
    await node?.stop();
  });

  const inside = async (id: string, script: string) => {
    const { stdout } = await runtime.execSync(id as ContainerId, sh(script), 10);
    return Buffer.from(stdout).toString().trim();
  };

  test("an ephemeral container starts in a running pod, sees its target's processes, and is not restarted", async () => {
    source.add("debugged", { containers: [{ name: "c", env: [{ name: "WHO", value: "target" }] }] });
    const before = await agent.running("debugged");
    source.change("debugged", (pod) => {
      (pod.spec as { ephemeralContainers?: unknown[] }).ephemeralContainers = [
        {
          name: "debugger",
          image: node.images.busybox,
          imagePullPolicy: "Never",
          command: sh("trap 'exit 9' TERM; while true; do sleep 1000 & wait; done"),
          targetContainerName: "c",
          terminationMessagePath: "/dev/termination-log",
          terminationMessagePolicy: "File",
        },
      ];
    });
    const ephemeral = (row: PodRow) => row.status?.ephemeralContainerStatuses?.[0];
    const row = await agent.waitForPod("debugged", (row) => assert.ok(ephemeral(row)?.state?.running));
    assert.equal(row.ready, "1/1");
    assert.equal(containerIdOf(row), containerIdOf(before), "the target was restarted");
    const id = ephemeral(row)!.containerID!.replace(/^.*:\/\//, "");
    assert.match(await inside(id, "cat /proc/1/environ | tr '\\0' '\\n'"), /^WHO=target$/m);
    const self = await inside(id, "ps -o pid,args | grep 'exit 9' | grep -v grep | head -1");
    await inside(id, `kill -TERM ${self.trim().split(/\s+/)[0]}`);
    const after = await agent.waitForPod("debugged", (row) =>
      assert.equal(ephemeral(row)?.state?.terminated?.exitCode, 9),
    );
    assert.equal(ephemeral(after)?.restartCount, 0);
    assert.equal(after.phase, "Running");
    source.remove("debugged");
  });

  test("a changed image restarts that container in the same sandbox", async () => {
    const other = "docker.io/library/busybox:again";
    await node.ctr(["images", "tag", node.images.busybox, other]);
    source.add("retagged", { containers: [{ name: "c" }, { name: "stays" }] });
    const before = await agent.running("retagged");
    source.change("retagged", (pod) => {
      pod.spec.containers[0]!.image = other;
    });
    const row = await agent.waitForPod("retagged", (row) => {
      assert.equal(containerOf(row).restartCount, 1);
      assert.equal(row.ready, "2/2");
    });
    assert.equal(containerIdOf(row, "stays"), containerIdOf(before, "stays"));
    assert.equal(row.ip, before.ip);
    source.remove("retagged");
  });

  test("a deletion with a shorter grace period shortens a termination in progress", async () => {
    source.add("lingers", {
      terminationGracePeriodSeconds: 600,
      containers: [{ name: "c", command: sh("trap '' TERM; while true; do sleep 1; done") }],
    });
    await agent.running("lingers");
    const deletionTimestamp = new Date().toISOString() as never;
    source.change("lingers", (pod) => {
      Object.assign(pod.metadata, { deletionTimestamp, deletionGracePeriodSeconds: 600 });
    });
    await agent.waitForPod("lingers", (row) => assert.equal(row.phase, "Terminating"));
    source.change("lingers", (pod) => {
      Object.assign(pod.metadata, { deletionTimestamp, deletionGracePeriodSeconds: 1 });
    });
    await waitFor(async () => {
      const left = await runtime.listContainers({ state: { state: 1 } });
      assert.equal(left.filter((c) => c.labels["io.kubernetes.pod.name"] === "lingers").length, 0);
    });
    source.remove("lingers");
  });

  test("a sandbox that is lost is replaced, and everything runs again in the new one", async () => {
    source.add("homeless", {
      initContainers: [{ name: "first", command: sh("sleep 2") }],
      containers: [{ name: "c" }],
    });
    const before = await agent.running("homeless");
    const tasks = await node.ctr(["tasks", "list"]);
    const [sandbox] = (await runtime.listPodSandboxes()).filter((s) => s.metadata?.uid === before.uid);
    process.kill(Number(tasks.match(`${sandbox!.id}\\s+(\\d+)`)?.[1]), "SIGKILL");
    const waits = await agent.waitForPod("homeless", (row) => {
      assert.equal(containerOf(row, "first").restartCount, 1);
      assert.ok(containerOf(row, "first").state?.running);
    });
    assert.equal(waits.phase, "Pending", "the pod is not Pending while its init containers run again");
    const row = await agent.waitForPod("homeless", (row) => {
      assert.equal(containerOf(row).restartCount, 1);
      assert.equal(row.ready, "1/1");
    });
    assert.equal(row.phase, "Running");
    assert.equal(containerOf(row, "first").restartCount, 1, "the init container did not run again");
    const left = (await runtime.listPodSandboxes()).filter((s) => s.metadata?.uid === before.uid);
    const ready = left.filter((s) => s.state === 0);
    assert.equal(ready.length, 1);
    assert.notEqual(ready[0]!.id, sandbox!.id);
    source.remove("homeless");
  });
});
