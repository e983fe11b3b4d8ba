import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { FakeClock, settle } from "../../lib/base/fake-clock.ts";
import { silentLogger } from "../../lib/base/logger.ts";
import { epochMs } from "../../lib/base/time.ts";
import { FakeObjects } from "../kinds/pods/fake-objects.ts";
import { ObjectCache } from "./object-cache.ts";
import { Reconciler } from "./reconciler.ts";

async function start(reconcile: (round: number) => Promise<number | undefined>) {
  const clock = new FakeClock();
  const objects = new FakeObjects();
  const cache = new ObjectCache({ objects, resources: ["pods", "nodes"], clock, logger: silentLogger });
  const rounds: number[] = [];
  const end = new AbortController();
  const begun = epochMs(clock.wall());
  const reconciler = new Reconciler({
    name: "test",
    cache,
    clock,
    logger: silentLogger,
    watches: ["pods"],
    reconcile: () => {
      rounds.push(epochMs(clock.wall()) - begun);
      return reconcile(rounds.length);
    },
  });
  await cache.start(end.signal);
  await reconciler.start(end.signal);
  await settle();
  const stop = async () => {
    end.abort();
    await Promise.all([cache.done, reconciler.done]);
  };
  return { clock, objects, rounds, reconciler, stop };
}

const never = () => Promise.resolve(undefined);

describe("reconciliations", () => {
  test("run at the start and after changes: one for many changes", async () => {
    const { clock, objects, rounds, stop } = await start(never);
    assert.deepEqual(rounds, [0]);
    objects.put("nodes", { metadata: { name: "n" } });
    await clock.advance(1_000);
    assert.equal(rounds.length, 1);
    for (const name of ["a", "b", "c"]) objects.put("pods", { metadata: { name } });
    await clock.advance(1_000);
    assert.equal(rounds.length, 2);
    await stop();
  });

  test("run on the timer", async () => {
    const { clock, rounds, stop } = await start((round) => Promise.resolve(round < 3 ? 5_000 : undefined));
    await clock.advance(60_000);
    assert.deepEqual(rounds, [0, 5_000, 10_000]);
    await stop();
  });

  test("run again after a change during a reconciliation", async () => {
    const gate = Promise.withResolvers<void>();
    const { clock, objects, rounds, stop } = await start(async (round) => {
      if (round === 1) await gate.promise;
      return undefined;
    });
    objects.put("pods", { metadata: { name: "a" } });
    await clock.advance(1_000);
    assert.equal(rounds.length, 1);
    gate.resolve();
    await clock.advance(1_000);
    assert.equal(rounds.length, 2);
    await stop();
  });

  test("failed steps are retried with back-off, and immediately after a change", async () => {
    const { clock, objects, rounds, reconciler, stop } = await start((round) =>
      round <= 4 ? Promise.reject(new Error("no")) : Promise.resolve(undefined),
    );
    await clock.advance(2_000);
    assert.deepEqual(rounds, [0, 500, 1_500]);
    assert.deepEqual(reconciler.health(), { ok: false, reason: "test: no" });
    objects.put("pods", { metadata: { name: "a" } });
    await clock.advance(100);
    assert.equal(rounds.length, 4);
    await clock.advance(60_000);
    assert.equal(rounds.length, 5);
    assert.deepEqual(reconciler.health(), { ok: true });
    await stop();
  });
});
