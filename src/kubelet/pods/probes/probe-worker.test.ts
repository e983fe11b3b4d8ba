import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { FakeClock } from "../../../lib/base/fake-clock.ts";
import { plusMs } from "../../../lib/base/time.ts";
import { fakeContainer } from "../../../lib/model/fake-pod.ts";
import type { ProbeKind } from "../../state/probe-results.ts";
import { ProbedPod, probe, probed } from "./fake-probed-pod.ts";
import { failure, probeError, success, warning } from "./probe-answer.ts";

describe("the first result of a container", () => {
  const table: [kind: ProbeKind, outcome: string][] = [
    ["readiness", "failure"],
    ["liveness", "success"],
    ["startup", "unknown"],
  ];
  for (const [kind, outcome] of table)
    it(`is ${outcome} for ${kind}, as soon as the container is known`, async () => {
      const it = await probed({ containers: [{ [`${kind}Probe`]: probe() }] });
      it.shows("c0#1", "created");
      assert.equal(it.result(kind, "c0#1"), outcome);
      assert.deepEqual(it.asked, []);
    });

  it("is none for what is not probed", async () => {
    const it = await probed({ containers: [{ readinessProbe: probe() }] });
    it.shows("c0#1", "running");
    assert.equal(it.result("liveness", "c0#1"), undefined);
    assert.equal(it.result("startup", "c0#1"), undefined);
  });
});

describe("a probe is asked", () => {
  it("at once when the container runs, and then every period", async () => {
    const it = await probed({ containers: [{ readinessProbe: probe() }] });
    await it.clock.advance(3000);
    it.shows("c0#1", "running");
    await it.clock.advance(20_000);
    assert.deepEqual(it.asked, ["3 readiness c0#1", "13 readiness c0#1", "23 readiness c0#1"]);
    assert.equal(it.result("readiness", "c0#1"), "success");
  });

  it("after the initial delay, counted from the start of the container", async () => {
    const it = await probed({ containers: [{ readinessProbe: probe({ initialDelaySeconds: 5 }) }] });
    it.shows("c0#1", "running");
    await it.clock.advance(4999);
    assert.deepEqual(it.asked, []);
    await it.clock.advance(10_001);
    assert.deepEqual(it.asked, ["5 readiness c0#1", "15 readiness c0#1"]);
  });

  it("for liveness at a tick of its pod: one that needs 2 s to start is not killed", async () => {
    const it = await probed({ containers: [{ livenessProbe: probe({ failureThreshold: 1 }) }] });
    await it.clock.advance(3000);
    it.failsWhile(() => it.clock.elapsedMs < 5000);
    it.shows("c0#1", "running");
    await it.clock.advance(20_000);
    assert.deepEqual(it.asked, ["10 liveness c0#1", "20 liveness c0#1"]);
    assert.equal(it.result("liveness", "c0#1"), "success");
  });

  it("at a random moment of its first period if the container is older than its pod here", async () => {
    const it = await probed({ containers: [{ readinessProbe: probe() }] });
    it.shows("c0#1", "running", { startedAt: plusMs(it.clock.wall(), -60_000) });
    await it.clock.advance(15_000);
    assert.deepEqual(it.asked, ["5 readiness c0#1", "15 readiness c0#1"]);
  });

  it("not at all before the manager has started, and then without further news", async () => {
    const it = new ProbedPod({ containers: [{ readinessProbe: probe() }] });
    it.manager.watch(it.pod);
    it.shows("c0#1", "running");
    await it.clock.advance(5000);
    assert.deepEqual(it.asked, []);
    await it.manager.start(it.stop.signal);
    await it.clock.advance(0);
    assert.deepEqual(it.asked, ["5 readiness c0#1"]);
  });

  it("again at once if it took longer than its period, and never twice at a time", async () => {
    const it = await probed({ containers: [{ readinessProbe: probe({ periodSeconds: 1 }) }] });
    let running = 0;
    let most = 0;
    it.answer = async () => {
      most = Math.max(most, ++running);
      await new Promise<void>((resolve) => it.clock.after(2500, resolve));
      running--;
      return success();
    };
    it.shows("c0#1", "running");
    await it.clock.advance(8000);
    assert.deepEqual(
      it.asked.map((line) => line.split(" ")[0]),
      ["0", "2.5", "5", "7.5"],
    );
    assert.equal(most, 1);
  });

  it("in its old rhythm after a slow one", async () => {
    const it = await probed({ containers: [{ readinessProbe: probe({ periodSeconds: 2 }) }] });
    let slow = true;
    it.answer = async () => {
      if (slow) await new Promise<void>((resolve) => it.clock.after(4500, resolve));
      slow = false;
      return success();
    };
    it.shows("c0#1", "running");
    await it.clock.advance(8000);
    assert.deepEqual(
      it.asked.map((line) => line.split(" ")[0]),
      ["0", "4.5", "6", "8"],
    );
  });

  it("a period later even if the clock is set back meanwhile", async () => {
    const clock = new FakeClock(1_000_000);
    const it = await probed({ containers: [{ readinessProbe: probe() }] }, { clock });
    it.answer = () => {
      clock.jump(-3_600_000);
      return success();
    };
    it.shows("c0#1", "running");
    await clock.advance(20_000);
    assert.equal(it.asked.length, 3);
  });

  it("with the address of the pod, or of the host if the pod uses its network", async () => {
    for (const [hostNetwork, ip] of [
      [false, "10.0.0.7"],
      [true, "192.0.2.1"],
    ] as const) {
      const it = await probed({ hostNetwork, containers: [{ readinessProbe: probe() }] });
      let seen: string | undefined;
      it.answer = (_kind, { podIp }) => {
        seen = podIp;
        return success();
      };
      it.shows("c0#1", "running");
      await it.clock.advance(0);
      assert.equal(seen, ip);
    }
  });

  it("for sidecars, and not for other init containers", async () => {
    const it = await probed({
      initContainers: [
        fakeContainer({ restartPolicy: "Always", readinessProbe: probe() }, "side"),
        fakeContainer({ readinessProbe: probe() }, "init"),
      ],
      containers: [{}],
    });
    it.shows("side#1", "running");
    it.shows("init#1", "running");
    await it.clock.advance(0);
    assert.deepEqual(it.asked, ["0 readiness side#1"]);
    assert.equal(it.result("readiness", "init#1"), undefined);
  });
});

describe("a result changes", () => {
  it("after as many failures in a row as the threshold says", async () => {
    const it = await probed({ containers: [{ readinessProbe: probe() }] });
    const failing = [false, true, true, false, true, true, true];
    it.answer = () => (failing[it.asked.length - 1] ? failure("sick") : success());
    it.shows("c0#1", "running");
    await it.clock.advance(60_000);
    assert.deepEqual(it.news, [
      "0 readiness c0#1 failure",
      "0 readiness c0#1 success",
      "60 readiness c0#1 failure",
    ]);
  });

  it("after as many successes in a row as the threshold says", async () => {
    const it = await probed({ containers: [{ readinessProbe: probe({ successThreshold: 2 }) }] });
    const failing = [false, true, false, false];
    it.answer = () => (failing[it.asked.length - 1] ? failure("sick") : success());
    it.shows("c0#1", "running");
    await it.clock.advance(30_000);
    assert.deepEqual(it.news, ["0 readiness c0#1 failure", "30 readiness c0#1 success"]);
  });

  it("not for what a former container of that name did", async () => {
    const it = await probed({ containers: [{ readinessProbe: probe({ successThreshold: 2 }) }] });
    it.shows("c0#1", "running");
    await it.clock.advance(10_000);
    assert.equal(it.result("readiness", "c0#1"), "success");
    it.shows("c0#2", "running");
    await it.clock.advance(0);
    assert.equal(it.result("readiness", "c0#1"), undefined);
    assert.equal(it.result("readiness", "c0#2"), "failure");
    await it.clock.advance(10_000);
    assert.equal(it.result("readiness", "c0#2"), "success");
  });

  it("not when the probe could not be made, which neither counts nor resets", async () => {
    const it = await probed({ containers: [{ livenessProbe: probe({ failureThreshold: 2 }) }] });
    const answers = [failure("sick"), probeError("no runtime"), failure("sick")];
    it.answer = () => answers[it.asked.length - 1] ?? success();
    it.shows("c0#1", "running");
    await it.clock.advance(30_000);
    assert.deepEqual(it.news, ["0 liveness c0#1 success", "30 liveness c0#1 failure"]);
  });

  it("to not ready at once when the container has ended", async () => {
    const it = await probed({ containers: [{ readinessProbe: probe(), livenessProbe: probe() }] });
    it.shows("c0#1", "running");
    await it.clock.advance(0);
    it.shows("c0#1", "exited");
    assert.equal(it.result("readiness", "c0#1"), "failure");
    assert.equal(it.result("liveness", "c0#1"), "success");
    assert.equal(it.clock.pending, 0);
  });
});

describe("a container that failed its liveness probe", () => {
  it("is left in peace until there is a new one, which is probed at the next tick", async () => {
    const it = await probed({ containers: [{ livenessProbe: probe({ failureThreshold: 2 }) }] });
    it.failsWhile(() => true);
    it.shows("c0#1", "running");
    await it.clock.advance(60_000);
    assert.deepEqual(it.taken(), ["10 liveness c0#1", "20 liveness c0#1"]);
    assert.equal(it.result("liveness", "c0#1"), "failure");
    assert.equal(it.clock.pending, 0);
    it.shows("c0#1", "exited");
    it.shows("c0#2", "running");
    it.failsWhile(() => false);
    await it.clock.advance(10_000);
    assert.deepEqual(it.taken(), ["70 liveness c0#2"]);
    assert.equal(it.result("liveness", "c0#2"), "success");
  });
});

describe("users are told", () => {
  const table: [rule: string, answer: ReturnType<typeof success>, events: string[]][] = [
    ["nothing of success", success("fine"), []],
    ["of failure", failure("sick"), ["Unhealthy c0: Readiness probe failed: sick"]],
    ["of success with a warning", warning("moved"), ["ProbeWarning c0: Readiness probe warning: moved"]],
    [
      "of a probe that could not be made",
      probeError("no runtime"),
      ["Unhealthy c0: Readiness probe errored and resulted in unknown state: no runtime"],
    ],
  ];
  for (const [rule, answer, events] of table)
    it(rule, async () => {
      const it = await probed({ containers: [{ readinessProbe: probe() }] });
      it.answer = () => answer;
      it.shows("c0#1", "running");
      await it.clock.advance(0);
      assert.deepEqual(it.events, events);
      const isGood = answer.kind === "success" || answer.kind === "warning";
      assert.equal(it.result("readiness", "c0#1"), isGood ? "success" : "failure");
    });

  it("and a prober that breaks is one that could not be made", async () => {
    const it = await probed({ containers: [{ livenessProbe: probe() }] });
    it.answer = () => Promise.reject(new Error("broken"));
    it.shows("c0#1", "running");
    await it.clock.advance(20_000);
    assert.equal(it.asked.length, 2);
    assert.match(it.events[0] ?? "", /errored and resulted in unknown state: broken/);
  });

  it("and a listener that breaks does not end the probing", async () => {
    const it = await probed({ containers: [{ readinessProbe: probe() }] });
    it.shows("c0#1", "running");
    it.results.onChange(() => {
      throw new Error("broken");
    });
    await it.clock.advance(10_000);
    assert.equal(it.asked.length, 2);
  });
});

describe("what a probe that does not pass says", () => {
  it("is its last answer and how often in a row, until it passes", async () => {
    const it = await probed({ containers: [{ readinessProbe: probe() }] });
    it.shows("c0#1", "running");
    it.answer = () => failure("503");
    await it.clock.advance(10_000);
    const [trouble, ...more] = it.manager.troubles(it.pod.metadata.uid);
    assert.deepEqual(
      [trouble?.kind, trouble?.container, trouble?.text, trouble?.times, more.length],
      ["readiness", "c0", "503", 2, 0],
    );
    assert.equal(trouble?.at, it.clock.wall());
    it.answer = () => probeError("cannot be asked");
    await it.clock.advance(10_000);
    assert.equal(it.manager.troubles(it.pod.metadata.uid)[0]?.text, "cannot be asked");
    it.answer = () => success();
    await it.clock.advance(10_000);
    assert.deepEqual(it.manager.troubles(it.pod.metadata.uid), []);
  });

  it("is forgotten with its container", async () => {
    const it = await probed({ containers: [{ readinessProbe: probe() }] });
    it.shows("c0#1", "running");
    it.answer = () => failure("503");
    await it.clock.advance(1000);
    assert.equal(it.manager.troubles(it.pod.metadata.uid).length, 1);
    it.shows("c0#2", "created");
    assert.deepEqual(it.manager.troubles(it.pod.metadata.uid), []);
  });
});
