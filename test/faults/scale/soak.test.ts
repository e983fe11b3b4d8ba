import assert from "node:assert/strict";
import { test } from "node:test";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import type { PodUid } from "../../../src/lib/model/pod.ts";
import { aContainer, aPod } from "../../builders/pods.ts";
import { InMemoryRuntime } from "../../fake-runtime/in-memory.ts";
import { server } from "../../fake-runtime/program.ts";
import { long } from "../../long.ts";
import { SimulatedClock } from "../simulated-clock.ts";
import { SimulatedAgent } from "../simulated-node.ts";

const lives = Number(process.env.SOAK_LIVES ?? 5000);
const atOnce = 50;
const perSample = 500;
const mebibyte = 1 << 20;
/** A leaked pod would be several MiB for each 500 lives, a leaked entry of a map about 0.1 MiB. */
const maxSlopeBytes = 0.25 * mebibyte;

setFlagsFromString("--expose-gc");
const collectGarbage = runInNewContext("gc") as () => void;

test(long(`memory comes back while ${lives} pods run and are removed`), { timeout: 900_000 }, async (t) => {
  const clock = new SimulatedClock();
  const runtime = new InMemoryRuntime({ clock, program: () => server, events: true });
  const agent = new SimulatedAgent({
    runtime,
    clock,
    behavior: () => ({ afterMs: 5 }),
    onCall: () => {},
    prober: () => async () => ({ kind: "success", output: "" }),
  });
  await agent.start([]);
  const probe = { exec: { command: ["check"] }, periodSeconds: 1, successThreshold: 1, failureThreshold: 3 };
  const heaps: number[] = [];
  for (let done = 0; done < lives; done += atOnce) {
    const pods = Array.from({ length: atOnce }, (_, i) =>
      aPod(
        {
          terminationGracePeriodSeconds: 1,
          containers: [aContainer("c", { readinessProbe: probe, livenessProbe: probe })],
        },
        { name: `p${done + i}`, uid: `uid-${done + i}` as PodUid },
      ),
    );
    agent.add(...pods);
    await clock.advance(5000);
    for (const { metadata } of pods) assert.equal(agent.phaseOf(metadata.uid), "Running");
    agent.remove(...pods);
    await clock.advance(15_000);
    for (const [kind, count] of Object.entries(agent.stateCounts)) assert.equal(count, 0, kind);
    assert.equal(runtime.pods.sandboxes.size + runtime.pods.containers.size, 0, "pods in the runtime");
    if ((done + atOnce) % perSample > 0) continue;
    collectGarbage();
    heaps.push(process.memoryUsage().heapUsed);
  }
  await agent.kill();
  const slope = slopeOf(heaps.slice(2));
  const shown = heaps.map((bytes) => (bytes / mebibyte).toFixed(2)).join(", ");
  t.diagnostic(`MiB after each ${perSample} lives: ${shown}; slope ${(slope / mebibyte).toFixed(3)}`);
  assert.ok(slope < maxSlopeBytes, `the heap grows: ${shown}`);
});

/** The slope of the line with the least squares. */
function slopeOf(values: readonly number[]): number {
  const meanX = (values.length - 1) / 2;
  const meanY = values.reduce((sum, value) => sum + value, 0) / values.length;
  const upper = values.reduce((sum, value, x) => sum + (x - meanX) * (value - meanY), 0);
  return upper / values.reduce((sum, _, x) => sum + (x - meanX) ** 2, 0);
}
