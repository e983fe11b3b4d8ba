import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { aPod } from "../../../../test/builders/pods.ts";
import { FakeClock } from "../../../lib/base/fake-clock.ts";
import type { PodUid } from "../../../lib/model/pod.ts";
import { FakeShutdownNode, type FakeShutdownPod } from "./fake-shutdown-node.ts";
import { groupPods, shutdownGraceSeconds, totalMs } from "./shutdown-groups.ts";

const somePod = fc.record({
  priority: fc.constantFrom(-10, 0, 0, 5, 1000, 2_000_000_000),
  grace: fc.integer({ min: 0, max: 40 }),
  stopsMs: fc.integer({ min: 0, max: 60_000 }),
  unmountsMs: fc.constantFrom(0, 0, 500, 5000, 30_000),
  isStuck: fc.integer({ min: 0, max: 9 }).map((n) => n === 0),
});

const somePeriods = fc
  .uniqueArray(
    fc.record({
      priority: fc.constantFrom(-10, 0, 5, 1000, 2_000_000_000),
      seconds: fc.integer({ min: 0, max: 30 }),
    }),
    { minLength: 1, maxLength: 4, selector: ({ priority }) => priority },
  )
  .map((periods) => periods.sort((a, b) => a.priority - b.priority));

/** Events of the machine, and the time before each. */
const someEvents = fc.array(
  fc.record({
    waitMs: fc.integer({ min: 0, max: 30_000 }),
    what: fc.constantFrom(
      "announce",
      "announce",
      "cancel",
      "spoof",
      "disconnect",
      "restart",
      "bus down",
      "bus up",
    ),
  }),
  { maxLength: 8 },
);

/** Polls of the manager, and the record. */
const slackMs = 250;

test("whatever pods do and whenever a shutdown is announced, canceled or missed: no pod gets less than its grace period, lower priorities go first, and the lock is held until the last has terminated or its time is over", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(somePod, { maxLength: 6 }),
      somePeriods,
      someEvents,
      async (some, periods, events) => {
        const clock = new FakeClock();
        const pods = some.map(({ priority, grace, ...rest }, index): FakeShutdownPod => {
          const name = `p${index}`;
          const spec = { priority, terminationGracePeriodSeconds: grace };
          return { pod: aPod(spec, { name, uid: name as PodUid }), ...rest };
        });
        const node = new FakeShutdownNode(clock, pods, periods);
        await node.start();
        await clock.advance(10);
        assert.equal(node.held, 1, "a lock from the start");

        const groups = groupPods(
          periods,
          pods.map(({ pod }) => pod),
        );
        const idle = () => node.state.since === undefined;
        for (const { waitMs, what } of events) {
          const before = node.terminated.size;
          const wasIdle = idle();
          await clock.advance(waitMs);
          if (wasIdle && idle())
            assert.equal(node.terminated.size, before, "nothing terminates without a shutdown");
          if (what === "announce") node.prepare(true);
          if (what === "cancel") node.prepare(false);
          if (what === "spoof") node.signal(!node.isPreparing);
          if (what === "disconnect") node.disconnect();
          if (what === "restart") {
            node.isPreparing = false;
            node.disconnect();
          }
          if (what === "bus down" || what === "bus up") {
            node.isAvailable = what === "bus up";
            node.disconnect();
          }
        }

        // Nothing disturbs the last shutdown: all pods terminate, within the configured time.
        node.isAvailable = true;
        node.disconnect();
        await clock.advance(61_000);
        node.prepare(false);
        await clock.advance(2000);
        assert.equal(node.held, 1, "a lock for the next shutdown");
        assert.ok(idle(), "pods are accepted again");
        const from = clock.elapsedMs;
        node.prepare(true);
        while (node.held > 0) {
          assert.ok(
            clock.elapsedMs - from <= totalMs(periods) + slackMs * (periods.length + 1),
            "the shutdown ends in time",
          );
          await clock.advance(100);
        }
        const released = clock.elapsedMs;
        assert.equal(node.terminated.size, pods.length, "all pods terminate");

        for (const [index, group] of groups.entries()) {
          for (const pod of group.pods) {
            const times = node.terminated.get(pod.metadata.uid)!;
            assert.equal(
              times.graceSeconds,
              shutdownGraceSeconds(pod, group),
              "its own grace period, or that of the group",
            );
            // Pods of an earlier group have finished, or had the time of their group.
            for (const earlier of groups.slice(0, index))
              for (const other of earlier.pods) {
                const before = node.terminated.get(other.metadata.uid)!;
                const over = Math.min(before.finished, before.from + earlier.seconds * 1000);
                assert.ok(
                  times.from >= over,
                  `${pod.metadata.name} terminates before ${other.metadata.name}`,
                );
              }
            const over = Math.min(times.finished, times.from + group.seconds * 1000);
            assert.ok(times.from < from || released >= over, "the lock is held until then");
          }
        }
        const stopped = node.stop();
        await clock.advance(1);
        await stopped;
        assert.equal(node.held, 0);
      },
    ),
    { numRuns: Number(process.env.PROPERTY_RUNS ?? 200) },
  );
});
