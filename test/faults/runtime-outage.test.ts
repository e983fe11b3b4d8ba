import assert from "node:assert/strict";
import { rmSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import type { CriClient } from "../../src/lib/clients/cri/cri.ts";
import { nodeFiles } from "../../src/single-node/node-files.ts";
import { processesOfNode, readProcesses } from "../../src/single-node/processes.ts";
import { containerIdOf, podsOf } from "../e2e/agent-pods.ts";
import { AgentProcess, runtimeClient } from "../e2e/agent-process.ts";
import { cli } from "../e2e/cli-process.ts";
import { manifest, writeManifest } from "../e2e/manifests.ts";
import { waitFor } from "../e2e/wait-for.ts";
import { describeOnContainerd } from "../node/on-containerd.ts";
import { startTestNode, type TestNode } from "../node/test-node.ts";

const outageMs = 20_000;
const untouchedPods = ["stays", "hosted"];

describeOnContainerd("an outage of the runtime", (version) => {
  let node: TestNode;
  let agent: AgentProcess;
  let runtime: CriClient;
  let pods: ReturnType<typeof podsOf>;
  /** The log position at the start of the current test. */
  let logStart = 0;

  before(async () => {
    node = await startTestNode({ containerd: version });
    agent = await AgentProcess.create(node);
    pods = podsOf(agent);
    runtime = runtimeClient(node.endpoint);
    for (const name of ["stays", "dies", "edited", "removed"])
      writeManifest(node.manifests, `${name}.yaml`, manifest({ name }));
    writeManifest(node.manifests, "hosted.yaml", manifest({ name: "hosted", hostNetwork: true }));
    start();
    for (const name of [...untouchedPods, "dies", "edited", "removed"]) await pods.running(name);
  });

  after(async () => {
    runtime?.close();
    await agent?.destroy();
  });

  /** At this level the same error is not logged again. */
  function start(): void {
    agent.start(["-v=2"]);
  }

  const logged = (pattern: RegExp) =>
    agent
      .log()
      .slice(logStart)
      .split("\n")
      .filter((line) => pattern.test(line));

  /** The sandboxes, containers and attempts of pods, which must not change for untouched pods. */
  async function runtimeState(names: readonly string[]): Promise<string[]> {
    const belongs = (name: string | undefined) => names.some((n) => name?.startsWith(`${n}-`));
    const sandboxes = await runtime.listPodSandboxes();
    const containers = await runtime.listContainers();
    return [
      ...sandboxes.filter((s) => belongs(s.metadata?.name)).map((s) => `sandbox ${s.id} is ${s.state}`),
      ...containers
        .filter((c) => belongs(c.labels["io.kubernetes.pod.name"]))
        .map((c) => `container ${c.id}, attempt ${c.metadata?.attempt}, is ${c.state}`),
    ].sort((a, b) => (a < b ? -1 : 1));
  }

  const pidOf = async (container: string) =>
    Number((await node.ctr(["tasks", "list"])).match(`${container}\\s+(\\d+)`)?.[1]);

  async function healthyAgain(): Promise<void> {
    await waitFor(async () => {
      const verbose = await agent.health("/healthz?verbose");
      for (const name of ["syncloop", "pleg", "runtime-connection"])
        assert.match(verbose?.body ?? "", new RegExp(`^\\[i\\]${name} ok$`, "m"));
    });
  }

  test(`does not affect running containers when it lasts ${outageMs / 1000} s; pending changes are applied afterwards`, async () => {
    logStart = agent.log().length;
    const pid = agent.pid;
    const expectedState = await runtimeState(untouchedPods);
    assert.equal(expectedState.length, 4, "there are not two pods with a sandbox and a container each");
    const killedContainer = containerIdOf(await pods.running("dies"));
    const killedPid = await pidOf(killedContainer);
    const previousUid = (await pods.running("edited")).uid;

    const outageEnd = Date.now() + outageMs;
    await node.stopRuntime();
    process.kill(killedPid, "SIGKILL");
    writeManifest(node.manifests, "edited.yaml", manifest({ name: "edited", note: "edited" }));
    rmSync(join(node.manifests, "removed.yaml"));
    writeManifest(node.manifests, "added.yaml", manifest({ name: "added" }));
    await waitFor(() => assert.equal(logged(/Container runtime is down, waiting for it/).length, 1));
    // The command prints the last known state, and what each pod waits for.
    await pods.waitForPod("added", (row) =>
      assert.notEqual(row.blockedOn, "", "a pod that cannot start does not report why"),
    );
    const table = await cli(["pods", `--root-dir=${node.rootDir}`]);
    assert.equal(table.status, 0, table.stderr);
    assert.match(table.stdout, /^default +stays-\S+ +Running +1\/1 +0 /m);
    // A restart of containerd must cause neither a restart of the agent nor an eviction.
    assert.equal((await agent.health())?.status, 200);
    await new Promise((resolve) => setTimeout(resolve, outageEnd - Date.now()));
    await node.startRuntime();

    const edited = await waitFor(async () => {
      const row = await pods.running("edited");
      assert.notEqual(row.uid, previousUid, "the old version runs");
      return row;
    });
    assert.equal(edited.restarts, 0);
    assert.equal((await pods.running("added")).restarts, 0);
    await pods.gone("removed");
    await pods.waitForPod("dies", (row) => {
      assert.notEqual(containerIdOf(row), killedContainer);
      assert.equal(row.restarts, 1);
      assert.equal(row.phase, "Running");
      assert.equal(row.ready, "1/1");
    });
    assert.deepEqual(await runtimeState(untouchedPods), expectedState);
    for (const name of untouchedPods) assert.equal((await pods.running(name)).restarts, 0);
    await healthyAgain();
    assert.equal(agent.pid, pid);
    assert.equal(logged(/Container runtime is down/).length, 1, "not logged exactly once");
    assert.equal(logged(/Container runtime is ready/).length, 1);
    assert.ok(logged(/Failed to relist pods/).length <= 1);
    assert.ok(logged(/Runtime event stream failed/).length <= 1);
    const perPod = logged(/Error syncing pod/);
    // Three pods had work to do; each may encounter a refused and a dropped connection.
    assert.ok(perPod.length <= 9, `the log repeats itself:\n${perPod.join("\n")}`);
  });

  test("by SIGKILL in the middle of work does not affect running containers, and the work continues", async () => {
    logStart = agent.log().length;
    const pid = agent.pid;
    const expectedState = await runtimeState(untouchedPods);
    for (let i = 0; i < 4; i++)
      writeManifest(node.manifests, `busy${i}.yaml`, manifest({ name: `busy${i}` }));
    await pods.waitForPod("busy3", (row) => assert.notEqual(row.blockedOn, ""));
    for (const { pid } of processesOfNode(nodeFiles(node.name), readProcesses(), process.pid).containerd)
      process.kill(pid, "SIGKILL");
    await node.stopRuntime(); // waits for its exit
    await node.startRuntime();
    for (let i = 0; i < 4; i++) await pods.running(`busy${i}`);
    assert.deepEqual(await runtimeState(untouchedPods), expectedState);
    await healthyAgain();
    assert.equal(agent.pid, pid);
    assert.ok(logged(/Container runtime is down/).length <= 1);
    for (let i = 0; i < 4; i++) rmSync(join(node.manifests, `busy${i}.yaml`));
    for (let i = 0; i < 4; i++) await pods.gone(`busy${i}`);
  });

  test("when the agent starts ends it with the cause; the next start takes over the pods", async () => {
    const expectedState = await runtimeState(untouchedPods);
    await node.stopRuntime();
    const stopping = Date.now();
    assert.equal(await agent.end("SIGTERM"), 0, "the agent does not stop cleanly without a runtime");
    // This is shorter than the timeout of a request to the runtime and the time limit for stopping a container.
    assert.ok(Date.now() - stopping < 8000, `it took ${Date.now() - stopping} ms`);
    logStart = agent.log().length;
    writeManifest(node.manifests, "waits.yaml", manifest({ name: "waits" }));
    start();
    assert.equal(await agent.exited(), 1);
    assert.equal(
      logged(/failed to get the cgroup driver of the container runtime: .*(ENOENT|ECONNREFUSED)/).length,
      1,
    );

    // A runtime that starts at the same time is waited for.
    start();
    const { pid } = agent;
    await node.startRuntime();
    assert.equal((await pods.running("waits")).restarts, 0);
    for (const name of untouchedPods) await pods.running(name);
    assert.deepEqual(await runtimeState(untouchedPods), expectedState);
    await healthyAgain();
    assert.equal(agent.pid, pid);
  });
});
