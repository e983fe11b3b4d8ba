import { unaffectedByJumps } from "../../../test/builders/clock-jumps.ts";
import { Backoff } from "./backoff.ts";
import { msUntil } from "./clock.ts";
import { ConcurrencyLimiter } from "./concurrency-limiter.ts";
import { RateLimit } from "./rate-limit.ts";

unaffectedByJumps("a rate limit", 5000, async (clock) => {
  const limit = new RateLimit(4, 2, clock);
  const grantedAt: number[] = [];
  for (let i = 0; i < 16; i++) {
    void limit.take().then(() => grantedAt.push(clock.elapsedMs));
    await clock.advance(i % 3 === 0 ? 0 : 300);
  }
  await clock.advance(60_000);
  return grantedAt;
});

unaffectedByJumps("a back-off", 100_000, async (clock) => {
  const backoff = new Backoff({ initialMs: 1000, maxMs: 16_000, resetMs: 20_000 });
  const triedAt: number[] = [];
  for (const pauseMs of [0, 0, 0, 0, 0, 0, 0, 25_000, 0, 0]) {
    triedAt.push(clock.elapsedMs);
    backoff.failed("k", clock.monotonic());
    for (let i = 0; i < 100 && msUntil(clock, backoff.readyAt("k")!) > 0; i++) await clock.advance(500);
    await clock.advance(pauseMs);
  }
  return triedAt;
});

unaffectedByJumps("a limiter whose slots are held too long", 40_000, async (clock) => {
  const seen: string[] = [];
  const limiter = new ConcurrencyLimiter<"a">(1, {
    clock,
    maxHoldMs: 10_000,
    onAdmitted: (ms) => seen.push(`waited ${ms}`),
  });
  for (let i = 0; i < 4; i++) {
    void limiter.run(() => {
      seen.push(`${i} at ${clock.elapsedMs}`);
      return new Promise<void>(() => {});
    });
    await clock.advance(1000);
  }
  await clock.advance(60_000);
  return seen;
});
