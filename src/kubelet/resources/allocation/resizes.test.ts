import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { FakeClock } from "../../../lib/base/fake-clock.ts";
import { silentLogger } from "../../../lib/base/logger.ts";
import { createMetrics } from "../../../lib/base/metrics.ts";
import { fakePod } from "../../../lib/model/fake-pod.ts";
import type { Pod, PodUid } from "../../../lib/model/pod.ts";
import { amountsOf, milliOf } from "../../../lib/model/resources.ts";
import { Allocation } from "./allocation.ts";
import { ResizeConditions } from "./resize-conditions.ts";
import { createResizeMetrics } from "./resize-metrics.ts";
import { Resizes } from "./resizes.ts";

const gates = { podLevel: true, initContainers: true };
const aPod = (name: string, cpu: number, generation = 1, priority = 0): Pod =>
  fakePod({
    metadata: { name, uid: name as PodUid, generation },
    spec: { priority, containers: [{ name: "c", resources: { requests: { cpu: `${cpu}m` } } }] },
  });
const cpuOf = (pod: Pod) => Number(milliOf(amountsOf(pod.spec.containers[0]?.resources?.requests), "cpu"));

/** A node with 1000m of CPU. */
async function setUp(t: TestContext) {
  const rootDir = mkdtempSync(join(tmpdir(), "resizes-"));
  t.after(() => rmSync(rootDir, { recursive: true }));
  const allocation = new Allocation({ rootDir, gates, logger: silentLogger });
  await allocation.start();
  t.after(() => allocation.flushed());
  const clock = new FakeClock();
  const conditions = new ResizeConditions(clock);
  const metrics = createMetrics();
  const pods = new Map<PodUid, Pod>();
  const events: string[] = [];
  const changes: string[] = [];
  const allocated: string[] = [];
  const node = { isReady: true, isInfeasible: false, broken: "" };
  const resizes = new Resizes({
    allocation,
    conditions,
    clock,
    logger: silentLogger,
    metrics: createResizeMetrics(metrics, conditions),
    limits: {
      gates,
      podLevelResources: true,
      exclusiveCpus: false,
      exclusiveMemory: false,
      resources: { mayUseSwap: () => node.isInfeasible },
    },
    desired: pods,
    admission: {
      rejectResize(pod) {
        if (node.broken === pod.metadata.name) throw new Error("broken");
        const others = [...pods.values()].filter((other) => other.metadata.uid !== pod.metadata.uid);
        const used = others.reduce((sum, other) => sum + cpuOf(allocation.allocatedPod(other)), 0);
        return used + cpuOf(pod) > 1000 ? { reason: "OutOfcpu", message: `used: ${used}` } : undefined;
      },
    },
    initialSync: { isComplete: () => node.isReady },
    events: {
      normal: (pod, reason, message) => events.push(`${pod.metadata.name} ${reason} ${message}`),
      warning: (pod, reason, message) => events.push(`${pod.metadata.name} ${reason} ${message}`),
    },
    onAllocated: (uid) => {
      changes.push(uid);
      allocated.push(uid);
    },
    onChange: (uid) => changes.push(uid),
  });
  const stop = new AbortController();
  await resizes.start(stop.signal);
  t.after(() => stop.abort());
  return {
    resizes,
    allocation,
    conditions,
    pods,
    events,
    changes,
    node,
    clock,
    metrics,
    add(...added: Pod[]) {
      for (const pod of added) {
        pods.set(pod.metadata.uid, pod);
        if (!allocation.differs(pod)) allocation.admitted(pod);
      }
      resizes.added(added);
    },
    resize(pod: Pod) {
      pods.set(pod.metadata.uid, pod);
      resizes.updated([pod]);
    },
    remove(name: string) {
      pods.delete(name as PodUid);
      resizes.removed([name as PodUid]);
    },
    allocated: (name: string) => cpuOf(allocation.allocatedPod(pods.get(name as PodUid)!)),
    pending: (name: string) => conditions.get(name as PodUid, "PodResizePending"),
    inProgress: (name: string) => conditions.get(name as PodUid, "PodResizeInProgress"),
    metric: async (name: string) =>
      (await metrics.registry.getSingleMetricAsString(name))
        .split("\n")
        .filter((line) => !line.startsWith("#")),
  };
}

// parity: event ResizeStarted, event ResizeCompleted
test("a resize that fits is allocated immediately, and reported until it is completed", async (t) => {
  const node = await setUp(t);
  node.add(aPod("a", 100));
  node.resize(aPod("a", 500, 2));
  assert.equal(node.allocated("a"), 500);
  assert.equal(node.inProgress("a")?.generation, 2);
  const summary = '{"containers":[{"name":"c","resources":{"requests":{"cpu":"500m"}}}],"generation":2}';
  assert.deepEqual(node.events.splice(0), [`a ResizeStarted Pod resize started: ${summary}`]);
  node.resizes.progressed(aPod("a", 500, 2), true);
  assert.deepEqual(node.changes.splice(0), ["a"]);
  node.resizes.progressed(aPod("a", 500, 2), false);
  assert.deepEqual(node.events, [`a ResizeCompleted Pod resize completed: ${summary}`]);
  assert.deepEqual([node.inProgress("a"), node.changes], [undefined, ["a"]]);
});

test("a worker that still has the previous allocation does not complete the new one", async (t) => {
  const node = await setUp(t);
  node.add(aPod("a", 100));
  node.resize(aPod("a", 500, 2));
  node.resizes.progressed(aPod("a", 100), false);
  node.resizes.failed(aPod("a", 100), "too late");
  assert.deepEqual([node.inProgress("a")?.generation, node.inProgress("a")?.reason], [2, ""]);
});

// parity: event ResizeError
test("an error is reported once, with the generation of the resize, and dropped by the next resize", async (t) => {
  const node = await setUp(t);
  node.add(aPod("a", 100));
  node.resize(aPod("a", 500, 2));
  node.events.splice(0);
  for (let i = 0; i < 2; i++) node.resizes.failed(aPod("a", 500, 3), "no memory");
  assert.equal(node.events.length, 1);
  assert.match(
    node.events[0] ?? "",
    /^a ResizeError Pod resize error: .*"generation":2,"error":"no memory"}$/,
  );
  assert.equal(node.inProgress("a")?.message, "no memory");
  node.resizes.progressed(aPod("a", 500, 3), true);
  assert.equal(node.inProgress("a")?.reason, "Error", "until it succeeds");
  node.resize(aPod("a", 600, 4));
  assert.deepEqual([node.inProgress("a")?.reason, node.inProgress("a")?.generation], ["", 4]);
});

test("an error and the end of a resize do not wake the worker that found them", async (t) => {
  const node = await setUp(t);
  node.add(aPod("a", 100));
  node.resize(aPod("a", 500, 3));
  assert.equal(node.allocated.length, 1);
  const changes = node.changes.length;
  for (const usage of [1, 2, 3]) node.resizes.failed(aPod("a", 500, 3), `current usage (${usage})`);
  assert.equal(node.changes.length, changes + 3);
  node.resizes.progressed(aPod("a", 500, 3), false);
  assert.equal(node.allocated.length, 1);
});

// parity: event ResizeDeferred
test("a resize that does not fit is deferred, with one event, until resources are free", async (t) => {
  const node = await setUp(t);
  node.add(aPod("a", 300), aPod("b", 300), aPod("c", 300));
  node.resize(aPod("a", 900, 2));
  assert.deepEqual([node.allocated("a"), node.pending("a")?.reason], [300, "Deferred"]);
  assert.deepEqual(node.pending("a")?.message, "used: 600");
  const since = node.pending("a")?.since;
  await node.clock.advance(1000);
  node.remove("b");
  assert.equal(node.pending("a")?.message, "used: 300", "the message is current");
  assert.equal(node.pending("a")?.since, since);
  assert.equal(node.events.length, 1);
  assert.match(node.events[0] ?? "", /^a ResizeDeferred Pod resize OutOfcpu: \{"containers":/);
  node.pods.delete("c" as PodUid);
  node.resizes.terminated("c" as PodUid);
  assert.deepEqual([node.allocated("a"), node.pending("a")], [900, undefined]);
  assert.deepEqual(await node.metric("kubelet_pod_deferred_accepted_resizes_total"), [
    'kubelet_pod_deferred_accepted_resizes_total{retry_trigger="pod_terminated"} 1',
  ]);
});

test("deferred resizes are retried periodically", async (t) => {
  const node = await setUp(t);
  node.add(aPod("a", 300), aPod("b", 300));
  node.resize(aPod("a", 900, 2));
  node.pods.delete("b" as PodUid);
  await node.clock.advance(3 * 60_000);
  assert.equal(node.allocated("a"), 900);
});

test("what another resize frees goes to the pod with the highest priority", async (t) => {
  const node = await setUp(t);
  node.add(aPod("low", 100), aPod("high", 100, 1, 5), aPod("big", 700));
  node.resize(aPod("low", 500, 2));
  node.resize(aPod("high", 500, 2, 5));
  assert.deepEqual([node.pending("low")?.reason, node.pending("high")?.reason], ["Deferred", "Deferred"]);
  node.resize(aPod("big", 300, 2));
  assert.deepEqual(["big", "high", "low"].map(node.allocated), [300, 500, 100]);
});

test("a resize that is reverted is no longer pending", async (t) => {
  const node = await setUp(t);
  node.add(aPod("a", 300));
  node.resize(aPod("a", 2000, 2));
  assert.equal(node.pending("a")?.reason, "Deferred");
  node.changes.length = 0;
  node.resize(aPod("a", 300, 3));
  assert.deepEqual([node.pending("a"), node.inProgress("a"), node.changes], [undefined, undefined, ["a"]]);
});

// parity: event ResizeInfeasible
test("an infeasible resize is not retried until the spec requests something else", async (t) => {
  const node = await setUp(t);
  node.node.isInfeasible = true;
  const withMemory = (memory: string, generation: number): Pod => {
    const pod = aPod("a", 100, generation);
    return fakePod({
      metadata: pod.metadata,
      spec: { containers: [{ name: "c", resources: { requests: { memory } } }] },
    });
  };
  node.add(withMemory("1Gi", 1));
  node.resize(withMemory("2Gi", 2));
  assert.equal(node.pending("a")?.reason, "Infeasible");
  assert.match(
    node.events[0] ?? "",
    /^a ResizeInfeasible Pod resize Infeasible: .*"error":"In-place resize of/,
  );
  node.node.isInfeasible = false;
  node.resizes.retry("periodic_retry");
  assert.equal(node.pending("a")?.reason, "Infeasible");
  assert.deepEqual(await node.metric("kubelet_pod_infeasible_resizes_total"), [
    'kubelet_pod_infeasible_resizes_total{reason_detail="swap_limitation"} 1',
  ]);
  node.resize(withMemory("3Gi", 3));
  assert.equal(node.pending("a"), undefined);
});

test("nothing is decided before all pods of the node are known", async (t) => {
  const node = await setUp(t);
  node.node.isReady = false;
  node.add(aPod("a", 100));
  node.resize(aPod("a", 500, 2));
  assert.equal(node.allocated("a"), 100);
  node.node.isReady = true;
  node.resizes.retry("pods_added");
  assert.equal(node.allocated("a"), 500);
});

test("a restarted agent continues with what the status has, without another event", async (t) => {
  const node = await setUp(t);
  const before = aPod("a", 300);
  node.allocation.admitted(before);
  const lastTransitionTime = "2026-01-01T00:00:00Z";
  const pending = { type: "PodResizePending", status: "True", reason: "Deferred", message: "used: 0" };
  const conditions = [{ ...pending, observedGeneration: 2, lastTransitionTime }] as const;
  node.add({ ...aPod("a", 2000, 2), status: { phase: "Running", conditions: [...conditions] } });
  assert.deepEqual(node.events, []);
  assert.equal(new Date(Number(node.pending("a")?.since)).toISOString(), "2026-01-01T00:00:00.000Z");
});

test("a pod whose resize cannot be decided does not block the others", async (t) => {
  const node = await setUp(t);
  node.add(aPod("a", 100, 1, 9), aPod("b", 100));
  node.node.broken = "a";
  node.resize(aPod("a", 200, 2, 9));
  node.resize(aPod("b", 200, 2));
  assert.deepEqual(["a", "b"].map(node.allocated), [100, 200]);
  node.node.broken = "";
  node.resizes.retry("periodic_retry");
  assert.equal(node.allocated("a"), 200);
});

// parity: metric /metrics kubelet_pod_in_progress_resizes
test("requested, pending and running resizes are counted", async (t) => {
  const node = await setUp(t);
  node.add(aPod("a", 100), aPod("b", 100));
  node.resize(aPod("a", 200, 2));
  node.resize(aPod("b", 2000, 2));
  assert.deepEqual(await node.metric("kubelet_container_requested_resizes_total"), [
    'kubelet_container_requested_resizes_total{resource="cpu",requirement="requests",operation="increase"} 2',
  ]);
  assert.deepEqual(await node.metric("kubelet_pod_pending_resizes"), [
    'kubelet_pod_pending_resizes{reason="deferred"} 1',
  ]);
  assert.deepEqual(await node.metric("kubelet_pod_in_progress_resizes"), [
    "kubelet_pod_in_progress_resizes 1",
  ]);
  node.resizes.terminated("a" as PodUid);
  assert.deepEqual(await node.metric("kubelet_pod_in_progress_resizes"), [
    "kubelet_pod_in_progress_resizes 0",
  ]);
});
