import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { settle } from "../../../lib/base/fake-clock.ts";
import { wallTime } from "../../../lib/base/time.ts";
import type { ContainerId } from "../../../lib/clients/cri/cri.ts";
import { ProbedPod, probe, probed } from "./fake-probed-pod.ts";
import { failure, success } from "./probe-answer.ts";

describe("a startup probe", () => {
  const spec = {
    containers: [
      { startupProbe: probe({ periodSeconds: 1 }), readinessProbe: probe(), livenessProbe: probe() },
    ],
  };

  it("keeps the other probes waiting; when it succeeds, readiness follows at once and liveness at its tick", async () => {
    const it = await probed(spec);
    let slow = true;
    it.failsWhile(() => slow);
    it.shows("c0#1", "running");
    await it.clock.advance(1500);
    assert.deepEqual(it.taken(), ["0 startup c0#1", "1 startup c0#1"]);
    slow = false;
    await it.clock.advance(500);
    assert.deepEqual(it.taken(), ["2 startup c0#1", "2 readiness c0#1"]);
    assert.equal(it.result("startup", "c0#1"), "success");
    assert.equal(it.result("readiness", "c0#1"), "success");
    await it.clock.advance(10_000);
    assert.deepEqual(it.taken(), ["10 liveness c0#1", "12 readiness c0#1"]);
  });

  it("is not asked again after it succeeded, until there is a new container", async () => {
    const it = await probed({ containers: [{ startupProbe: probe({ periodSeconds: 1 }) }] });
    it.shows("c0#1", "running");
    await it.clock.advance(5000);
    assert.deepEqual(it.taken(), ["0 startup c0#1"]);
    it.shows("c0#2", "running");
    await it.clock.advance(0);
    assert.deepEqual(it.taken(), ["5 startup c0#2"]);
  });

  it("is not asked again after it failed for good", async () => {
    const it = await probed(spec);
    it.failsWhile(() => true);
    it.shows("c0#1", "running");
    await it.clock.advance(10_000);
    assert.deepEqual(it.taken(), ["0 startup c0#1", "1 startup c0#1", "2 startup c0#1"]);
    assert.equal(it.result("startup", "c0#1"), "failure");
    assert.equal(it.clock.pending, 0);
  });

  it("of one container does not hold up another", async () => {
    const it = await probed({ containers: [{ startupProbe: probe() }, { readinessProbe: probe() }] });
    it.failsWhile((kind) => kind === "startup");
    it.shows("c0#1", "running");
    it.shows("c1#1", "running");
    await it.clock.advance(0);
    assert.equal(it.result("readiness", "c1#1"), "success");
  });
});

describe("after a restart of the agent", () => {
  const old = { startedAt: wallTime(500_000) };
  const spec = { containers: [{ startupProbe: probe(), readinessProbe: probe() }] };

  it("what was started and ready stays so until probes say otherwise", async () => {
    const it = await probed(spec, { before: () => "success" });
    it.failsWhile(() => true);
    it.shows("c0#1", "running", old);
    assert.equal(it.result("startup", "c0#1"), "success");
    assert.equal(it.result("readiness", "c0#1"), "success");
    await it.clock.advance(25_000);
    assert.deepEqual(it.asked, ["5 readiness c0#1", "15 readiness c0#1", "25 readiness c0#1"]);
    assert.deepEqual(it.news.at(-1), "25 readiness c0#1 failure");
  });

  it("what nobody remembers is asked again", async () => {
    const it = await probed(spec);
    it.shows("c0#1", "running", old);
    assert.equal(it.result("startup", "c0#1"), "unknown");
    assert.equal(it.result("readiness", "c0#1"), "failure");
    await it.clock.advance(5000);
    assert.deepEqual(it.asked, ["5 startup c0#1", "5 readiness c0#1"]);
  });

  it("what was found failing is not held against a container", async () => {
    const it = await probed(
      { containers: [{ startupProbe: probe(), livenessProbe: probe() }] },
      { before: () => "failure" },
    );
    it.shows("c0#1", "running", old);
    assert.equal(it.result("startup", "c0#1"), "unknown");
    assert.equal(it.result("liveness", "c0#1"), "success");
  });

  it("nothing is remembered of younger containers", async () => {
    const it = await probed(spec, { before: () => "success" });
    it.shows("c0#1", "running");
    assert.equal(it.result("readiness", "c0#1"), "failure");
  });

  it("first probes are spread over a period whenever the pod arrives, those of all kinds", async () => {
    let draws = 0;
    const random = () => [0.1, 0.4, 0.7][draws++]!;
    const it = new ProbedPod(
      { containers: [{ readinessProbe: probe(), livenessProbe: probe() }, { readinessProbe: probe() }] },
      { random },
    );
    await it.manager.start(it.stop.signal);
    it.shows("c0#1", "running");
    it.shows("c1#1", "running");
    // The API server was away for an hour.
    await it.clock.advance(3_600_000);
    it.manager.watch(it.pod);
    await it.clock.advance(9_999);
    assert.deepEqual(it.taken(), ["3601 readiness c0#1", "3604 readiness c1#1", "3607 liveness c0#1"]);
  });

  it("what becomes known later counts until a probe has an answer", async () => {
    let known = false;
    const it = await probed(spec, { before: () => (known ? "success" : undefined) });
    it.shows("c0#1", "running", old);
    assert.equal(it.result("readiness", "c0#1"), "failure");
    known = true;
    it.manager.recall(it.uid);
    assert.equal(it.result("startup", "c0#1"), "success");
    assert.equal(it.result("readiness", "c0#1"), "success");
    it.failsWhile(() => true);
    await it.clock.advance(9_999);
    assert.deepEqual(
      it.taken().map((line) => line.split(" ")[1]),
      ["readiness"],
      "a startup probe that has passed is not made again",
    );
    await it.clock.advance(20_000);
    it.manager.recall(it.uid);
    assert.equal(it.result("readiness", "c0#1"), "failure");
  });
});

describe("a pod that terminates", () => {
  it("is asked whether it is ready, and nothing else", async () => {
    const it = await probed({
      containers: [{ livenessProbe: probe(), readinessProbe: probe() }, { startupProbe: probe() }],
    });
    it.failsWhile((kind) => kind === "startup");
    it.shows("c0#1", "running");
    it.shows("c1#1", "running");
    await it.clock.advance(5000);
    it.taken();
    it.manager.stopForTermination(it.uid);
    it.manager.watch(it.pod);
    it.failsWhile(() => true);
    await it.clock.advance(25_000);
    assert.deepEqual(it.taken(), ["10 readiness c0#1", "20 readiness c0#1", "30 readiness c0#1"]);
    assert.deepEqual(it.news.at(-1), "30 readiness c0#1 failure");
    assert.equal(it.result("liveness", "c0#1"), "success");
  });

  it("gets no new probes", async () => {
    const it = await probed({ containers: [{ livenessProbe: probe() }] });
    it.shows("c0#1", "running");
    await it.clock.advance(0);
    it.manager.stopForTermination(it.uid);
    const changed = structuredClone(it.pod);
    changed.spec.containers[0]!.livenessProbe = probe({ periodSeconds: 2 });
    it.taken();
    it.manager.watch(changed);
    await it.clock.advance(10_000);
    assert.deepEqual(it.taken(), []);
  });

  it("leaves nothing behind when it is gone", async () => {
    const it = await probed({
      containers: [{ livenessProbe: probe(), readinessProbe: probe(), startupProbe: probe() }],
    });
    it.shows("c0#1", "running");
    await it.clock.advance(0);
    assert.match(await it.metrics.registry.metrics(), /c0/);
    it.manager.stopForTermination(it.uid);
    assert.equal(it.results.size, 3);
    it.manager.forget(it.uid);
    assert.equal(it.results.size, 0);
    assert.equal(it.clock.pending, 0);
    assert.doesNotMatch(await it.metrics.registry.metrics(), /c0/);
    it.manager.observed(it.uid);
    assert.equal(it.results.size, 0);
  });
});

describe("a probe under way", () => {
  async function underWay() {
    const it = await probed({ containers: [{ livenessProbe: probe({ failureThreshold: 1 }) }] });
    const { promise, resolve } = Promise.withResolvers<ReturnType<typeof success>>();
    let signal: AbortSignal | undefined;
    it.answer = (_kind, request) => {
      signal ??= request.signal;
      return promise;
    };
    it.shows("c0#1", "running");
    await it.clock.advance(10_000);
    return { it, answer: resolve, signal: () => signal };
  }

  it("is called off when its container ends, and its answer counts no more", async () => {
    const { it, answer, signal } = await underWay();
    it.shows("c0#1", "exited");
    assert.equal(signal()?.aborted, true);
    it.shows("c0#2", "running");
    answer(failure("sick"));
    await settle();
    assert.equal(it.result("liveness", "c0#2"), "success");
    assert.deepEqual(it.events, []);
  });

  it("is called off when its container is lost", async () => {
    const { it, signal } = await underWay();
    it.loses("c0");
    assert.equal(signal()?.aborted, true);
    assert.equal(it.results.size, 0);
  });

  it("is called off when the manager stops, which waits for its end and keeps the results", async () => {
    const { it, answer, signal } = await underWay();
    let done = false;
    void it.manager.done.then(() => {
      done = true;
    });
    it.stop.abort();
    assert.equal(signal()?.aborted, true);
    await settle();
    assert.equal(done, false);
    answer(success());
    await it.manager.done;
    assert.equal(it.clock.pending, 0);
    assert.equal(it.result("liveness", "c0#1"), "success");
  });

  it("goes on when the pod is watched again without a change", async () => {
    const { it, signal } = await underWay();
    it.manager.watch(structuredClone(it.pod));
    assert.equal(signal()?.aborted, false);
  });
});

describe("a changed probe", () => {
  it("takes the place of the former one", async () => {
    const it = await probed({ containers: [{ readinessProbe: probe() }] });
    it.shows("c0#1", "running");
    await it.clock.advance(1000);
    const changed = structuredClone(it.pod);
    changed.spec.containers[0]!.readinessProbe = probe({ periodSeconds: 2 });
    it.taken();
    it.manager.watch(changed);
    await it.clock.advance(4000);
    assert.deepEqual(it.taken(), ["1 readiness c0#1", "3 readiness c0#1", "5 readiness c0#1"]);
  });

  it("that is gone takes its result along", async () => {
    const it = await probed({ containers: [{ readinessProbe: probe() }] });
    it.shows("c0#1", "running");
    const changed = structuredClone(it.pod);
    delete changed.spec.containers[0]!.readinessProbe;
    it.manager.watch(changed);
    assert.equal(it.result("readiness", "c0#1"), undefined);
    assert.equal(it.clock.pending, 0);
  });
});

describe("metrics", () => {
  it("count probes by result and time those that succeed", async () => {
    const it = await probed({ containers: [{ livenessProbe: probe() }] });
    it.answer = () => (it.asked.length === 1 ? failure("sick") : success());
    it.shows("c0#1", "running");
    await it.clock.advance(30_000);
    const text = await it.metrics.registry.metrics();
    const labels = 'probe_type="Liveness",container="c0",pod="web",namespace="default"';
    const uid = `pod_uid="${it.uid}"`;
    assert.ok(text.includes(`prober_probe_total{${labels},${uid},result="failed"} 1`), text);
    assert.ok(text.includes(`prober_probe_total{${labels},${uid},result="successful"} 2`), text);
    assert.ok(text.includes(`prober_probe_duration_seconds_count{${labels}} 2`), text);
    assert.ok(text.includes('prober_probe_duration_seconds_bucket{le="0.005"'), text);
  });
});

describe("500 containers with probes every second", () => {
  it("are each asked every second, in simulated time", async () => {
    const containers = Array.from({ length: 500 }, () => ({ livenessProbe: probe({ periodSeconds: 1 }) }));
    const it = await probed({ containers });
    const seen = new Map<ContainerId, number[]>();
    it.answer = (_kind, { id }) => {
      seen.set(id, [...(seen.get(id) ?? []), it.clock.elapsedMs]);
      return success();
    };
    // They start spread over a second, as they would.
    for (let i = 0; i < 500; i++) {
      it.shows(`c${i}#1`, "running");
      if (i % 50 === 49) await it.clock.advance(100);
    }
    await it.clock.advance(4000);
    assert.equal(seen.size, 500);
    for (const times of seen.values()) {
      assert.ok(times.length >= 4);
      const [first = 0] = times;
      assert.deepEqual(
        times,
        times.map((_, i) => first + i * 1000),
      );
    }
    assert.equal(it.clock.pending, 500);
  });
});
