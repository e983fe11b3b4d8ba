import assert from "node:assert/strict";
import { test } from "node:test";
import { FakeClock } from "../../../lib/base/fake-clock.ts";
import { metricValues } from "../../../lib/base/fixtures.ts";
import { silentLogger } from "../../../lib/base/logger.ts";
import { createMetrics } from "../../../lib/base/metrics.ts";
import { msBetween } from "../../../lib/base/time.ts";
import { fakePod } from "../../../lib/model/fake-pod.ts";
import { annotationSource, type Pod, type PodUid, podRef } from "../../../lib/model/pod.ts";
import type { PodFailure } from "../../../lib/model/pod-failure.ts";
import { podAdmission } from "./pod-admission.ts";

const critical = 2_000_000_000;

function pod(name: string, cpu: string, priority?: number, more: object = {}): Pod {
  return fakePod({
    metadata: { name, uid: name as PodUid, annotations: { [annotationSource]: "api" } },
    spec: {
      terminationGracePeriodSeconds: 20,
      ...(priority !== undefined && { priority }),
      containers: [{ resources: { requests: { cpu } } }],
      ...more,
    },
  });
}

/** A node with two CPUs and these pods, which all run. */
function setUp(...running: Pod[]) {
  const clock = new FakeClock();
  const metrics = createMetrics();
  const active = new Map(running.map((p) => [p.metadata.uid, p]));
  const runs = new Set(active.keys());
  const evicted = new Map<PodUid, PodFailure>();
  const terminating = new Set<PodUid>();
  const events: string[] = [];
  const { admit } = podAdmission({
    nodeName: "n",
    allocatable: { cpu: "2", memory: "4Gi" },
    cpus: 2,
    maxPods: 10,
    podsPerCore: 0,
    allowedUnsafeSysctls: [],
    podLevelResources: true,
    declaredFeatures: () => undefined,
    runtime: { supplementalGroupsPolicy: () => true },
    activePods: () => [...active.values()],
    runs: (uid) => runs.has(uid),
    clock,
    metrics,
    logger: silentLogger,
    events: {
      normal: () => assert.fail("all are warnings"),
      warning: (p, reason, message) => events.push(`${podRef(p)} ${reason}: ${message}`),
    },
    isTerminating: (uid) => terminating.has(uid),
    evict: (uid, failure) => {
      evicted.set(uid, failure);
      terminating.add(uid);
    },
  });
  const decide = (p: Pod) => {
    active.set(p.metadata.uid, p);
    const admission = admit(p);
    return admission.kind === "rejected" ? admission.failure.reason : admission.kind;
  };
  const gone = (...names: string[]) => {
    for (const name of names as PodUid[]) for (const set of [active, runs, terminating]) set.delete(name);
  };
  const victims = () => [...evicted.keys()];
  return { clock, metrics, active, evicted, terminating, events, admit, decide, gone, victims };
}

// parity: event Preempting
test("a critical pod preempts, waits until its victims have terminated, and is then admitted", async () => {
  const { clock, metrics, evicted, events, admit, active, gone } = setUp(pod("a", "1500m"), pod("b", "400m"));
  const dns = pod("dns", "500m", critical);
  active.set(dns.metadata.uid, dns);
  const admission = admit(dns);
  assert.ok(admission.kind === "waiting");
  assert.equal(
    admission.text,
    "waiting for others to terminate, lacks cpu 400m: default/b (Burstable, cpu 400m)",
  );
  assert.equal(msBetween(clock.monotonic(), admission.until), 30_000, "one and a half grace periods");
  assert.deepEqual(
    [...evicted],
    [
      [
        "b",
        {
          phase: "Failed",
          untilEnded: true,
          reason: "Preempting",
          message: "Preempted in order to admit critical pod",
          detail:
            "critical pod default/dns lacked cpu 400m; the fewest and lowest-ranked pods that free it: default/b (Burstable, cpu 400m)",
          conditions: [
            {
              type: "DisruptionTarget",
              status: "True",
              reason: "TerminationByKubelet",
              message: "Pod was preempted by Kubelet to accommodate a critical pod.",
            },
          ],
        },
      ],
    ],
  );
  assert.deepEqual(events, ["default/b Preempting: Preempted in order to admit critical pod"]);
  assert.deepEqual(await metricValues(metrics, "kubelet_preemptions"), { "preemption_signal=cpu": 1 });
  assert.deepEqual(admit(dns), admission, "decided again, it waits for the same");
  gone("b");
  assert.deepEqual(admit(dns), { kind: "admitted" });
  assert.equal(evicted.size, 1);
});

test("a critical pod that fits preempts no other", () => {
  const { decide, victims } = setUp(pod("a", "1500m"));
  assert.deepEqual([decide(pod("dns", "500m", critical)), victims()], ["admitted", []]);
});

test("other reasons reject a critical pod before it preempts any", () => {
  const port = { containers: [{ name: "c", image: "i", ports: [{ containerPort: 80, hostPort: 80 }] }] };
  const { decide, victims } = setUp(pod("a", "2"), pod("b", "0", undefined, port));
  const more = (spec: object) => pod("dns", "1", critical, spec);
  assert.equal(decide(more({ nodeSelector: { disk: "ssd" } })), "NodeAffinity");
  assert.equal(decide(more(port)), "NodePorts");
  assert.deepEqual(victims(), []);
});

test("a critical pod that cannot get enough is rejected, and preempts none", () => {
  const { admit, active, victims } = setUp(pod("a", "500m"), pod("system", "1500m", critical));
  const dns = pod("dns", "1500m", critical);
  active.set(dns.metadata.uid, dns);
  assert.deepEqual(admit(dns), {
    kind: "rejected",
    failure: {
      phase: "Failed",
      reason: "UnexpectedAdmissionError",
      message:
        "Pod was rejected: Unexpected error while attempting to recover from admission failure: preemption: error finding a set of pods to preempt: no set of running pods found to reclaim resources: [(res: cpu, q: 1000), ]",
    },
  });
  assert.deepEqual(victims(), []);
});

test("a critical pod waits for pods that are already terminating, and does not preempt them", () => {
  const { terminating, decide, victims } = setUp(pod("a", "1"), pod("b", "1"));
  terminating.add("a" as PodUid);
  assert.equal(decide(pod("dns", "1", critical)), "waiting");
  assert.deepEqual(victims(), []);
});

test("resources that a critical pod waits for are reserved: other pods wait with it, or are rejected", () => {
  const { decide, victims, gone } = setUp(pod("a", "1500m"));
  assert.equal(decide(pod("dns", "1", critical)), "waiting");
  assert.equal(decide(pod("small", "100m")), "waiting", "it fits once a is gone");
  assert.equal(decide(pod("large", "1500m")), "OutOfcpu", "it does not");
  gone("large", "a");
  assert.equal(decide(pod("greedy", "1100m")), "OutOfcpu", "the resources of a are already reserved");
  gone("greedy");
  assert.deepEqual(
    [decide(pod("dns", "1", critical)), decide(pod("small", "100m")), victims()],
    ["admitted", "admitted", ["a"]],
  );
});

test("a pod that fits alongside all running pods does not wait", () => {
  const { decide } = setUp(pod("a", "1500m"));
  assert.equal(decide(pod("dns", "1", critical)), "waiting");
  assert.equal(decide(pod("best-effort", "0")), "admitted");
});

test("critical pods are served in their order: a later one does not delay an earlier one", () => {
  const { decide, victims, gone } = setUp(pod("a", "1"), pod("b", "1"));
  assert.equal(decide(pod("first", "1", critical)), "waiting");
  assert.equal(decide(pod("second", "1", critical)), "waiting");
  assert.deepEqual(victims(), ["b", "a"]);
  gone("b");
  assert.equal(decide(pod("second", "1", critical)), "waiting");
  assert.equal(decide(pod("first", "1", critical)), "admitted");
  gone("a");
  assert.equal(decide(pod("second", "1", critical)), "admitted");
});

test("a critical pod that is already running, since before a restart of the agent, does not wait", () => {
  const { terminating, decide } = setUp(pod("a", "2"), pod("dns", "1", critical));
  terminating.add("a" as PodUid);
  assert.equal(decide(pod("dns", "1", critical)), "admitted");
  assert.equal(decide(pod("b", "1")), "OutOfcpu", "no pod waits for it");
});

test("nothing is reserved for a critical pod that is deleted while it waits", () => {
  const { decide, gone } = setUp(pod("a", "1500m"));
  assert.equal(decide(pod("dns", "2", critical)), "waiting");
  gone("dns", "a");
  assert.equal(decide(pod("large", "2")), "admitted");
});

test("a critical pod is admitted after one and a half grace periods, even if some pods did not terminate", async () => {
  const { clock, decide, events } = setUp(pod("a", "2"));
  assert.equal(decide(pod("dns", "1", critical)), "waiting");
  await clock.advance(29_999);
  assert.equal(decide(pod("dns", "1", critical)), "waiting");
  await clock.advance(1);
  assert.equal(decide(pod("dns", "1", critical)), "admitted");
  assert.equal(
    events.at(-1),
    "default/a ExceededGracePeriod: Container runtime did not kill the pod within specified grace period.",
  );
});

test("a pod is preempted if the node has reached maxPods", async () => {
  const all = Array.from({ length: 10 }, (_, i) => pod(`p${i}`, "100m"));
  const { metrics, decide, victims } = setUp(...all);
  assert.equal(decide(pod("dns", "0", critical)), "waiting");
  assert.deepEqual(victims(), ["p9"], "of equals the last one");
  assert.deepEqual(await metricValues(metrics, "kubelet_preemptions"), { "preemption_signal=pods": 1 });
});
