import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { FakeClock, monotonicTime } from "../../src/lib/base/fake-clock.ts";
import { epochMs, type MonotonicTime } from "../../src/lib/base/time.ts";

const hour = 3_600_000;
const day = 24 * hour;

/** The wall clock is set or the machine is suspended, at this time after the creation of the clock. */
interface ClockJump {
  readonly atMs: number;
  readonly kind: "jump" | "suspend";
  readonly ms: number;
}

const jumps = {
  "set back by an hour": { kind: "jump", ms: -hour },
  "set forward by a day": { kind: "jump", ms: day },
  "machine suspended": { kind: "suspend", ms: 8 * hour },
} as const;

const jumpsWithin = (lengthMs: number): fc.Arbitrary<ClockJump[]> =>
  fc.array(
    fc
      .record({
        atMs: fc.nat(lengthMs),
        jump: fc.constantFrom<(typeof jumps)[keyof typeof jumps][]>(...Object.values(jumps)),
      })
      .map(({ atMs, jump }) => ({ atMs, ...jump })),
    { minLength: 1, maxLength: 6 },
  );

/** A clock on which these jumps happen while a test advances it. */
export class JumpingClock extends FakeClock {
  readonly #jumps: ClockJump[];

  constructor(all: readonly ClockJump[]) {
    super();
    this.#jumps = [...all].sort((a, b) => a.atMs - b.atMs);
  }

  override async advance(ms: number): Promise<void> {
    const until = this.elapsedMs + ms;
    for (let next = this.#jumps[0]; next && next.atMs <= until; next = this.#jumps[0]) {
      this.#jumps.shift();
      await super.advance(next.atMs - this.elapsedMs);
      this[next.kind](next.ms);
    }
    await super.advance(until - this.elapsedMs);
  }
}

/** Simulates a component that uses wall time instead of monotonic time. */
class WallTimeClock extends JumpingClock {
  override monotonic(): MonotonicTime {
    return monotonicTime(epochMs(this.wall()));
  }
}

/**
 * The scenario returns what a component did and when, in `elapsedMs` of the clock. This must not depend on the wall clock: nothing
 * stalls, fires early or flaps. The scenario advances the clock, and must not wait for promises of the component, which may never settle.
 * A second test shows that the scenario detects a component on wall time, unless the component waits by timers only.
 */
export function unaffectedByJumps<T>(
  what: string,
  lengthMs: number,
  scenario: (clock: FakeClock) => Promise<T>,
  { onlyTimers = false, numRuns = 25 } = {},
): void {
  describe(`the timing of ${what}`, () => {
    it("does not change when the wall clock is set or the machine is suspended", async () => {
      const expected = await scenario(new FakeClock());
      await fc.assert(
        fc.asyncProperty(jumpsWithin(lengthMs), async (all) => {
          assert.deepEqual(await scenario(new JumpingClock(all)), expected);
        }),
        { numRuns },
      );
    });

    if (!onlyTimers)
      for (const [name, jump] of Object.entries(jumps))
        it(`would change with wall time (${name})`, async () => {
          const expected = JSON.stringify(await scenario(new WallTimeClock([])));
          for (let part = 1; part < 20; part++) {
            const atMs = Math.round((lengthMs * part) / 20);
            if (JSON.stringify(await scenario(new WallTimeClock([{ atMs, ...jump }]))) !== expected) return;
          }
          assert.fail("nothing in the scenario depends on time");
        });
  });
}
