import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { monotonicTime } from "../../../lib/base/fake-clock.ts";
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
  const base = {
    found: false,
    rhythm: monotonicTime(59_000),
    initialDelayMs: 0,
    periodMs: 10_000,
    random: () => 0.5,
  };
  type Given = Partial<Parameters<typeof firstTick>[0]>;
  const table: [rule: string, given: Given, prompt: number, liveness: number][] = [
    [
      "when the container starts",
      { now: monotonicTime(60_000), containerStartedAt: monotonicTime(60_000) },
      60_000,
      69_000,
    ],
    [
      "when its start is noticed late",
      { now: monotonicTime(63_000), containerStartedAt: monotonicTime(60_000) },
      63_000,
      69_000,
    ],
    [
      "when it starts at a tick",
      { now: monotonicTime(60_000), rhythm: monotonicTime(60_000) },
      60_000,
      70_000,
    ],
    [
      "when it starts just before a tick",
      { now: monotonicTime(60_000), rhythm: monotonicTime(61_000) },
      60_000,
      71_000,
    ],
    [
      "when it starts half a period before a tick",
      { now: monotonicTime(60_000), rhythm: monotonicTime(15_000) },
      60_000,
      65_000,
    ],
    ["when an initial delay is over", { now: monotonicTime(61_000), initialDelayMs: 5000 }, 65_000, 69_000],
    [
      "when a delay of a whole period is over",
      { now: monotonicTime(61_000), initialDelayMs: 10_000 },
      70_000,
      79_000,
    ],
    [
      "when a long initial delay is over",
      { now: monotonicTime(61_000), initialDelayMs: 25_000 },
      85_000,
      89_000,
    ],
    [
      "when the initial delay was over before",
      { now: monotonicTime(74_000), initialDelayMs: 5000 },
      74_000,
      79_000,
    ],
    [
      "at a random moment of a period if the container was found running",
      { now: monotonicTime(900_000), found: true },
      905_000,
      905_000,
    ],
    [
      "after the longer of delay and spread",
      { now: monotonicTime(61_000), found: true, initialDelayMs: 30_000 },
      90_000,
      90_000,
    ],
  ];
  for (const [rule, given, prompt, liveness] of table)
    for (const kind of ["readiness", "startup", "liveness"] as const)
      it(`${kind}: ${rule}`, () => {
        const at = firstTick({
          kind,
          now: monotonicTime(0),
          containerStartedAt: monotonicTime(60_000),
          ...base,
          ...given,
        });
        assert.equal(at, kind === "liveness" ? liveness : prompt);
      });
});

describe("the next tick", () => {
  const table: [rule: string, now: number, next: number][] = [
    ["comes after a period", 1000, 2000],
    ["keeps the rhythm if this one was late", 1400, 2000],
    ["drops those that were missed", 4300, 5000],
    ["is never now", 2000, 3000],
  ];
  for (const [rule, now, next] of table)
    it(rule, () => assert.equal(nextTick(monotonicTime(1000), 1000, monotonicTime(now)), next));
});
