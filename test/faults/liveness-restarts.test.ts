import assert from "node:assert/strict";
import { test } from "node:test";
import { epochMs } from "../../src/lib/base/time.ts";
import { aContainer, aPod } from "../builders/pods.ts";
import { type CallBehavior, InMemoryRuntime } from "../fake-runtime/in-memory.ts";
import { server } from "../fake-runtime/program.ts";
import { SimulatedClock } from "./simulated-clock.ts";
import { SimulatedAgent } from "./simulated-node.ts";

interface Scenario {
  rule: string;
  probe: { initialDelaySeconds?: number; periodSeconds?: number; failureThreshold: number };
  /** Whether the program passes its liveness probe, by its age in seconds and its restart count. */
  passes: (age: number, restarts: number) => boolean;
  forSeconds: number;
  /** When containers were started, in seconds since the pod was created. */
  starts: number[];
}

/** Latencies of a runtime on a busy machine. */
const latencies: Record<string, CallBehavior> = {
  RunPodSandbox: { afterMs: 900 },
  StartContainer: { afterMs: 100 },
  StopContainer: { beforeMs: 20, afterMs: 30 },
};

/** The starts of a pod's only container in simulated time, rounded to whole seconds. */
async function starts({ probe, passes, forSeconds }: Scenario): Promise<number[]> {
  const clock = new SimulatedClock();
  const runtime = new InMemoryRuntime({ clock, program: () => server, events: true });
  const started: number[] = [];
  const agent = new SimulatedAgent({
    runtime,
    clock,
    maxRestartDelayMs: 300_000,
    behavior: (method) => latencies[method] ?? {},
    onCall: (method) => {
      if (method === "StartContainer") started.push(Math.round(clock.elapsedMs / 1000));
    },
    prober: () => async (request) => {
      const container = runtime.pods.containers.get(request.id);
      assert.ok(container);
      const age = (epochMs(clock.wall()) - Number(container.startedAt / 1_000_000n)) / 1000;
      const pass = passes(age, container.config.metadata?.attempt ?? 0);
      return pass ? { kind: "success", output: "" } : { kind: "failure", output: "500" };
    },
  });
  const livenessProbe = { exec: { command: ["check"] }, periodSeconds: 10, successThreshold: 1, ...probe };
  await agent.start([aPod({ containers: [aContainer("server", { livenessProbe })] })]);
  await clock.advance(forSeconds * 1000);
  await agent.kill();
  return started;
}

const forTenSeconds = (age: number) => age <= 10;

const table: Scenario[] = [
  {
    rule: "a program that passes its probe from 2 s on is not restarted",
    probe: { failureThreshold: 1 },
    passes: (age) => age >= 2,
    forSeconds: 300,
    starts: [1],
  },
  {
    // Kubernetes' "should have monotonically increasing restart count": 146 to 156 s with namespace and deletion.
    rule: "a server that fails after 10 s is restarted for the fifth time after 140 s",
    probe: { initialDelaySeconds: 5, failureThreshold: 1 },
    passes: forTenSeconds,
    forSeconds: 150,
    starts: [1, 20, 40, 60, 80, 140],
  },
  {
    rule: "a server that never passes its probe is restarted with back-off from the third restart on",
    probe: { failureThreshold: 1, periodSeconds: 2 },
    passes: () => false,
    forSeconds: 60,
    starts: [1, 2, 4, 16, 38],
  },
  {
    rule: "a restart is immediate again after 10 minutes without one",
    probe: { failureThreshold: 1 },
    passes: (age, restarts) => age < (restarts === 4 ? 601 : 9),
    forSeconds: 800,
    starts: [1, 10, 20, 30, 60, 670, 680, 710, 760],
  },
];

for (const scenario of table)
  test(`liveness: ${scenario.rule}`, async () => assert.deepEqual(await starts(scenario), scenario.starts));
