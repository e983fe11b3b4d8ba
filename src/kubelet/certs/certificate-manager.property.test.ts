import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { unaffectedByJumps } from "../../../test/builders/clock-jumps.ts";
import { FakeClock } from "../../lib/base/fake-clock.ts";
import { silentLogger } from "../../lib/base/logger.ts";
import { createMetrics } from "../../lib/base/metrics.ts";
import type { CertificateManager } from "./certificate-manager.ts";
import { FakeSigner, MemoryStore, type SignerBehavior } from "./fake-signer.ts";
import { clientCertificateManager } from "./managers.ts";

const minute = 60_000;
const hour = 60 * minute;
const seed = 1;

function certificateManager(
  clock: FakeClock,
  signer: FakeSigner,
  store: MemoryStore,
  random: () => number,
): CertificateManager {
  return clientCertificateManager({
    nodeName: "n1",
    clock,
    random,
    logger: silentLogger,
    metrics: createMetrics(),
    store,
    api: () => signer,
  });
}

/** Numbers in [0, 1) that the property chooses. */
function chosen(numbers: readonly number[]): () => number {
  let at = 0;
  return () => numbers[at++ % numbers.length]! / 1000;
}
const numbers = fc.array(fc.nat(999), { minLength: 1, maxLength: 20 });
const failures = fc.constantFrom<SignerBehavior[]>("deny", "fail", "delete", "unavailable", "wrong key", {
  reject: 503,
});

test("while the API responds in time there is always a valid certificate, through failures and restarts", async () => {
  const steps = fc.array(fc.record({ minutes: fc.integer({ min: 1, max: 20 }), restart: fc.boolean() }), {
    minLength: 10,
    maxLength: 40,
  });
  const conditions = fc.record({
    lifetimeMs: fc.integer({ min: 30 * minute, max: 4 * hour }),
    backdateMs: fc.integer({ min: 0, max: 5 * minute }),
    delayMs: fc.integer({ min: 0, max: 30_000 }),
    // At most 4 attempts in a row fail. They and the delays between them take less than 1.5 minutes.
    failureRounds: fc.array(fc.array(failures, { maxLength: 4 }), { minLength: 1, maxLength: 5 }),
    numbers,
    steps,
  });
  await fc.assert(
    fc.asyncProperty(
      conditions,
      async ({ lifetimeMs, backdateMs, delayMs, failureRounds, numbers, steps }) => {
        const clock = new FakeClock();
        const signer = new FakeSigner(clock);
        Object.assign(signer, { lifetimeMs, backdateMs, delayMs: Math.min(delayMs, lifetimeMs / 100) });
        const queue: SignerBehavior[] = [];
        let round = 0;
        signer.behavior = () => {
          if (queue.length === 0) queue.push(...failureRounds[round++ % failureRounds.length]!, "sign");
          return queue.shift()!;
        };
        const store = new MemoryStore();
        const random = chosen(numbers);
        let stop = new AbortController();
        let manager = certificateManager(clock, signer, store, random);
        await manager.start(stop.signal);
        await clock.advance(4 * minute);
        let elapsed = 4 * minute;
        for (const { minutes, restart } of steps) {
          if (restart) {
            stop.abort();
            await manager.done;
            stop = new AbortController();
            manager = certificateManager(clock, signer, store, random);
            await manager.start(stop.signal);
          }
          for (let i = 0; i < minutes; i++) {
            await clock.advance(minute);
            assert.ok(manager.current(), "there is no valid certificate");
            assert.equal(manager.current(), store.pair);
          }
          elapsed += minutes * minute;
        }
        stop.abort();
        await manager.done;
        assert.equal(clock.pending - signer.watchers, 0, "timers are left behind");
        const restarts = steps.filter(({ restart }) => restart).length;
        const lifetimes = elapsed / (0.7 * lifetimeMs) + 1 + restarts;
        assert.ok(store.updates <= lifetimes + 1, `${store.updates} certificates in ${lifetimes} lifetimes`);
      },
    ),
    { seed, numRuns: 10 },
  );
});

test("after an outage of hours there is a certificate within 40 s, without a burst of requests", async () => {
  const outages = fc.array(
    fc.record({ upMinutes: fc.integer({ min: 1, max: 120 }), downMinutes: fc.integer({ min: 1, max: 240 }) }),
    { minLength: 1, maxLength: 3 },
  );
  await fc.assert(
    fc.asyncProperty(outages, numbers, async (outages, numbers) => {
      const clock = new FakeClock();
      const signer = new FakeSigner(clock);
      let isUp = true;
      let attempts = 0;
      signer.behavior = () => {
        attempts++;
        return isUp ? "sign" : "unavailable";
      };
      const stop = new AbortController();
      const manager = certificateManager(clock, signer, new MemoryStore(), chosen(numbers));
      await manager.start(stop.signal);
      await clock.advance(1000);
      for (const { upMinutes, downMinutes } of outages) {
        for (let i = 0; i < upMinutes; i++) {
          await clock.advance(minute);
          assert.ok(manager.current());
        }
        isUp = false;
        attempts = 0;
        await clock.advance(downMinutes * minute);
        assert.ok(attempts <= (downMinutes * 60) / 32 + 5, `${attempts} attempts in ${downMinutes} minutes`);
        isUp = true;
        await clock.advance(40_000);
        assert.ok(manager.current(), "there is no valid certificate after the outage");
      }
      stop.abort();
      await manager.done;
    }),
    { seed, numRuns: 6 },
  );
});

test("whatever the clock is set to, there is a valid certificate within a minute", async () => {
  const jumps = fc.array(
    fc.record({
      hours: fc.integer({ min: -100, max: 100 }),
      minutes: fc.integer({ min: 1, max: 90 }),
      failing: fc.boolean(),
    }),
    { minLength: 1, maxLength: 8 },
  );
  await fc.assert(
    fc.asyncProperty(jumps, numbers, async (jumps, numbers) => {
      const clock = new FakeClock();
      const signer = new FakeSigner(clock);
      let behavior: SignerBehavior = "sign";
      signer.behavior = () => behavior;
      const stop = new AbortController();
      const manager = certificateManager(clock, signer, new MemoryStore(), chosen(numbers));
      await manager.start(stop.signal);
      for (const { hours, minutes, failing } of jumps) {
        behavior = failing ? "unavailable" : "sign";
        await clock.advance(minutes * minute);
        clock.jump(hours * hour);
        behavior = "sign";
        await clock.advance(minute);
        assert.ok(manager.current(), "there is no valid certificate");
      }
      stop.abort();
      await manager.done;
    }),
    { seed, numRuns: 6 },
  );
});

unaffectedByJumps(
  "retries for the first certificate during an outage, and their health",
  600_000,
  async (clock) => {
    const signer = new FakeSigner(clock);
    const recorded: string[] = [];
    signer.behavior = () => {
      recorded.push(`${clock.elapsedMs} request`);
      return "unavailable";
    };
    const stop = new AbortController();
    const manager = certificateManager(clock, signer, new MemoryStore(), () => 0.5);
    await manager.start(stop.signal);
    for (let i = 0; i < 60; i++) {
      await clock.advance(10_000);
      recorded.push(`${clock.elapsedMs} ${manager.health().ok}`);
    }
    stop.abort();
    await clock.advance(0);
    return recorded;
  },
  { numRuns: 10 },
);

test("after a suspend longer than its lifetime a certificate is replaced within a minute", async () => {
  const clock = new FakeClock();
  const signer = new FakeSigner(clock);
  signer.lifetimeMs = 4 * hour;
  const stop = new AbortController();
  const manager = certificateManager(clock, signer, new MemoryStore(), () => 0.5);
  await manager.start(stop.signal);
  await clock.advance(minute);
  const first = manager.current();
  assert.ok(first);
  clock.suspend(8 * hour);
  assert.equal(manager.current(), undefined, "an expired certificate is still in use");
  await clock.advance(minute);
  assert.ok(manager.current());
  assert.notEqual(manager.current(), first);
  stop.abort();
  await manager.done;
});
