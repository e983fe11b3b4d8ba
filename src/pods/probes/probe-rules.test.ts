import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { ProbeKind, ProbeOutcome } from "../../state/probe-results.ts";
import { believed, counted, firstTick, isLastWord, nextTick, noTally } from "./probe-rules.ts";

describe("an answer is believed", () => {
  const probe = { successThreshold: 2, failureThreshold: 3 };
  const table: [rule: string, answers: string, believed: boolean][] = [
    ["not after one success of two", "s", false],
    ["after two successes", "ss", true],
    ["not after two failures of three", "ff", false],
    ["after three failures", "fff", true],
    ["after more than needed", "fffff", true],
    ["only if they follow one another", "ffsf", false],
    ["when the last ones agree", "ffsfff", true],
  ];
  for (const [rule, answers, expected] of table)
    it(rule, () => {
      let tally = noTally;
      for (const answer of answers) tally = counted(tally, answer === "s" ? "success" : "failure");
      assert.equal(believed(tally, probe), expected);
    });

  it("after one success or three failures if the probe does not say", () => {
    assert.equal(believed(counted(noTally, "success"), {}), true);
    assert.equal(believed({ answer: "failure", run: 2 }, {}), false);
    assert.equal(believed({ answer: "failure", run: 3 }, {}), true);
  });
});

describe("the last word on a container", () => {
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
      assert.equal(isLastWord(kind, outcome), last));
});

describe("the first probe comes", () => {
  const base = { agentStartedAt: 0, initialDelayMs: 0, periodMs: 10_000, random: () => 0.5 };
  const table: [rule: string, given: Partial<Parameters<typeof firstTick>[0]>, at: number][] = [
    ["at once when the container starts", { now: 60_000, containerStartedAt: 60_000 }, 60_000],
    [
      "when the initial delay is over, counted from the start of the container",
      { now: 61_000, containerStartedAt: 60_000, initialDelayMs: 5000 },
      65_000,
    ],
    [
      "at once when the initial delay was over before",
      { now: 70_000, containerStartedAt: 60_000, initialDelayMs: 5000 },
      70_000,
    ],
    [
      "not later than the initial delay if the clock was set back",
      { now: 60_000, containerStartedAt: 9_000_000, initialDelayMs: 5000 },
      65_000,
    ],
    [
      "within a period, at random, if the agent has just found the container",
      { now: 61_000, containerStartedAt: 10_000, agentStartedAt: 60_000 },
      66_000,
    ],
    [
      "at once if the agent has run for more than a period",
      { now: 70_000, containerStartedAt: 10_000, agentStartedAt: 60_000 },
      70_000,
    ],
    [
      "after the longer of delay and spread",
      { now: 61_000, containerStartedAt: 59_000, agentStartedAt: 60_000, initialDelayMs: 30_000 },
      89_000,
    ],
    [
      "at once for a container that is younger than the agent",
      { now: 61_000, containerStartedAt: 60_500, agentStartedAt: 60_000 },
      61_000,
    ],
  ];
  for (const [rule, given, at] of table)
    it(rule, () => assert.equal(firstTick({ now: 0, containerStartedAt: 0, ...base, ...given }), at));
});

describe("the next tick", () => {
  const table: [rule: string, now: number, next: number][] = [
    ["comes after a period", 1000, 2000],
    ["keeps the rhythm if this one was late", 1400, 2000],
    ["drops those that were missed", 4300, 5000],
    ["is never now", 2000, 3000],
  ];
  for (const [rule, now, next] of table) it(rule, () => assert.equal(nextTick(1000, 1000, now), next));
});
