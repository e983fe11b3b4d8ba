import assert from "node:assert/strict";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import type { Pod } from "../../src/lib/model/pod.ts";
import { waitFor } from "../e2e/wait-for.ts";
import { container, nodeName, TestCluster } from "./cluster-node.ts";
import { explained } from "./explained.ts";

const systemCritical = 2_000_000_000;
const message = "Preempted in order to admit critical pod";
/** Ignores SIGTERM: it terminates at the end of its grace period. */
const ignoresTerm = ["sh", "-c", "trap '' TERM; while true; do sleep 1000; done"];

/** Requests a part of all CPUs of the node. */
const requests = (part: number) => ({
  requests: { cpu: `${Math.floor(part * availableParallelism() * 1000)}m` },
});
const pod = (part: number, more: object = {}) => ({
  containers: [container({ resources: requests(part), ...more })],
});

function isPreempted(pod: Pod): void {
  const { phase, reason, message: text } = pod.status ?? {};
  assert.deepEqual([phase, reason, text], ["Failed", "Preempting", message]);
  wasDisrupted(pod);
}

function wasDisrupted({ status }: Pod): void {
  const condition = status?.conditions?.find(({ type }) => type === "DisruptionTarget");
  assert.deepEqual(
    [condition?.status, condition?.reason, condition?.message],
    ["True", "TerminationByKubelet", "Pod was preempted by Kubelet to accommodate a critical pod."],
  );
}

test("a critical pod on a full node preempts the cheapest pod, waits for it, and runs; others keep running", async (t) => {
  const cluster = await TestCluster.start(t);
  await cluster.startAgent();
  const { waitForPod, waits } = explained(join(cluster.dir, "root"));
  const large = cluster.addPod("large", pod(0.6));
  cluster.addPod("small", { ...pod(0.3, { command: ignoresTerm }), terminationGracePeriodSeconds: 3 });
  await cluster.runs("large");
  await cluster.runs("small");
  const [kept] = cluster.runningOf(large.metadata.uid);

  const { uid } = cluster.addPod("dns", { ...pod(0.2), priority: systemCritical }).metadata;
  await waits(
    "dns",
    "admission",
    /^waiting for others to terminate, lacks cpu \d+m: default\/small \(\w+, cpu \d+m\)$/,
  );
  assert.equal(cluster.runningOf(uid).length, 0);
  // It fits alongside the critical pod, but not alongside its victim.
  cluster.addPod("later", pod(0.15));
  await waits("later", "admission", /critical pods are admitted.*default\/dns/);
  cluster.addPod("too-late", pod(0.3));
  await cluster.waitForPod("too-late", ({ status }) => assert.equal(status?.reason, "OutOfcpu"));

  await cluster.runs("dns");
  await cluster.runs("later");
  isPreempted(await cluster.waitForPod("small", isPreempted));
  const { cause } = await waitForPod("small", ({ failedAt }) => assert.ok(failedAt));
  assert.match(
    cause ?? "",
    /^Preempting: Preempted in order to admit critical pod: critical pod default\/dns lacked cpu \d+m; the fewest and lowest-ranked pods that free it: default\/small \(\w+, cpu \d+m\)$/,
  );
  await waitFor(() => assert.deepEqual(cluster.events("small", "Preempting"), [message]));
  assert.deepEqual(
    cluster.runningOf(large.metadata.uid).map(({ id }) => id),
    [kept?.id],
  );

  // A static pod is critical too; it has no priority, so that it cannot preempt the other critical pod.
  await cluster.placeManifest("static", pod(0.7));
  await cluster.waitForPod(`static-${nodeName}`, ({ status }) => assert.equal(status?.phase, "Running"));
  // Its container ends with 0 at SIGTERM.
  await cluster.waitForPod("large", (large) => {
    assert.deepEqual([large.status?.phase, large.status?.reason], ["Succeeded", undefined]);
    wasDisrupted(large);
  });
  await cluster.runs("dns");
  await cluster.placeManifest("too-large", pod(0.9));
  await cluster.waitForPod(`too-large-${nodeName}`, ({ status }) => {
    assert.equal(status?.reason, "UnexpectedAdmissionError");
    assert.match(
      status?.message ?? "",
      /^Pod was rejected: .*: preemption: error finding a set of pods to preempt: no set of running pods found to reclaim resources: \[\(res: cpu, q: \d+\), \]$/,
    );
  });
  await cluster.runs("dns");
});

test("an agent that is restarted during a preemption preempts no other pod, and runs the critical one", async (t) => {
  const cluster = await TestCluster.start(t);
  await cluster.startAgent();
  const { waits } = explained(join(cluster.dir, "root"));
  const kept = cluster.addPod("kept", pod(0.45));
  const slow = { ...pod(0.4, { command: ignoresTerm }), terminationGracePeriodSeconds: 6 };
  const victim = cluster.addPod("victim", slow);
  await cluster.runs("kept");
  await cluster.runs("victim");
  const { uid } = cluster.addPod("dns", { ...pod(0.3), priority: systemCritical }).metadata;
  await waits("dns", "admission", /default\/victim/);
  await cluster.stopAgent();
  assert.equal(cluster.runningOf(victim.metadata.uid).length, 1, "it is stopped in the middle");
  const before = cluster.containersOf(victim.metadata.uid).length;

  await cluster.startAgent();
  await cluster.runs("dns");
  isPreempted(await cluster.waitForPod("victim", isPreempted));
  assert.equal(cluster.runningOf(victim.metadata.uid).length, 0);
  assert.ok(cluster.containersOf(victim.metadata.uid).length <= before, "it was never started again");
  assert.equal(cluster.runningOf(kept.metadata.uid).length, 1);
  assert.equal(cluster.runningOf(uid).length, 1);
  assert.deepEqual(cluster.events("kept", "Preempting"), []);
  assert.equal(cluster.events("victim", "Preempting").length, 1, "preempted once");
  // Once more, when all of it is over.
  await cluster.stopAgent();
  await cluster.startAgent();
  await cluster.runs("dns");
  await cluster.runs("kept");
  isPreempted(await cluster.waitForPod("victim", isPreempted));
  assert.equal(cluster.runningOf(victim.metadata.uid).length, 0);
});
