import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { ResourceRequirements } from "../../src/lib/model/pod.ts";
import { sleeper } from "../e2e/manifests.ts";
import { waitFor } from "../e2e/wait-for.ts";
import { describeOnContainerd } from "../node/on-containerd.ts";
import { busyboxName } from "../node/test-node.ts";
import { explained } from "./explained.ts";
import { NodeWithApi } from "./node-with-api.ts";
import { ResizedPod } from "./resized-pod.ts";

const resources = (cpu: number, memory: number): ResourceRequirements => ({
  limits: { cpu: `${cpu}m`, memory: `${memory}Mi` },
  requests: { cpu: `${cpu / 10}m`, memory: `${memory / 2}Mi` },
});
const small = resources(200, 64);
const large = resources(400, 128);

describeOnContainerd("a resize of a running pod", (version) => {
  let node: NodeWithApi;
  let pod: ResizedPod;
  before(async () => {
    node = await NodeWithApi.start(version);
    pod = await ResizedPod.start(node, "resized", { resources: small });
  });
  after(() => node?.destroy());

  const idOf = async (name: string) => {
    const containers = await node.containersOf(name);
    assert.equal(containers.length, 1);
    return containers[0]!.id;
  };

  test("up and down changes CPU and memory of its cgroups, without a restart", async () => {
    const id = await idOf("resized");
    await pod.settled(small);
    for (const wanted of [large, resources(400, 48), resources(100, 128), small]) {
      const { metadata } = await pod.resize(wanted);
      await pod.settled(wanted);
      const completed = await waitFor(async () => {
        const found = (await pod.events("ResizeCompleted")).at(-1);
        assert.match(found ?? "", new RegExp(`"generation":${metadata.generation}`));
        return found;
      });
      assert.match(completed ?? "", /^Pod resize completed: \{"containers":\[\{"name":"c","resources":\{/);
      assert.ok((await pod.events("ResizeStarted")).some((text) => text.startsWith("Pod resize started: {")));
    }
    assert.equal(await idOf("resized"), id);
    assert.equal((await pod.get()).status?.containerStatuses?.[0]?.restartCount, 0);
  });

  test("restarts a container where its resize policy requires it, and only then", async () => {
    const resizePolicy = [
      { resourceName: "cpu", restartPolicy: "NotRequired" },
      { resourceName: "memory", restartPolicy: "RestartContainer" },
    ];
    const restarted = await ResizedPod.start(node, "restarted", { resources: small, resizePolicy });
    const id = await idOf("restarted");
    await restarted.resize(resources(400, 64));
    await restarted.settled(resources(400, 64));
    assert.equal(await idOf("restarted"), id);
    await restarted.resize(large);
    await restarted.settled(large);
    await waitFor(async () => {
      const [status] = (await restarted.get()).status?.containerStatuses ?? [];
      assert.deepEqual([status?.restartCount, status?.ready], [1, true]);
    });
    assert.notEqual(await idOf("restarted"), id);
    await node.deletePod("restarted");
    await node.isGone("restarted");
  });

  test("is deferred until the node has the resources, with the reason in status, events and `kubelet explain`", async () => {
    const { status } = await node.get<{ status: { allocatable: { cpu: string } } }>(
      `/api/v1/nodes/${(await pod.get()).spec.nodeName}`,
    );
    const cpus = status.allocatable.cpu;
    const other = { requests: { cpu: "1m" } };
    const blocker = await ResizedPod.start(node, "blocker", { resources: other });
    const wanted = { requests: { ...small.requests, cpu: cpus }, limits: { ...small.limits, cpu: cpus } };
    await pod.resize(wanted);
    const pending = await waitFor(async () => {
      const { PodResizePending: found } = await pod.conditions();
      assert.ok(found);
      return found;
    });
    assert.deepEqual(
      [pending.status, pending.reason, pending.observedGeneration],
      ["True", "Deferred", (await pod.get()).metadata.generation],
    );
    assert.match(pending.message ?? "", /^Node didn't have enough resource: cpu, requested: \d+, used: 1, /);
    await waitFor(async () =>
      assert.match((await pod.events("ResizeDeferred"))[0] ?? "", /^Pod resize OutOfcpu: \{/),
    );
    await node.agent.end("SIGKILL");
    node.startAgent();
    await explained(node.node.rootDir).waitForPod("resized", ({ ready, cause }) => {
      assert.equal(ready, true);
      assert.match(cause ?? "", /^resize is deferred: Node didn't have enough resource: cpu/);
    });
    assert.equal((await pod.events("ResizeDeferred")).length, 1);
    await node.deletePod(blocker.name);
    await pod.settled(wanted);
    await pod.resize(small);
    await pod.settled(small);
  });

  test("to a memory limit below what is in use fails, with an error in the status, until it is changed", async () => {
    const command = ["sh", "-c", "head -c 40000000 /dev/zero > /dev/shm/used; sleep 100000"];
    const used = await ResizedPod.start(node, "used", { resources: large, command });
    const cgroup = (await used.cgroups()).container;
    await waitFor(async () => assert.ok((await node.memoryUsage(cgroup)) > 40_000_000));
    await used.resize(resources(400, 32));
    const condition = await waitFor(async () => {
      const { PodResizeInProgress: found } = await used.conditions();
      assert.equal(found?.reason, "Error");
      return found;
    });
    assert.match(
      condition.message ?? "",
      /^cannot decrease memory limits: \[attempting to set pod memory limit \(33554432\) below current usage \(\d+\), attempting to set container "c" memory limit/,
    );
    // The message has the current usage, so another usage causes another event.
    await waitFor(async () => {
      const [first] = await used.events("ResizeError");
      assert.match(first ?? "", /^Pod resize error: \{"containers":/);
    });
    await used.resize(large);
    await used.settled(large);
    await node.deletePod("used");
    await node.isGone("used");
  });

  test("of a sidecar, and of the pod as a whole, changes their cgroups too", async () => {
    const whole = (cpu: number): ResourceRequirements => ({
      limits: { cpu: `${cpu}m`, memory: "128Mi" },
      requests: { cpu: "20m", memory: "64Mi" },
    });
    const sidecar = { name: "side", image: busyboxName, imagePullPolicy: "Never", command: sleeper };
    const initContainers = [
      { ...sidecar, restartPolicy: "Always" as const, resources: { limits: { memory: "32Mi" } } },
    ];
    const both = await ResizedPod.start(node, "both", {}, { resources: whole(200), initContainers });
    const containers = await node.containersOf("both");
    const { pod: podCgroup } = await both.cgroups();
    await both.patch({
      resources: whole(600),
      initContainers: [
        { name: "side", resources: { limits: { memory: "48Mi" }, requests: { memory: "48Mi" } } },
      ],
    });
    await waitFor(async () => {
      assert.deepEqual(await both.conditions(), {});
      const { status } = await both.get();
      assert.deepEqual((status as { resources?: ResourceRequirements }).resources?.limits, whole(600).limits);
      assert.equal(status?.initContainerStatuses?.[0]?.resources?.limits?.memory, "48Mi");
    });
    const limits = await both.limits();
    assert.deepEqual([limits.get(podCgroup)?.cpuQuotaUs, limits.size], [60_000n, 3]);
    const memory = [...limits]
      .filter(([path]) => path !== podCgroup)
      .map(([, { memoryLimit }]) => memoryLimit);
    assert.deepEqual(new Set(memory), new Set([BigInt(128 << 20), BigInt(48 << 20)]));
    const ids = (of: typeof containers) => new Set(of.map(({ id }) => id));
    assert.deepEqual(ids(await node.containersOf("both")), ids(containers), "none was restarted");
    await node.deletePod("both");
    await node.isGone("both");
  });

  test("is kept by a restarted agent and a restarted container", async () => {
    await pod.resize(large);
    await pod.settled(large);
    await node.agent.end("SIGKILL");
    node.startAgent();
    await pod.settled(large);
    const id = await idOf("resized");
    await node.runtime.stopContainer(id, 0);
    await waitFor(async () => assert.notEqual(await idOf("resized"), id));
    await pod.settled(large);
  });
});
