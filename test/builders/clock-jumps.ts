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
  "back an hour": { kind: "jump", ms: -hour },
  "forward a day": { kind: "jump", ms: day },
  suspended: { kind: "suspend", ms: 8 * hour },
} as const;

const leapsWithin = (lengthMs: number): fc.Arbitrary<ClockJump[]> =>
  fc.array(
    fc
      .record({
        atMs: fc.nat(lengthMs),
        jump: fc.constantFrom<(typeof jumps)[keyof typeof jumps][]>(...Object.values(jumps)),
      })
      .map(({ atMs, jump }) => ({ atMs, ...jump })),
    { minLength: 1, maxLength: 6 },
  );

/** A clock with which all this happens while a test advances it. */
export class LeapingClock extends FakeClock {
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

/** What a component would read that uses wall time instead of monotonic time. */
class WrongClock extends LeapingClock {
  override monotonic(): MonotonicTime {
    return monotonicTime(epochMs(this.wall()));
  }
}

/**
 * The scenario returns what a component did and when, in `elapsedMs` of the clock: the same whatever happens to the wall clock.
 * So nothing stalls, fires early or flaps. It must not wait for promises of the component, which may never settle; it advances the clock.
 * A second test shows that the scenario would notice a component on wall time; unless that has only timers to wait with.
 */
export function unaffectedByJumps<T>(
  what: string,
  lengthMs: number,
  scenario: (clock: FakeClock) => Promise<T>,
  { onlyTimers = false, numRuns = 25 } = {},
): void {
  describe(what, () => {
    it("is the same when the wall clock is set or the machine suspended", async () => {
      const expected = await scenario(new FakeClock());
      await fc.assert(
        fc.asyncProperty(leapsWithin(lengthMs), async (all) => {
          assert.deepEqual(await scenario(new LeapingClock(all)), expected);
        }),
        { numRuns },
      );
    });

    if (!onlyTimers)
      for (const [name, jump] of Object.entries(jumps))
        it(`would not be the same with a component on wall time: ${name}`, async () => {
          const expected = JSON.stringify(await scenario(new WrongClock([])));
          for (let part = 1; part < 20; part++) {
            const atMs = Math.round((lengthMs * part) / 20);
            if (JSON.stringify(await scenario(new WrongClock([{ atMs, ...jump }]))) !== expected) return;
          }
          assert.fail("nothing in the scenario depends on time");
        });
  });
}
