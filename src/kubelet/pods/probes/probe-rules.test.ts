import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { monotonicTime } from "../../../lib/base/fake-clock.ts";
import type { ProbeKind, ProbeOutcome } from "../../state/probe-results.ts";
import { countResult, firstTick, isFinal, nextTick, noResults, thresholdReached } from "./probe-rules.ts";

describe("the threshold is reached", () => {
  const probe = { successThreshold: 2, failureThreshold: 3 };
  const table: [rule: string, results: string, reached: boolean][] = [
    ["not after one success of two", "s", false],
    ["after two successes", "ss", true],
    ["not after two failures of three", "ff", false],
    ["after three failures", "fff", true],
    ["after more than needed", "fffff", true],
    ["only by consecutive failures", "ffsf", false],
    ["when the last three fail", "ffsfff", true],
  ];
  for (const [rule, results, expected] of table)
    it(rule, () => {
      let run = noResults;
      for (const result of results) run = countResult(run, result === "s" ? "success" : "failure");
      assert.equal(thresholdReached(run, probe), expected);
    });

  it("by one success or three failures by default", () => {
    assert.equal(thresholdReached(countResult(noResults, "success"), {}), true);
    assert.equal(thresholdReached({ result: "failure", count: 2 }, {}), false);
    assert.equal(thresholdReached({ result: "failure", count: 3 }, {}), true);
  });
});

describe("the final outcome of a container", () => {
  const table: [kind: ProbeKind, outcome: ProbeOutcome, last: boolean][] = [
    ["startup", "success", true],
    ["startup", "failure", true],
    ["startup", "unknown", false],
    ["liveness", "success", false],
    ["liveness", "failure", true],
    ["readiness", "success", false],
    ["readiness", "failure", false],
  ];
  for (const [kind, outcome, last] of table)
    it(`${last ? "is" : "is not"} ${outcome} of its ${kind} probe`, () =>
      assert.equal(isFinal(kind, outcome), last));
});

describe("the first probe is executed", () => {
  const base = {
    foundRunning: false,
    tickOrigin: monotonicTime(59_000),
    initialDelayMs: 0,
    periodMs: 10_000,
    random: () => 0.5,
  };
  type Input = Partial<Parameters<typeof firstTick>[0]>;
  const table: [rule: string, given: Input, others: number, liveness: number][] = [
    [
      "when the container starts",
      { now: monotonicTime(60_000), containerStartedAt: monotonicTime(60_000) },
      60_000,
      69_000,
    ],
    [
      "when its start is observed late",
      { now: monotonicTime(63_000), containerStartedAt: monotonicTime(60_000) },
      63_000,
      69_000,
    ],
    [
      "when it starts at a tick",
      { now: monotonicTime(60_000), tickOrigin: monotonicTime(60_000) },
      60_000,
      70_000,
    ],
    [
      "when it starts just before a tick",
      { now: monotonicTime(60_000), tickOrigin: monotonicTime(61_000) },
      60_000,
      71_000,
    ],
    [
      "when it starts half a period before a tick",
      { now: monotonicTime(60_000), tickOrigin: monotonicTime(15_000) },
      60_000,
      65_000,
    ],
    [
      "when an initial delay has passed",
      { now: monotonicTime(61_000), initialDelayMs: 5000 },
      65_000,
      69_000,
    ],
    [
      "when a delay of a whole period has passed",
      { now: monotonicTime(61_000), initialDelayMs: 10_000 },
      70_000,
      79_000,
    ],
    [
      "when a long initial delay has passed",
      { now: monotonicTime(61_000), initialDelayMs: 25_000 },
      85_000,
      89_000,
    ],
    [
      "when the initial delay passed before",
      { now: monotonicTime(74_000), initialDelayMs: 5000 },
      74_000,
      79_000,
    ],
    [
      "at a random moment of a period if the container was found running",
      { now: monotonicTime(900_000), foundRunning: true },
      905_000,
      905_000,
    ],
    [
      "after the longer of delay and spread",
      { now: monotonicTime(61_000), foundRunning: true, initialDelayMs: 30_000 },
      90_000,
      90_000,
    ],
  ];
  for (const [rule, given, others, liveness] of table)
    for (const kind of ["readiness", "startup", "liveness"] as const)
      it(`${kind}: ${rule}`, () => {
        const at = firstTick({
          kind,
          now: monotonicTime(0),
          containerStartedAt: monotonicTime(60_000),
          ...base,
          ...given,
        });
        assert.equal(at, kind === "liveness" ? liveness : others);
      });
});

describe("the next tick", () => {
  const table: [rule: string, now: number, next: number][] = [
    ["is a period later", 1000, 2000],
    ["remains on schedule if this one was late", 1400, 2000],
    ["drops missed ticks", 4300, 5000],
    ["is always in the future", 2000, 3000],
  ];
  for (const [rule, now, next] of table)
    it(rule, () => assert.equal(nextTick(monotonicTime(1000), 1000, monotonicTime(now)), next));
});
