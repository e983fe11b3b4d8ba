import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Clock } from "./clock.ts";
import { monotonicTime } from "./fake-clock.ts";
import {
  dateOf,
  earliest,
  endOfTime,
  epochMs,
  latest,
  msBetween,
  plusMs,
  rfc3339Nanos,
  wallTime,
} from "./time.ts";

describe("points in time", () => {
  const noon = "2026-01-01T12:00:00Z";

  it("wall time converts to and from milliseconds, dates and RFC 3339", () => {
    for (const from of [noon, new Date(noon), Date.parse(noon)]) {
      assert.equal(epochMs(wallTime(from)), Date.parse(noon));
      assert.equal(dateOf(wallTime(from)).toISOString(), "2026-01-01T12:00:00.000Z");
    }
    const none = wallTime("no date");
    assert.ok(Number.isNaN(epochMs(none)) && !(none < wallTime(noon)) && !(none >= wallTime(noon)));
  });

  it("a time has nine digits of a second and the offset of its time zone", () => {
    const at = new Date("2026-01-01T12:00:00.5Z");
    assert.equal(rfc3339Nanos(at, 0), "2026-01-01T12:00:00.500000000Z");
    assert.equal(rfc3339Nanos(at, 330), "2026-01-01T17:30:00.500000000+05:30");
    assert.equal(rfc3339Nanos(at, -60), "2026-01-01T11:00:00.500000000-01:00");
    assert.equal(epochMs(wallTime(rfc3339Nanos(at, 330))), at.getTime());
    assert.equal(epochMs(wallTime(rfc3339Nanos(at))), at.getTime());
  });

  for (const [kind, at] of [
    ["wall", wallTime],
    ["monotonic", monotonicTime],
  ] as const)
    it(`of ${kind} time are added to, subtracted and compared`, () => {
      assert.equal(msBetween(wallTime(100), plusMs(wallTime(100), 50)), 50);
      const [early, late] = [at(100), plusMs(at(100), 50)];
      assert.ok(early < late && late > early && early <= at(100));
      assert.equal(earliest(late, early, late), early);
      assert.equal(latest(early, late, early), late);
    });

  it("the end of time is after everything", () => {
    assert.ok(monotonicTime(1e15) < endOfTime);
    assert.equal(msBetween(monotonicTime(0), endOfTime), Number.POSITIVE_INFINITY);
  });
});

/** Not run: `npm run types` fails if one of these compiles. */
export function doesNotCompile(clock: Clock): unknown[] {
  const wall = clock.wall();
  const monotonic = clock.monotonic();
  return [
    // @ts-expect-error -- wall minus monotonic
    wall - monotonic,
    // @ts-expect-error -- monotonic minus wall
    monotonic - wall,
    // @ts-expect-error -- not even of one kind: the order of the operands is easily mistaken
    wall - clock.wall(),
    // @ts-expect-error -- a bare number is not a point in time
    wall - Date.now(),
    // @ts-expect-error -- a bare number is not a point in time
    monotonic - performance.now(),
    // @ts-expect-error -- a point plus milliseconds is plusMs
    monotonic + 1000,
    // @ts-expect-error -- the two between each other
    msBetween(wall, monotonic),
    // @ts-expect-error -- the two between each other
    msBetween(monotonic, wall),
    // @ts-expect-error -- a bare number between points
    msBetween(monotonic, 5),
    // @ts-expect-error -- a bare number between points
    msBetween(Date.now(), wall),
    // @ts-expect-error -- wall before monotonic
    wall < monotonic,
    // @ts-expect-error -- wall before a bare number
    wall < Date.now(),
    // @ts-expect-error -- monotonic before a bare number
    monotonic >= 5,
    // @ts-expect-error -- the earliest of the two
    earliest(wall, monotonic),
    // @ts-expect-error -- a date of monotonic time
    dateOf(monotonic),
    // @ts-expect-error -- a date of monotonic time
    new Date(monotonic),
    // @ts-expect-error -- milliseconds since the epoch of monotonic time
    epochMs(monotonic),
  ];
}
