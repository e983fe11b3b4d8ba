import assert from "node:assert/strict";
import { test } from "node:test";
import type { TimelineStep } from "../../protocol.ts";
import { sparkPath } from "./spark-line.ts";
import { Store } from "./store.ts";
import { timelineBars } from "./timeline.ts";
import { scrollToRow, visibleRows } from "./visible-rows.ts";

const step = (startedAt: number, endedAt: number | null, error: string | null = null): TimelineStep => ({
  step: "image",
  text: "",
  container: null,
  startedAt,
  endedAt,
  until: null,
  isBackOff: false,
  failed: error !== null,
  error,
});
const times = (bars: ReturnType<typeof timelineBars>) => bars.map(({ spans }) => spans[0]!);
let texts = 0;
const distinct = (...steps: TimelineStep[]) => steps.map((one) => ({ ...one, text: String(texts++) }));

test("bars have the place, the length and the duration of their steps", () => {
  const bars = timelineBars(distinct(step(1000, 2000), step(2000, 5000, "no such image")), 9000);
  assert.deepEqual(
    bars.map(({ spans: [span], duration, state }) => [span?.left, span?.width, duration, state]),
    [
      [0, 0.25, 1, "done"],
      [0.25, 0.75, 3, "failed"],
    ],
  );
});

test("a step in progress grows with time", () => {
  const at = (now: number) => timelineBars(distinct(step(0, 1000), step(1000, null)), now)[1]!;
  assert.deepEqual([at(2000).state, at(2000).duration, at(4000).duration], ["running", 1, 3]);
  assert.ok(at(4000).spans[0]!.width > at(2000).spans[0]!.width);
});

test("hours without a step, and steps of hours, leave short steps visible", () => {
  const hours = 5 * 3_600_000;
  const [first, , last] = times(
    timelineBars(distinct(step(0, 1000), step(hours, 2 * hours), step(2 * hours, 2 * hours + 1000)), 0),
  );
  assert.ok(first!.width > 0.04 && last!.width > 0.04, `${first!.width} ${last!.width}`);
});

test("equal steps share a row, with a span for each attempt, and back-offs have a state of their own", () => {
  const backOff = (from: number, to: number | null) => ({ ...step(from, to), text: "wait", isBackOff: true });
  const rows = timelineBars(
    [step(0, 1000, "a"), backOff(1000, 2000), step(2000, 3000, "b"), backOff(3000, null)],
    4000,
  );
  assert.deepEqual(
    rows.map(({ step: { error }, spans, duration, state }) => [error, spans.length, duration, state]),
    [
      ["b", 2, 2, "failed"],
      [null, 2, 2, "waiting"],
    ],
  );
});

test("steps at the same time have the same place", () => {
  const [a, b] = times(timelineBars(distinct(step(0, 1000), step(0, 1000)), 0));
  assert.deepEqual([a!.left, a!.width], [b!.left, b!.width]);
  assert.deepEqual(timelineBars([], 0), []);
});

test("a spark line ends at the right edge, is scaled to its maximum, and has gaps for unknown values", () => {
  assert.equal(sparkPath([0, 2, 1], 3), "M0 19L32 1L64 10");
  assert.equal(sparkPath([2, null, 2], 3), "M0 1M64 1");
  assert.equal(sparkPath([1]), "");
  assert.equal(sparkPath([0, 0], 2), "M0 19L64 19");
});

test("the rows in view, and a few beyond, are drawn", () => {
  assert.deepEqual(visibleRows(0, 100, 10, 1000, 2), { first: 0, end: 12 });
  assert.deepEqual(visibleRows(500, 100, 10, 1000, 2), { first: 48, end: 62 });
  assert.deepEqual(visibleRows(9990, 100, 10, 1000, 2), { first: 997, end: 1000 });
  assert.deepEqual(visibleRows(5000, 100, 10, 3, 2), { first: 1, end: 3 });
});

test("a row is scrolled into view by the shortest way", () => {
  assert.equal(scrollToRow(5, 0, 100, 10), undefined);
  assert.equal(scrollToRow(10, 0, 100, 10), 10);
  assert.equal(scrollToRow(2, 50, 100, 10), 20);
});

test("listeners of a store are called for another value only, until they unsubscribe", () => {
  const store = new Store(1);
  let calls = 0;
  const end = store.subscribe(() => calls++);
  store.set(1);
  store.set(2);
  end();
  store.set(3);
  assert.deepEqual([calls, store.get()], [1, 3]);
});
