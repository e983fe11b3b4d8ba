import assert from "node:assert/strict";
import { test } from "node:test";
import type { StepKind } from "../../lib/model/pod-step.ts";
import { StepHistory } from "./step-history.ts";

const step = (kind: StepKind, text: string = kind) => ({ kind, text });

test("steps are recorded with their times and errors", () => {
  const history = new StepHistory(100);
  history.startStep(step("volumes"), 100);
  history.startStep({ ...step("image", "pulling x"), container: "c" }, 130);
  history.fail("no such image");
  history.startStep({ ...step("image", "no such image"), container: "c", until: 900 }, 200);
  assert.deepEqual(history.records, [
    { kind: "volumes", text: "volumes", startedAt: 100, endedAt: 130 },
    {
      kind: "image",
      text: "pulling x",
      container: "c",
      startedAt: 130,
      endedAt: 200,
      error: "no such image",
    },
    { kind: "image", text: "no such image", container: "c", startedAt: 200, until: 900 },
  ]);
  assert.equal(history.current, history.records.at(-1));
  history.endStep(300);
  assert.equal(history.current, undefined);
});

test("a step that is reported again continues, with its new details", () => {
  const history = new StepHistory(0);
  history.startStep({ ...step("backoff"), until: 10 }, 0);
  history.startStep({ ...step("backoff"), until: 20 }, 5);
  assert.deepEqual(history.records, [{ kind: "backoff", text: "backoff", startedAt: 0, until: 20 }]);
});

test("a step that took no time is not kept, unless it failed", () => {
  const history = new StepHistory(0);
  history.startStep(step("start-slot"), 0);
  history.startStep(step("sandbox"), 0);
  history.fail("no network");
  history.startStep(step("container"), 0);
  history.endStep(0);
  assert.deepEqual(
    history.records.map(({ kind }) => kind),
    ["sandbox"],
  );
});

test("only the last records are kept, and long texts are truncated", () => {
  const history = new StepHistory(0);
  for (let i = 0; i < 100; i++) history.startStep(step("other", `step ${i}`), i);
  assert.equal(history.records.length, 32);
  assert.equal(history.records.at(-1)?.text, "step 99");
  assert.equal(history.dropped, 68);
  history.startStep(step("other", `begin${"x".repeat(100_000)}end`), 200);
  history.fail("y".repeat(100_000));
  const { text, error } = history.current!;
  assert.ok(text.length <= 1001 && error!.length <= 1001);
  assert.match(text, /^beginx+…x+end$/, "the middle is omitted: the end of an error is its cause");
});

test("the start of a pod covers all steps until it was first ready, including dropped ones", () => {
  const history = new StepHistory(0);
  history.startStep(step("sandbox"), 10);
  for (let i = 0; i < 100; i++) {
    history.startStep(step("image", `pull ${i}`), 100 + i);
    history.startStep(step("container", `start ${i}`), 100 + i);
  }
  history.startStep(step("readiness"), 200);
  history.ready(260);
  const expected = {
    readyAt: 260,
    tookMs: 260,
    steps: [
      { kind: "sandbox", ms: 90 },
      { kind: "container", ms: 100 },
      { kind: "readiness", ms: 60 },
    ],
  };
  assert.deepEqual(history.start, expected);
  assert.equal(history.current?.kind, "readiness", "the worker ends this step");
  history.startStep(step("container"), 300);
  history.endStep(400);
  history.ready(400);
  assert.deepEqual(history.start, expected, "a restart does not count");
});

test("a pod that was found running has no recorded start", () => {
  const history = new StepHistory(0);
  history.startStep(step("admission"), 0);
  history.ready(50);
  assert.equal(history.start, undefined);
  history.startStep(step("container"), 60);
  history.endStep(70);
  history.ready(70);
  assert.equal(history.start, undefined, "a restart does not count");
});

test("recording a step costs less than encoding it as JSON", () => {
  const history = new StepHistory(0);
  const steps = Array.from({ length: 64 }, (_, i) => ({
    ...step("image", `pulling image ${i}`),
    container: "c",
  }));
  const rounds = 2000;
  const measure = (work: (i: number) => void) => {
    for (let i = 0; i < rounds; i++) work(i);
    const startedAt = performance.now();
    for (let i = 0; i < rounds * 10; i++) work(i);
    return performance.now() - startedAt;
  };
  let now = 0;
  const recorded = measure((i) => history.startStep(steps[i % 64]!, ++now));
  const encoded = measure(() => JSON.stringify(history.records));
  assert.ok(recorded < encoded, `${recorded} ms against ${encoded} ms`);
});
