import assert from "node:assert/strict";
import { test } from "node:test";
import { FakeClock } from "../../base/fake-clock.ts";
import { WorkerReport } from "./worker-report.ts";

function setUp() {
  const clock = new FakeClock();
  let changes = 0;
  const report = new WorkerReport(clock, () => changes++);
  return { clock, report, changes: () => changes };
}

test("what fails and is tried again has been in the way since the first time", async () => {
  const { clock, report } = setUp();
  const first = clock.now();
  for (let attempt = 0; attempt < 3; attempt++) {
    report.blockedOn("creating the sandbox");
    assert.deepEqual(report.current, { text: "creating the sandbox", since: first });
    await clock.advance(100);
    report.blockedOn("no network");
    assert.deepEqual(report.current, { text: "no network", since: first + 100 });
    await clock.advance(1000);
  }
  report.free();
  report.blockedOn("no network");
  assert.equal(report.current?.since, clock.now(), "it was out of the way in between");
});

test("the same again is no news", () => {
  const { report, changes } = setUp();
  for (let i = 0; i < 2; i++) {
    report.blockedOn("x");
    report.waiting("a", { reason: "R", message: "m" });
    report.waiting("b", undefined);
  }
  assert.equal(changes(), 2);
});

test("what is said of a wait is bounded, however often the words change", () => {
  const { report } = setUp();
  for (let i = 0; i < 1000; i++) report.blockedOn(`attempt ${i}`);
  assert.equal(report.current?.text, "attempt 999");
});

test("another part of the pod's life knows nothing of the one before", () => {
  const { report } = setUp();
  report.blockedOn("x");
  report.waiting("a", { reason: "R", message: "m" });
  report.clear();
  assert.deepEqual([report.current, report.containers.size], [undefined, 0]);
});
