import assert from "node:assert/strict";
import { test } from "node:test";
import { FakeClock } from "../../../lib/base/fake-clock.ts";
import { epochMs } from "../../../lib/base/time.ts";
import { WorkerReport } from "./worker-report.ts";

function setUp() {
  const clock = new FakeClock();
  const calls: string[] = [];
  const report = new WorkerReport(clock, {
    step: () => calls.push("step"),
    waiting: () => calls.push("waiting"),
  });
  return { clock, report, calls };
}

test("a retried step starts with its first attempt", async () => {
  const { clock, report } = setUp();
  const first = epochMs(clock.wall());
  for (let attempt = 0; attempt < 3; attempt++) {
    report.blockedOn("creating the sandbox");
    assert.deepEqual(report.current, { text: "creating the sandbox", since: first });
    await clock.advance(100);
    report.blockedOn("no network");
    assert.deepEqual(report.current, { text: "no network", since: first + 100 });
    await clock.advance(1000);
  }
  report.unblocked();
  report.blockedOn("no network");
  assert.equal(report.current?.since, epochMs(clock.wall()), "it was resolved in between");
});

test("the same report again is not a change", () => {
  const { report, calls } = setUp();
  for (let i = 0; i < 2; i++) {
    report.blockedOn("x");
    report.waiting("a", { reason: "R", message: "m" });
    report.waiting("b", undefined);
  }
  assert.deepEqual(calls, ["step", "waiting"]);
});

test("the recorded texts are bounded, however often the text changes", () => {
  const { report } = setUp();
  for (let i = 0; i < 1000; i++) report.blockedOn(`attempt ${i}`);
  assert.equal(report.current?.text, "attempt 999");
});

test("a new phase clears the report", () => {
  const { report } = setUp();
  report.blockedOn("x");
  report.waiting("a", { reason: "R", message: "m" });
  report.clear();
  assert.deepEqual([report.current, report.containers.size], [undefined, 0]);
});

test("a failed sync is a wait until the retry, of the kind of the failed step", () => {
  const { clock, report } = setUp();
  report.blockedOn("creating the sandbox", { kind: "sandbox" });
  report.failed("no network", epochMs(clock.wall()) + 500);
  const [tried, waits] = report.history.records;
  assert.deepEqual([tried?.kind, tried?.error], ["sandbox", "no network"]);
  assert.deepEqual(
    [waits?.kind, waits?.text, waits?.until],
    ["sandbox", "no network", epochMs(clock.wall()) + 500],
  );
});

test("the container that failed is named, even if others were started after it", async () => {
  const { clock, report } = setUp();
  report.blockedOn("pulling image x", { kind: "image", container: "a" });
  await clock.advance(10);
  report.waiting("a", { reason: "ErrImagePull", message: "no such image" });
  report.blockedOn("starting container b", { kind: "container", container: "b" });
  await clock.advance(10);
  report.failed("no such image", epochMs(clock.wall()) + 1000);
  assert.deepEqual(
    report.history.records.map(({ kind, container, error }) => [kind, container, error]),
    [
      ["image", "a", "no such image"],
      ["container", "b", undefined],
      ["image", "a", "no such image"],
    ],
  );
});

test("why a pod is not ready is reported when it waits for nothing else", async () => {
  const { clock, report } = setUp();
  const why = { kind: "readiness", text: "waiting for the readiness probe of a", container: "a" } as const;
  report.blockedOn("starting container a", { kind: "container" });
  await clock.advance(10);
  report.readiness(false, why);
  assert.equal(report.current?.text, "starting container a");
  const reportedAt = epochMs(clock.wall());
  await clock.advance(10);
  report.unblocked();
  assert.deepEqual(report.current, { text: why.text, since: reportedAt });
  await clock.advance(100);
  report.unblocked();
  report.readiness(false, why);
  assert.equal(
    report.history.current?.startedAt,
    reportedAt + 10,
    "it is one wait, however often it is reported",
  );
  await clock.advance(100);
  report.readiness(true, undefined);
  assert.equal(report.current, undefined);
  assert.deepEqual(report.history.start?.steps, [
    { kind: "container", ms: 20 },
    { kind: "readiness", ms: 200 },
  ]);
});

test("a terminating pod has no readiness report", () => {
  const { report } = setUp();
  report.readiness(false, { kind: "readiness", text: "x" });
  report.clear();
  assert.equal(report.current, undefined);
  assert.equal(report.history.current, undefined);
});
