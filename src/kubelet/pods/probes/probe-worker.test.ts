import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { FakeClock } from "../../../lib/base/fake-clock.ts";
import { plusMs } from "../../../lib/base/time.ts";
import { fakeContainer } from "../../../lib/model/fake-pod.ts";
import type { ProbeKind } from "../../state/probe-results.ts";
import { failure, probeError, success, warning } from "./attempt-result.ts";
import { ProbedPod, probe, startProbedPod } from "./fake-probed-pod.ts";

describe("the first result of a container", () => {
  const table: [kind: ProbeKind, outcome: string][] = [
    ["readiness", "failure"],
    ["liveness", "success"],
    ["startup", "unknown"],
  ];
  for (const [kind, outcome] of table)
    it(`is ${outcome} for ${kind}, as soon as the container is known`, async () => {
      const pod = await startProbedPod({ containers: [{ [`${kind}Probe`]: probe() }] });
      pod.setContainer("c0#1", "created");
      assert.equal(pod.result(kind, "c0#1"), outcome);
      assert.deepEqual(pod.attempts, []);
    });

  it("is undefined for a kind that is not probed", async () => {
    const pod = await startProbedPod({ containers: [{ readinessProbe: probe() }] });
    pod.setContainer("c0#1", "running");
    assert.equal(pod.result("liveness", "c0#1"), undefined);
    assert.equal(pod.result("startup", "c0#1"), undefined);
  });
});

describe("the address that is probed", () => {
  const table: [rule: string, hostIps: string[], hostNetwork: boolean, address: string | undefined][] = [
    ["is the IPv4 address of the pod on a node with IPv4", ["192.0.2.1"], false, "10.0.0.7"],
    ["is its IPv6 address if IPv6 is first on the node", ["2001:db8::1", "192.0.2.1"], false, "fd00::7"],
    ["is its IPv4 address while the node has none", [], false, "10.0.0.7"],
    ["is that of the node on the host network", ["2001:db8::1"], true, "2001:db8::1"],
    ["is unknown on the host network of a node without one", [], true, undefined],
  ];
  for (const [rule, hostIps, hostNetwork, address] of table)
    it(rule, async () => {
      const containers = [{ readinessProbe: probe() }];
      const pod = await startProbedPod({ containers, hostNetwork }, { hostIps: () => hostIps });
      const probed: (string | undefined)[] = [];
      pod.respond = (_kind, { podIp }) => {
        probed.push(podIp);
        return success();
      };
      pod.setContainer("c0#1", "running");
      await pod.clock.advance(10);
      assert.deepEqual(probed, [address]);
    });
});

describe("the probe of a container", () => {
  it("runs immediately when the container runs, and then every period", async () => {
    const pod = await startProbedPod({ containers: [{ readinessProbe: probe() }] });
    await pod.clock.advance(3000);
    pod.setContainer("c0#1", "running");
    await pod.clock.advance(20_000);
    assert.deepEqual(pod.attempts, ["3 readiness c0#1", "13 readiness c0#1", "23 readiness c0#1"]);
    assert.equal(pod.result("readiness", "c0#1"), "success");
  });

  it("starts after the initial delay, counted from the start of the container", async () => {
    const pod = await startProbedPod({ containers: [{ readinessProbe: probe({ initialDelaySeconds: 5 }) }] });
    pod.setContainer("c0#1", "running");
    await pod.clock.advance(4999);
    assert.deepEqual(pod.attempts, []);
    await pod.clock.advance(10_001);
    assert.deepEqual(pod.attempts, ["5 readiness c0#1", "15 readiness c0#1"]);
  });

  it("runs for liveness at a tick of its pod: a container that needs 2 s to start is not killed", async () => {
    const pod = await startProbedPod({ containers: [{ livenessProbe: probe({ failureThreshold: 1 }) }] });
    await pod.clock.advance(3000);
    pod.failWhile(() => pod.clock.elapsedMs < 5000);
    pod.setContainer("c0#1", "running");
    await pod.clock.advance(20_000);
    assert.deepEqual(pod.attempts, ["10 liveness c0#1", "20 liveness c0#1"]);
    assert.equal(pod.result("liveness", "c0#1"), "success");
  });

  it("starts at a random time in its first period if the container was running before its pod was added", async () => {
    const pod = await startProbedPod({ containers: [{ readinessProbe: probe() }] });
    pod.setContainer("c0#1", "running", { startedAt: plusMs(pod.clock.wall(), -60_000) });
    await pod.clock.advance(15_000);
    assert.deepEqual(pod.attempts, ["5 readiness c0#1", "15 readiness c0#1"]);
  });

  it("starts only after the manager has started, and then without another change", async () => {
    const pod = new ProbedPod({ containers: [{ readinessProbe: probe() }] });
    pod.manager.addPod(pod.pod);
    pod.setContainer("c0#1", "running");
    await pod.clock.advance(5000);
    assert.deepEqual(pod.attempts, []);
    await pod.manager.start(pod.stop.signal);
    await pod.clock.advance(0);
    assert.deepEqual(pod.attempts, ["5 readiness c0#1"]);
  });

  it("runs again immediately if it took longer than its period, and never concurrently", async () => {
    const pod = await startProbedPod({ containers: [{ readinessProbe: probe({ periodSeconds: 1 }) }] });
    let running = 0;
    let most = 0;
    pod.respond = async () => {
      most = Math.max(most, ++running);
      await new Promise<void>((resolve) => pod.clock.after(2500, resolve));
      running--;
      return success();
    };
    pod.setContainer("c0#1", "running");
    await pod.clock.advance(8000);
    assert.deepEqual(
      pod.attempts.map((line) => line.split(" ")[0]),
      ["0", "2.5", "5", "7.5"],
    );
    assert.equal(most, 1);
  });

  it("keeps its schedule after a slow probe", async () => {
    const pod = await startProbedPod({ containers: [{ readinessProbe: probe({ periodSeconds: 2 }) }] });
    let slow = true;
    pod.respond = async () => {
      if (slow) await new Promise<void>((resolve) => pod.clock.after(4500, resolve));
      slow = false;
      return success();
    };
    pod.setContainer("c0#1", "running");
    await pod.clock.advance(8000);
    assert.deepEqual(
      pod.attempts.map((line) => line.split(" ")[0]),
      ["0", "4.5", "6", "8"],
    );
  });

  it("runs a period later even if the clock is set back in the meantime", async () => {
    const clock = new FakeClock(1_000_000);
    const pod = await startProbedPod({ containers: [{ readinessProbe: probe() }] }, { clock });
    pod.respond = () => {
      clock.jump(-3_600_000);
      return success();
    };
    pod.setContainer("c0#1", "running");
    await clock.advance(20_000);
    assert.equal(pod.attempts.length, 3);
  });

  it("uses the address of the pod, or of the host if the pod is on the host network", async () => {
    for (const [hostNetwork, ip] of [
      [false, "10.0.0.7"],
      [true, "192.0.2.1"],
    ] as const) {
      const pod = await startProbedPod({ hostNetwork, containers: [{ readinessProbe: probe() }] });
      let probedIp: string | undefined;
      pod.respond = (_kind, { podIp }) => {
        probedIp = podIp;
        return success();
      };
      pod.setContainer("c0#1", "running");
      await pod.clock.advance(0);
      assert.equal(probedIp, ip);
    }
  });

  it("runs for sidecars, and not for other init containers", async () => {
    const pod = await startProbedPod({
      initContainers: [
        fakeContainer({ restartPolicy: "Always", readinessProbe: probe() }, "side"),
        fakeContainer({ readinessProbe: probe() }, "init"),
      ],
      containers: [{}],
    });
    pod.setContainer("side#1", "running");
    pod.setContainer("init#1", "running");
    await pod.clock.advance(0);
    assert.deepEqual(pod.attempts, ["0 readiness side#1"]);
    assert.equal(pod.result("readiness", "init#1"), undefined);
  });
});

describe("the result of a probe", () => {
  it("changes after as many failures in a row as the threshold", async () => {
    const pod = await startProbedPod({ containers: [{ readinessProbe: probe() }] });
    const failing = [false, true, true, false, true, true, true];
    pod.respond = () => (failing[pod.attempts.length - 1] ? failure("sick") : success());
    pod.setContainer("c0#1", "running");
    await pod.clock.advance(60_000);
    assert.deepEqual(pod.changes, [
      "0 readiness c0#1 failure",
      "0 readiness c0#1 success",
      "60 readiness c0#1 failure",
    ]);
  });

  it("changes after as many successes in a row as the threshold", async () => {
    const pod = await startProbedPod({ containers: [{ readinessProbe: probe({ successThreshold: 2 }) }] });
    const failing = [false, true, false, false];
    pod.respond = () => (failing[pod.attempts.length - 1] ? failure("sick") : success());
    pod.setContainer("c0#1", "running");
    await pod.clock.advance(30_000);
    assert.deepEqual(pod.changes, ["0 readiness c0#1 failure", "30 readiness c0#1 success"]);
  });

  it("does not depend on results of the previous container of that name", async () => {
    const pod = await startProbedPod({ containers: [{ readinessProbe: probe({ successThreshold: 2 }) }] });
    pod.setContainer("c0#1", "running");
    await pod.clock.advance(10_000);
    assert.equal(pod.result("readiness", "c0#1"), "success");
    pod.setContainer("c0#2", "running");
    await pod.clock.advance(0);
    assert.equal(pod.result("readiness", "c0#1"), undefined);
    assert.equal(pod.result("readiness", "c0#2"), "failure");
    await pod.clock.advance(10_000);
    assert.equal(pod.result("readiness", "c0#2"), "success");
  });

  it("does not change when the probe could not be executed, which neither increments nor resets the counter", async () => {
    const pod = await startProbedPod({ containers: [{ livenessProbe: probe({ failureThreshold: 2 }) }] });
    const results = [failure("sick"), probeError("no runtime"), failure("sick")];
    pod.respond = () => results[pod.attempts.length - 1] ?? success();
    pod.setContainer("c0#1", "running");
    await pod.clock.advance(30_000);
    assert.deepEqual(pod.changes, ["0 liveness c0#1 success", "30 liveness c0#1 failure"]);
  });

  it("is not ready immediately when the container has exited", async () => {
    const pod = await startProbedPod({ containers: [{ readinessProbe: probe(), livenessProbe: probe() }] });
    pod.setContainer("c0#1", "running");
    await pod.clock.advance(0);
    pod.setContainer("c0#1", "exited");
    assert.equal(pod.result("readiness", "c0#1"), "failure");
    assert.equal(pod.result("liveness", "c0#1"), "success");
    assert.equal(pod.clock.pending, 0);
  });
});

describe("a container that failed its liveness probe", () => {
  it("is no longer probed; its successor is probed at the next tick", async () => {
    const pod = await startProbedPod({ containers: [{ livenessProbe: probe({ failureThreshold: 2 }) }] });
    pod.failWhile(() => true);
    pod.setContainer("c0#1", "running");
    await pod.clock.advance(60_000);
    assert.deepEqual(pod.takeAttempts(), ["10 liveness c0#1", "20 liveness c0#1"]);
    assert.equal(pod.result("liveness", "c0#1"), "failure");
    assert.equal(pod.clock.pending, 0);
    pod.setContainer("c0#1", "exited");
    pod.setContainer("c0#2", "running");
    pod.failWhile(() => false);
    await pod.clock.advance(10_000);
    assert.deepEqual(pod.takeAttempts(), ["70 liveness c0#2"]);
    assert.equal(pod.result("liveness", "c0#2"), "success");
  });
});

// parity: event Unhealthy, event ProbeWarning
describe("an event is recorded", () => {
  const table: [rule: string, result: ReturnType<typeof success>, events: string[]][] = [
    ["not for success", success("fine"), []],
    ["for failure", failure("sick"), ["Unhealthy c0: Readiness probe failed: sick"]],
    ["for success with a warning", warning("moved"), ["ProbeWarning c0: Readiness probe warning: moved"]],
    [
      "for a probe that could not be executed",
      probeError("no runtime"),
      ["Unhealthy c0: Readiness probe errored and resulted in unknown state: no runtime"],
    ],
  ];
  for (const [rule, result, events] of table)
    it(rule, async () => {
      const pod = await startProbedPod({ containers: [{ readinessProbe: probe() }] });
      pod.respond = () => result;
      pod.setContainer("c0#1", "running");
      await pod.clock.advance(0);
      assert.deepEqual(pod.events, events);
      const isGood = result.kind === "success" || result.kind === "warning";
      assert.equal(pod.result("readiness", "c0#1"), isGood ? "success" : "failure");
    });

  it("for a prober that throws", async () => {
    const pod = await startProbedPod({ containers: [{ livenessProbe: probe() }] });
    pod.respond = () => Promise.reject(new Error("broken"));
    pod.setContainer("c0#1", "running");
    await pod.clock.advance(20_000);
    assert.equal(pod.attempts.length, 2);
    assert.match(pod.events[0] ?? "", /errored and resulted in unknown state: broken/);
  });

  it("even if a listener throws, which does not stop the probing", async () => {
    const pod = await startProbedPod({ containers: [{ readinessProbe: probe() }] });
    pod.setContainer("c0#1", "running");
    pod.results.onChange(() => {
      throw new Error("broken");
    });
    await pod.clock.advance(10_000);
    assert.equal(pod.attempts.length, 2);
  });
});

describe("the last failure of a probe", () => {
  it("has the output and how many times the probe failed in a row, until it passes", async () => {
    const pod = await startProbedPod({ containers: [{ readinessProbe: probe() }] });
    pod.setContainer("c0#1", "running");
    pod.respond = () => failure("503");
    await pod.clock.advance(10_000);
    const [failed, ...more] = pod.manager.failures(pod.pod.metadata.uid);
    assert.deepEqual(
      [failed?.kind, failed?.container, failed?.text, failed?.times, more.length],
      ["readiness", "c0", "503", 2, 0],
    );
    assert.equal(failed?.at, pod.clock.wall());
    pod.respond = () => probeError("no address");
    await pod.clock.advance(10_000);
    assert.equal(pod.manager.failures(pod.pod.metadata.uid)[0]?.text, "no address");
    pod.respond = () => success();
    await pod.clock.advance(10_000);
    assert.deepEqual(pod.manager.failures(pod.pod.metadata.uid), []);
  });

  it("is dropped with its container", async () => {
    const pod = await startProbedPod({ containers: [{ readinessProbe: probe() }] });
    pod.setContainer("c0#1", "running");
    pod.respond = () => failure("503");
    await pod.clock.advance(1000);
    assert.equal(pod.manager.failures(pod.pod.metadata.uid).length, 1);
    pod.setContainer("c0#2", "created");
    assert.deepEqual(pod.manager.failures(pod.pod.metadata.uid), []);
  });
});
