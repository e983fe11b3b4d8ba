import assert from "node:assert/strict";
import { mkdirSync } from "node:fs";
import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { createLogger } from "../../src/lib/base/log-writer.ts";
import { ContainerState } from "../../src/lib/gen/runtime/v1/api_pb.js";
import { waitFor } from "../e2e/wait-for.ts";
import { removeDir } from "../node/remove-dir.ts";
import { container, TestCluster } from "./cluster-node.ts";

async function crioCluster(t: TestContext) {
  const dir = await mkdtemp(join(tmpdir(), "crio-"));
  mkdirSync(join(dir, "run/crio"), { recursive: true });
  const lines: string[] = [];
  const logger = createLogger({
    format: "text",
    verbosity: 0,
    now: () => new Date(),
    pid: process.pid,
    write: (line) => lines.push(line),
  });
  const socketPath = join(dir, "run/crio/crio.sock");
  const cluster = await TestCluster.start(t, { logger }, {}, { crio: true, events: false, socketPath });
  // This runs after the cluster and its kubelet have ended.
  t.after(() => removeDir(dir));
  const logged = (text: string) => lines.filter((line) => line.includes(text));
  return { cluster, runtime: cluster.runtime, logged };
}

test("pods run, restart and end on CRI-O without events, whose stream is not requested again at once", async (t) => {
  const { cluster, runtime, logged } = await crioCluster(t);
  await cluster.startAgent();
  cluster.addPod("web");
  cluster.addPod("job", { restartPolicy: "Never", containers: [container({ command: ["true"] })] });
  const { status } = await cluster.runs("web");
  assert.match(status!.containerStatuses![0]!.containerID!, /^cri-o:\/\/[0-9a-f]{64}$/);
  await waitFor(() => assert.equal(logged("Runtime has no event stream").length, 1));
  // Longer than a broken stream waits: an exit is found by the relist of every second.
  await cluster.waitForPod("job", (pod) => assert.equal(pod.status?.phase, "Succeeded"));
  const isRunning = (state: ContainerState) => state === ContainerState.CONTAINER_RUNNING;
  const [running] = [...runtime.pods.containers.values()].filter(({ state }) => isRunning(state));
  const before = runtime.callsOf("ListPodSandbox").length;
  runtime.exit(running!.id, 1);
  await cluster.waitForPod("web", (pod) => assert.equal(pod.status?.containerStatuses?.[0]?.restartCount, 1));
  await waitFor(() => assert.ok(runtime.callsOf("ListPodSandbox").length > before + 2));
  assert.equal(runtime.callsOf("GetContainerEvents").length, 1);
  assert.equal(logged("Runtime has no event stream").length, 1);
  assert.deepEqual(logged("Runtime event stream failed"), []);
});
