import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { settle } from "../../../lib/base/fake-clock.ts";
import { wallTime } from "../../../lib/base/time.ts";
import type { ContainerId } from "../../../lib/clients/cri/cri.ts";
import { failure, success } from "./attempt-result.ts";
import { ProbedPod, probe, startProbedPod } from "./fake-probed-pod.ts";

describe("a startup probe", () => {
  const spec = {
    containers: [
      { startupProbe: probe({ periodSeconds: 1 }), readinessProbe: probe(), livenessProbe: probe() },
    ],
  };

  it("blocks the other probes; when it succeeds, readiness follows immediately and liveness at its tick", async () => {
    const pod = await startProbedPod(spec);
    let slow = true;
    pod.failWhile(() => slow);
    pod.setContainer("c0#1", "running");
    await pod.clock.advance(1500);
    assert.deepEqual(pod.takeAttempts(), ["0 startup c0#1", "1 startup c0#1"]);
    slow = false;
    await pod.clock.advance(500);
    assert.deepEqual(pod.takeAttempts(), ["2 startup c0#1", "2 readiness c0#1"]);
    assert.equal(pod.result("startup", "c0#1"), "success");
    assert.equal(pod.result("readiness", "c0#1"), "success");
    await pod.clock.advance(10_000);
    assert.deepEqual(pod.takeAttempts(), ["10 liveness c0#1", "12 readiness c0#1"]);
  });

  it("is not executed again after it succeeded, until there is a new container", async () => {
    const pod = await startProbedPod({ containers: [{ startupProbe: probe({ periodSeconds: 1 }) }] });
    pod.setContainer("c0#1", "running");
    await pod.clock.advance(5000);
    assert.deepEqual(pod.takeAttempts(), ["0 startup c0#1"]);
    pod.setContainer("c0#2", "running");
    await pod.clock.advance(0);
    assert.deepEqual(pod.takeAttempts(), ["5 startup c0#2"]);
  });

  it("is not executed again after it reached the failure threshold", async () => {
    const pod = await startProbedPod(spec);
    pod.failWhile(() => true);
    pod.setContainer("c0#1", "running");
    await pod.clock.advance(10_000);
    assert.deepEqual(pod.takeAttempts(), ["0 startup c0#1", "1 startup c0#1", "2 startup c0#1"]);
    assert.equal(pod.result("startup", "c0#1"), "failure");
    assert.equal(pod.clock.pending, 0);
  });

  it("does not block other containers", async () => {
    const pod = await startProbedPod({
      containers: [{ startupProbe: probe() }, { readinessProbe: probe() }],
    });
    pod.failWhile((kind) => kind === "startup");
    pod.setContainer("c0#1", "running");
    pod.setContainer("c1#1", "running");
    await pod.clock.advance(0);
    assert.equal(pod.result("readiness", "c1#1"), "success");
  });
});

describe("after a restart of the agent", () => {
  const old = { startedAt: wallTime(500_000) };
  const spec = { containers: [{ startupProbe: probe(), readinessProbe: probe() }] };

  it("a container that was started and ready remains so until probes report otherwise", async () => {
    const pod = await startProbedPod(spec, { previousOutcome: () => "success" });
    pod.failWhile(() => true);
    pod.setContainer("c0#1", "running", old);
    assert.equal(pod.result("startup", "c0#1"), "success");
    assert.equal(pod.result("readiness", "c0#1"), "success");
    await pod.clock.advance(25_000);
    assert.deepEqual(pod.attempts, ["5 readiness c0#1", "15 readiness c0#1", "25 readiness c0#1"]);
    assert.deepEqual(pod.changes.at(-1), "25 readiness c0#1 failure");
  });

  it("a container without previous outcome is probed again", async () => {
    const pod = await startProbedPod(spec);
    pod.setContainer("c0#1", "running", old);
    assert.equal(pod.result("startup", "c0#1"), "unknown");
    assert.equal(pod.result("readiness", "c0#1"), "failure");
    await pod.clock.advance(5000);
    assert.deepEqual(pod.attempts, ["5 startup c0#1", "5 readiness c0#1"]);
  });

  it("a previous failure does not kill a container", async () => {
    const pod = await startProbedPod(
      { containers: [{ startupProbe: probe(), livenessProbe: probe() }] },
      { previousOutcome: () => "failure" },
    );
    pod.setContainer("c0#1", "running", old);
    assert.equal(pod.result("startup", "c0#1"), "unknown");
    assert.equal(pod.result("liveness", "c0#1"), "success");
  });

  it("younger containers have no previous outcome", async () => {
    const pod = await startProbedPod(spec, { previousOutcome: () => "success" });
    pod.setContainer("c0#1", "running");
    assert.equal(pod.result("readiness", "c0#1"), "failure");
  });

  it("first probes of all kinds are spread over a period, whenever the pod is added", async () => {
    let draws = 0;
    const random = () => [0.1, 0.4, 0.7][draws++]!;
    const pod = new ProbedPod(
      { containers: [{ readinessProbe: probe(), livenessProbe: probe() }, { readinessProbe: probe() }] },
      { random },
    );
    await pod.manager.start(pod.stop.signal);
    pod.setContainer("c0#1", "running");
    pod.setContainer("c1#1", "running");
    // The API server was unavailable for an hour.
    await pod.clock.advance(3_600_000);
    pod.manager.addPod(pod.pod);
    await pod.clock.advance(9_999);
    assert.deepEqual(pod.takeAttempts(), [
      "3601 readiness c0#1",
      "3604 readiness c1#1",
      "3607 liveness c0#1",
    ]);
  });

  it("a previous outcome that becomes known later is used until a probe has a result", async () => {
    let known = false;
    const pod = await startProbedPod(spec, { previousOutcome: () => (known ? "success" : undefined) });
    pod.setContainer("c0#1", "running", old);
    assert.equal(pod.result("readiness", "c0#1"), "failure");
    known = true;
    pod.manager.restore(pod.uid);
    assert.equal(pod.result("startup", "c0#1"), "success");
    assert.equal(pod.result("readiness", "c0#1"), "success");
    pod.failWhile(() => true);
    await pod.clock.advance(9_999);
    assert.deepEqual(
      pod.takeAttempts().map((line) => line.split(" ")[1]),
      ["readiness"],
      "a startup probe that has passed is not executed again",
    );
    await pod.clock.advance(20_000);
    pod.manager.restore(pod.uid);
    assert.equal(pod.result("readiness", "c0#1"), "failure");
  });
});

describe("a pod that terminates", () => {
  it("is probed for readiness only", async () => {
    const pod = await startProbedPod({
      containers: [{ livenessProbe: probe(), readinessProbe: probe() }, { startupProbe: probe() }],
    });
    pod.failWhile((kind) => kind === "startup");
    pod.setContainer("c0#1", "running");
    pod.setContainer("c1#1", "running");
    await pod.clock.advance(5000);
    pod.takeAttempts();
    pod.manager.stopLivenessAndStartup(pod.uid);
    pod.manager.addPod(pod.pod);
    pod.failWhile(() => true);
    await pod.clock.advance(25_000);
    assert.deepEqual(pod.takeAttempts(), ["10 readiness c0#1", "20 readiness c0#1", "30 readiness c0#1"]);
    assert.deepEqual(pod.changes.at(-1), "30 readiness c0#1 failure");
    assert.equal(pod.result("liveness", "c0#1"), "success");
  });

  it("gets no new probes", async () => {
    const pod = await startProbedPod({ containers: [{ livenessProbe: probe() }] });
    pod.setContainer("c0#1", "running");
    await pod.clock.advance(0);
    pod.manager.stopLivenessAndStartup(pod.uid);
    const changed = structuredClone(pod.pod);
    changed.spec.containers[0]!.livenessProbe = probe({ periodSeconds: 2 });
    pod.takeAttempts();
    pod.manager.addPod(changed);
    await pod.clock.advance(10_000);
    assert.deepEqual(pod.takeAttempts(), []);
  });

  it("leaves no results and no metrics when it is removed", async () => {
    const pod = await startProbedPod({
      containers: [{ livenessProbe: probe(), readinessProbe: probe(), startupProbe: probe() }],
    });
    pod.setContainer("c0#1", "running");
    await pod.clock.advance(0);
    assert.match(await pod.metrics.registry.metrics(), /c0/);
    pod.manager.stopLivenessAndStartup(pod.uid);
    assert.equal(pod.results.size, 3);
    pod.manager.removePod(pod.uid);
    assert.equal(pod.results.size, 0);
    assert.equal(pod.clock.pending, 0);
    assert.doesNotMatch(await pod.metrics.registry.metrics(), /c0/);
    pod.manager.observed(pod.uid);
    assert.equal(pod.results.size, 0);
  });
});

describe("a probe in progress", () => {
  async function underWay() {
    const pod = await startProbedPod({ containers: [{ livenessProbe: probe({ failureThreshold: 1 }) }] });
    const { promise, resolve } = Promise.withResolvers<ReturnType<typeof success>>();
    let signal: AbortSignal | undefined;
    pod.respond = (_kind, request) => {
      signal ??= request.signal;
      return promise;
    };
    pod.setContainer("c0#1", "running");
    await pod.clock.advance(10_000);
    return { pod, result: resolve, signal: () => signal };
  }

  it("is aborted when its container exits, and its result does not count", async () => {
    const { pod, result, signal } = await underWay();
    pod.setContainer("c0#1", "exited");
    assert.equal(signal()?.aborted, true);
    pod.setContainer("c0#2", "running");
    result(failure("sick"));
    await settle();
    assert.equal(pod.result("liveness", "c0#2"), "success");
    assert.deepEqual(pod.events, []);
  });

  it("is aborted when its container disappears", async () => {
    const { pod, signal } = await underWay();
    pod.removeContainer("c0");
    assert.equal(signal()?.aborted, true);
    assert.equal(pod.results.size, 0);
  });

  it("is aborted when the manager stops, which waits for its end and keeps the results", async () => {
    const { pod, result, signal } = await underWay();
    let done = false;
    void pod.manager.done.then(() => {
      done = true;
    });
    pod.stop.abort();
    assert.equal(signal()?.aborted, true);
    await settle();
    assert.equal(done, false);
    result(success());
    await pod.manager.done;
    assert.equal(pod.clock.pending, 0);
    assert.equal(pod.result("liveness", "c0#1"), "success");
  });

  it("continues when the pod is added again without a change", async () => {
    const { pod, signal } = await underWay();
    pod.manager.addPod(structuredClone(pod.pod));
    assert.equal(signal()?.aborted, false);
  });
});

describe("a changed probe", () => {
  it("replaces the previous one", async () => {
    const pod = await startProbedPod({ containers: [{ readinessProbe: probe() }] });
    pod.setContainer("c0#1", "running");
    await pod.clock.advance(1000);
    const changed = structuredClone(pod.pod);
    changed.spec.containers[0]!.readinessProbe = probe({ periodSeconds: 2 });
    pod.takeAttempts();
    pod.manager.addPod(changed);
    await pod.clock.advance(4000);
    assert.deepEqual(pod.takeAttempts(), ["1 readiness c0#1", "3 readiness c0#1", "5 readiness c0#1"]);
  });

  it("has its result deleted when it is removed", async () => {
    const pod = await startProbedPod({ containers: [{ readinessProbe: probe() }] });
    pod.setContainer("c0#1", "running");
    const changed = structuredClone(pod.pod);
    delete changed.spec.containers[0]!.readinessProbe;
    pod.manager.addPod(changed);
    assert.equal(pod.result("readiness", "c0#1"), undefined);
    assert.equal(pod.clock.pending, 0);
  });
});

describe("metrics", () => {
  // parity: metric /metrics/probes prober_probe_total, metric /metrics/probes prober_probe_duration_seconds
  it("count probes by result and time those that succeed", async () => {
    const pod = await startProbedPod({ containers: [{ livenessProbe: probe() }] });
    pod.respond = () => (pod.attempts.length === 1 ? failure("sick") : success());
    pod.setContainer("c0#1", "running");
    await pod.clock.advance(30_000);
    const text = await pod.metrics.registry.metrics();
    const labels = 'probe_type="Liveness",container="c0",pod="web",namespace="default"';
    const uid = `pod_uid="${pod.uid}"`;
    assert.ok(text.includes(`prober_probe_total{${labels},${uid},result="failed"} 1`), text);
    assert.ok(text.includes(`prober_probe_total{${labels},${uid},result="successful"} 2`), text);
    assert.ok(text.includes(`prober_probe_duration_seconds_count{${labels}} 2`), text);
    assert.ok(text.includes('prober_probe_duration_seconds_bucket{le="0.005"'), text);
  });
});

describe("500 containers with probes every second", () => {
  it("are each probed every second, in simulated time", async () => {
    const containers = Array.from({ length: 500 }, () => ({ livenessProbe: probe({ periodSeconds: 1 }) }));
    const pod = await startProbedPod({ containers });
    const probedAt = new Map<ContainerId, number[]>();
    pod.respond = (_kind, { id }) => {
      probedAt.set(id, [...(probedAt.get(id) ?? []), pod.clock.elapsedMs]);
      return success();
    };
    // They start spread over a second.
    for (let i = 0; i < 500; i++) {
      pod.setContainer(`c${i}#1`, "running");
      if (i % 50 === 49) await pod.clock.advance(100);
    }
    await pod.clock.advance(4000);
    assert.equal(probedAt.size, 500);
    for (const times of probedAt.values()) {
      assert.ok(times.length >= 4);
      const [first = 0] = times;
      assert.deepEqual(
        times,
        times.map((_, i) => first + i * 1000),
      );
    }
    assert.equal(pod.clock.pending, 500);
  });
});
