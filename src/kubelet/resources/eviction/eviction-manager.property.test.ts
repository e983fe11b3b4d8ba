import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { aPod } from "../../../../test/builders/pods.ts";
import { FakeClock } from "../../../lib/base/fake-clock.ts";
import { silentLogger } from "../../../lib/base/logger.ts";
import { isCritical } from "../../../lib/model/critical-pod.ts";
import type { PodUid } from "../../../lib/model/pod.ts";
import { type FakePod, FakePressureNode } from "./fake-pressure-node.ts";
import { observationsOf } from "./signals.ts";
import { thresholdsMet, thresholdsOf } from "./thresholds.ts";

const capacity = { memory: 1000, disk: 1000, pids: 1000 };
/** Usage changes until then, and is constant afterwards. */
const movesMs = 120_000;
const transitionMs = 30_000;

/** Usage at the ends of six intervals; in between it grows or shrinks steadily. */
const curve = fc
  .array(fc.integer({ min: 0, max: 500 }), { minLength: 7, maxLength: 7 })
  .map((points) => (ms: number) => {
    const at = (Math.min(ms, movesMs) / movesMs) * 6;
    const low = Math.floor(at);
    const from = points[low]!;
    return Math.round(from + ((points[low + 1] ?? from) - from) * (at - low));
  });

const somePod = fc.record({
  memory: curve,
  disk: curve,
  pids: curve,
  request: fc.integer({ min: 0, max: 400 }),
  priority: fc.constantFrom(-10, 0, 0, 0, 1000, 2_000_000_000),
  isStatic: fc.integer({ min: 0, max: 9 }).map((n) => n === 0),
  terminatesMs: fc.constantFrom(0, 500, 2000, 15_000, 60_000),
});

const someThresholds = fc.record({
  memory: fc.integer({ min: 50, max: 300 }),
  soft: fc.option(fc.integer({ min: 100, max: 500 }), { nil: undefined }),
  graceSeconds: fc.integer({ min: 1, max: 60 }),
  disk: fc.integer({ min: 5, max: 40 }),
  pids: fc.integer({ min: 50, max: 300 }),
  reclaim: fc.integer({ min: 0, max: 100 }),
});

test("with any usage, and whenever the agent is killed: each measurement evicts at most one pod, only if a threshold is met, never a critical pod, never one twice, until no threshold is met", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(somePod, { minLength: 1, maxLength: 6 }),
      someThresholds,
      fc.record({ containers: fc.integer({ min: 0, max: 300 }), images: fc.integer({ min: 0, max: 300 }) }),
      fc.array(fc.integer({ min: 0, max: 40_000 }), { maxLength: 4 }),
      async (some, settings, garbage, kills) => {
        const clock = new FakeClock();
        const pods = some.map(
          ({ memory, disk, pids, request, priority, isStatic, terminatesMs }, index): FakePod => {
            const name = `p${index}`;
            const resources = { requests: { memory: String(request), "ephemeral-storage": String(request) } };
            return {
              pod: aPod(
                { priority, containers: [{ name: "c", image: "i", resources }] },
                {
                  name,
                  uid: name as PodUid,
                  annotations: isStatic ? { "kubernetes.io/config.source": "file" } : {},
                },
              ),
              usage: (ms) => ({ memory: memory(ms), disk: disk(ms), pids: pids(ms) }),
              terminatesMs,
            };
          },
        );
        const thresholds = thresholdsOf({
          evictionHard: {
            "memory.available": String(settings.memory),
            "nodefs.available": `${settings.disk}%`,
            "pid.available": String(settings.pids),
          },
          evictionSoft: settings.soft === undefined ? {} : { "memory.available": String(settings.soft) },
          evictionSoftGracePeriod: { "memory.available": `${settings.graceSeconds}s` },
          evictionMinimumReclaim:
            settings.reclaim === 0 ? {} : { "memory.available": String(settings.reclaim) },
          enforcesAllocatable: false,
        });
        const node = new FakePressureNode({
          clock,
          logger: silentLogger,
          pods,
          capacity,
          garbage,
          manager: { thresholds, transitionMs },
        });
        await node.startAgent();
        for (const ms of kills) {
          await clock.advance(ms);
          node.killAgent();
          await clock.advance(ms % 3000);
          await node.startAgent();
        }
        // Enough to evict all pods in sequence, and for the transition period.
        await clock.advance(movesMs + pods.length * 120_000 + 60_000 + 2 * transitionMs);
        assert.deepEqual(node.violations, []);
        const stillMet = thresholdsMet(thresholds, observationsOf(node.usage()), { minReclaim: false });
        const left = node.running().filter(({ pod }) => !isCritical(pod));
        assert.ok(
          stillMet.length === 0 || left.length === 0,
          "pods are evicted until no threshold is met or no pod is left",
        );
        const isUnder = node.pressure.conditions.length > 0;
        // A threshold that was met is resolved only when the minimum reclaim is available too.
        const unresolved = thresholdsMet(thresholds, observationsOf(node.usage()), { minReclaim: true });
        assert.ok(isUnder || stillMet.length === 0, "a threshold that is met sets a condition");
        assert.ok(
          !isUnder || unresolved.length > 0,
          "a condition is removed once its thresholds are resolved",
        );
        node.killAgent();
      },
    ),
    { numRuns: Number(process.env.PROPERTY_RUNS ?? 150) },
  );
});
