import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { FakeClock } from "../../lib/base/fake-clock.ts";
import { ReportSchedule } from "./report-schedule.ts";

function setUp(random: number) {
  const clock = new FakeClock();
  return { clock, schedule: new ReportSchedule(clock, 100, () => random) };
}

describe("reports of an unchanged status", () => {
  it("the first is due immediately", () => assert.ok(setUp(0.5).schedule.isDue()));

  const shifts: [number, number][] = [
    [0, 50],
    [0.5, 100],
    [0.9, 140],
  ];
  for (const [random, dueAt] of shifts)
    it(`the next is due after ${dueAt} % of the period with jitter ${random} after a change`, async () => {
      const { clock, schedule } = setUp(random);
      schedule.reported(true);
      await clock.advance(dueAt - 1);
      assert.ok(!schedule.isDue());
      await clock.advance(1);
      assert.ok(schedule.isDue());
    });

  it("the period is kept after a report of an unchanged status", async () => {
    const { clock, schedule } = setUp(0);
    schedule.reported(false);
    await clock.advance(50);
    assert.ok(schedule.isDue(), "the first report counts as a change");
    schedule.reported(false);
    await clock.advance(99);
    assert.ok(!schedule.isDue());
    await clock.advance(1);
    assert.ok(schedule.isDue());
  });

  it("one report is due after the clock was set back", async () => {
    const { clock, schedule } = setUp(0.5);
    schedule.reported(true);
    clock.jump(-3_600_000);
    assert.ok(schedule.isDue());
    schedule.reported(false);
    await clock.advance(99);
    assert.ok(!schedule.isDue());
  });

  it("no report is due after a clock jump forward", async () => {
    const { clock, schedule } = setUp(0.5);
    schedule.reported(true);
    clock.suspend(86_400_000);
    await clock.advance(99);
    assert.ok(!schedule.isDue());
    await clock.advance(1);
    assert.ok(schedule.isDue());
  });
});
