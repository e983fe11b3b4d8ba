import assert from "node:assert/strict";
import { test } from "node:test";
import { foldedSteps } from "./folded-steps.ts";
import type { ExplainedStep } from "./pod-explanation.ts";

const step = (text: string, more: Partial<ExplainedStep> = {}): ExplainedStep => ({
  step: "image",
  text,
  startedAt: "2026-01-01T00:00:00.000Z",
  ms: 10,
  ...more,
});
const until = "2026-01-01T00:00:10.000Z";
const shown = (history: ExplainedStep[]) =>
  foldedSteps(history).map(({ text, attempts, failed, isBackOff, problem }) => [
    text,
    attempts.length,
    failed,
    isBackOff,
    problem,
  ]);

test("equal steps are folded into the first, and back-offs into one step of their own", () => {
  const failed = { error: "raw 1", problem: "no such tag" };
  assert.deepEqual(
    shown([
      step("creating the sandbox", { step: "sandbox" }),
      step("pulling image x", failed),
      step("Back-off pulling x: raw 1", { until, ...failed }),
      step("pulling image x", { ...failed, problem: "no such host" }),
      step("Back-off pulling x: raw 2", { until, ...failed }),
    ]),
    [
      ["creating the sandbox", 1, 0, false, undefined],
      ["pulling image x", 2, 2, false, "no such host"],
      ["back-off before the next attempt", 2, 0, true, undefined],
    ],
  );
});

test("back-offs of different length before restarts of a container are equal, those of another container are not", () => {
  const backOff = (text: string, container: string) => step(text, { step: "backoff", container });
  assert.deepEqual(
    shown([
      backOff("back-off 10s until 1 before restarting a", "a"),
      backOff("back-off 20s until 2 before restarting a", "a"),
      backOff("back-off 10s until 1 before restarting b", "b"),
    ]).map(([text, times]) => [text, times]),
    [
      ["back-off before a is restarted", 2],
      ["back-off before b is restarted", 1],
    ],
  );
});

test("a check for an image that ends with a back-off has not failed again", () => {
  assert.deepEqual(shown([step("checking for image x", { error: "Back-off pulling image x" })]), [
    ["checking for image x", 1, 0, false, undefined],
  ]);
});
