import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { access } from "node:fs/promises";
import { after, before, test } from "node:test";
import { type Agent, startAgent } from "../../src/app/agent.ts";
import type { PodRow } from "../../src/app/pod-board.ts";
import { systemClock } from "../../src/base/clock.ts";
import { healthy } from "../../src/base/component.ts";
import { silentLogger } from "../../src/base/logger.ts";
import type { ContainerId, CriClient } from "../../src/clients/cri/cri.ts";
import { withDefaults } from "../../src/config/defaults.ts";
import { FeatureGates } from "../../src/config/feature-gates.ts";
import { applyPodDefaults } from "../../src/model/defaults/pod.ts";
import type { Pod, PodUid } from "../../src/model/pod.ts";
import type { PodSource } from "../../src/pipeline/sources/source.ts";
import { describeOnContainerd, startTestNode, type TestNode } from "../node/test-node.ts";
import { containerIdOf, containerOf } from "./agent-pods.ts";
import { askRuntime } from "./agent-process.ts";
import { holds } from "./holds.ts";
import { sh } from "./life-suite.ts";
import { type PodSpecInit, podManifest } from "./manifests.ts";

/** Pods that change without becoming other pods, as they do when an API server has them. */
class LivingPods implements PodSource {
  readonly name = "api";
  readonly done = Promise.resolve();
  readonly health = () => healthy;
  #emit: (pods: Pod[]) => void = () => {};
  #pods = new Map<string, Pod>();

  async start(_signal: AbortSignal, emit: (pods: Pod[]) => void): Promise<void> {
    this.#emit = emit;
    this.#tell();
  }

  add(name: string, spec: PodSpecInit): void {
    const pod = applyPodDefaults(JSON.parse(podManifest(name, spec)) as Pod);
    pod.metadata = { name, namespace: "default", uid: randomUUID() as PodUid, generation: 1 };
    this.#pods.set(name, pod);
    this.#tell();
  }

  change(name: string, change: (pod: Pod) => void): void {
    const pod = structuredClone(this.#pods.get(name)!);
    change(pod);
    pod.metadata = { ...pod.metadata, generation: (pod.metadata.generation ?? 0) + 1 };
    this.#pods.set(name, pod);
    this.#tell();
  }

  remove(name: string): void {
    this.#pods.delete(name);
    this.#tell();
  }

  #tell(): void {
    this.#emit([...this.#pods.values()]);
  }
}

describeOnContainerd("pods that change while they live", (version) => {
  let node: TestNode;
  let agent: Agent;
  let runtime: CriClient;
  const source = new LivingPods();

  before(async () => {
    node = await startTestNode({ containerd: version });
    runtime = askRuntime(node.endpoint);
    const config = withDefaults({}, new FeatureGates({}));
    Object.assign(config, {
      containerRuntimeEndpoint: node.endpoint,
      podLogsDir: node.logDir,
      cgroupRoot: node.cgroupRoot,
      failCgroupV1: false,
    });
    if (
      !(await access("/etc/resolv.conf").then(
        () => true,
        () => false,
      ))
    )
      config.resolvConf = "";
    agent = await startAgent({
      config,
      gates: new FeatureGates({}),
      rootDir: node.rootDir,
      containerLogsDir: node.containerLogDir,
      makesCgroupRoot: true,
      healthPort: 0,
      sources: () => [source],
      clock: systemClock,
      logger: silentLogger,
    });
  });

  after(async () => {
    await agent?.endPods({ graceSeconds: 1, withinMs: 30_000 });
    await agent?.stop();
    runtime?.close();
    await node?.stop();
  });

  const is = (name: string, check: (row: PodRow) => void, withinMs?: number) =>
    holds(() => {
      const row = agent.board.rows().find((r) => r.name === name);
      assert.ok(row, `no pod ${name}`);
      check(row);
      return row;
    }, withinMs);
  const running = (name: string) =>
    is(name, (row) =>
      assert.deepEqual([row.phase, row.ready.split("/")[0]], ["Running", row.ready.split("/")[1]]),
    );
  const inside = async (id: string, script: string) => {
    const { stdout } = await runtime.execSync(id as ContainerId, sh(script), 10);
    return Buffer.from(stdout).toString().trim();
  };

  test("an ephemeral container joins a running pod, sees its target's processes, and ends for good", async () => {
    source.add("debugged", { containers: [{ name: "c", env: [{ name: "WHO", value: "target" }] }] });
    const before = await running("debugged");
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
    const row = await is("debugged", (row) => assert.ok(ephemeral(row)?.state?.running));
    assert.equal(row.ready, "1/1");
    assert.equal(containerIdOf(row), containerIdOf(before), "the target was not touched");
    const id = ephemeral(row)!.containerID!.replace(/^.*:\/\//, "");
    assert.match(await inside(id, "cat /proc/1/environ | tr '\\0' '\\n'"), /^WHO=target$/m);
    const self = await inside(id, "ps -o pid,args | grep 'exit 9' | grep -v grep | head -1");
    await inside(id, `kill -TERM ${self.trim().split(/\s+/)[0]}`);
    const ended = await is("debugged", (row) => assert.equal(ephemeral(row)?.state?.terminated?.exitCode, 9));
    assert.equal(ephemeral(ended)?.restartCount, 0);
    assert.equal(ended.phase, "Running");
    source.remove("debugged");
  });

  test("an image that is changed in place restarts that container in the same sandbox", async () => {
    const other = "docker.io/library/busybox:again";
    await node.ctr(["images", "tag", node.images.busybox, other]);
    source.add("retagged", { containers: [{ name: "c" }, { name: "stays" }] });
    const before = await running("retagged");
    source.change("retagged", (pod) => {
      pod.spec.containers[0]!.image = other;
    });
    const row = await is("retagged", (row) => {
      assert.equal(containerOf(row).restartCount, 1);
      assert.equal(row.ready, "2/2");
    });
    assert.equal(containerIdOf(row, "stays"), containerIdOf(before, "stays"));
    assert.equal(row.ip, before.ip);
    source.remove("retagged");
  });

  test("a deletion with a shorter grace period takes over from one that is under way", async () => {
    source.add("lingers", {
      terminationGracePeriodSeconds: 600,
      containers: [{ name: "c", command: sh("trap '' TERM; while true; do sleep 1; done") }],
    });
    await running("lingers");
    const deletionTimestamp = new Date().toISOString() as never;
    source.change("lingers", (pod) => {
      Object.assign(pod.metadata, { deletionTimestamp, deletionGracePeriodSeconds: 600 });
    });
    await is("lingers", (row) => assert.equal(row.phase, "Terminating"));
    source.change("lingers", (pod) => {
      Object.assign(pod.metadata, { deletionTimestamp, deletionGracePeriodSeconds: 1 });
    });
    await holds(async () => {
      const left = await runtime.listContainers({ state: { state: 1 } });
      assert.equal(left.filter((c) => c.labels["io.kubernetes.pod.name"] === "lingers").length, 0);
    });
    source.remove("lingers");
  });
});
