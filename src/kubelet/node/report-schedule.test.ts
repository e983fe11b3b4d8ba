import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { ReportSchedule } from "./report-schedule.ts";

describe("reports without news", () => {
  it("the first is due at once", () => assert.ok(new ReportSchedule(100, () => 0.5).isDue(0)));

  const shifts: [number, number][] = [
    [0, 50],
    [0.5, 100],
    [0.9, 140],
  ];
  for (const [random, dueAt] of shifts)
    it(`after a change at ${random} of chance the next comes after ${dueAt} %`, () => {
      const schedule = new ReportSchedule(100, () => random);
      schedule.reported(1000, true);
      assert.ok(!schedule.isDue(1000 + dueAt - 1));
      assert.ok(schedule.isDue(1000 + dueAt));
    });

  it("after a report without news the period is kept", () => {
    const schedule = new ReportSchedule(100, () => 0);
    schedule.reported(0, false);
    assert.ok(schedule.isDue(50), "the first report counts as a change");
    schedule.reported(50, false);
    assert.ok(!schedule.isDue(149));
    assert.ok(schedule.isDue(150));
  });

  it("a clock that was set back makes a report due", () => {
    const schedule = new ReportSchedule(100, () => 0.5);
    schedule.reported(1_000_000, true);
    assert.ok(schedule.isDue(5));
    schedule.reported(5, false);
    assert.ok(!schedule.isDue(6));
  });
});
