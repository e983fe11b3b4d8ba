import assert from "node:assert/strict";
import { test } from "node:test";
import type { PodExplanation } from "../kubelet/explain/pod-explanation.ts";
import { duration, explanationLines } from "./explanation-lines.ts";

const at = "2026-01-01T00:01:00.000Z";
const pod: PodExplanation = {
  namespace: "default",
  name: "web",
  uid: "u1",
  source: "api",
  phase: "Pending",
  ready: false,
  seenAt: "2026-01-01T00:00:00.000Z",
  cause: null,
  raw: null,
  try: null,
  failedAt: null,
  waitsFor: null,
  details: [],
  lastError: null,
  start: null,
  history: [],
  dropped: 0,
};
const lines = (...pods: PodExplanation[]) => explanationLines({ node: "node-a", at, pods });

test("a blocked pod: the wait, its next retry, the error and the timeline", () => {
  const shown = lines({
    ...pod,
    cause: "container c: no such image",
    waitsFor: {
      step: "image",
      text: "Back-off pulling x",
      container: "c",
      since: "2026-01-01T00:00:48.000Z",
      until: "2026-01-01T00:01:08.000Z",
    },
    details: ["b: ErrImageNeverPull"],
    lastError: { text: "no such image", at: "2026-01-01T00:00:30.000Z" },
    history: [
      {
        step: "sandbox",
        text: "creating the sandbox",
        ms: 600,
        startedAt: "2026-01-01T00:00:00.030Z",
        endedAt: "2026-01-01T00:00:00.630Z",
      },
      {
        step: "image",
        text: "pulling image x",
        ms: 29_370,
        error: "no such image",
        problem: "no such image",
        startedAt: "2026-01-01T00:00:00.630Z",
        endedAt: "2026-01-01T00:00:30.000Z",
      },
      {
        step: "image",
        text: "Back-off pulling x: no such image",
        startedAt: "2026-01-01T00:00:48.000Z",
        ms: 12_000,
        until: "2026-01-01T00:01:08.000Z",
      },
    ],
    dropped: 3,
  });
  assert.deepEqual(shown, [
    "default/web  Pending: container c: no such image; next attempt in 8.0 s",
    "  in back-off for 12 s, next attempt at 00:01:08 (in 8.0 s)",
    "  - b: ErrImageNeverPull",
    "  api, uid u1, added at 00:00:00; 3 earlier steps were dropped",
    "  +0.03 s  0.60 s  sandbox   creating the sandbox",
    "  +0.63 s    29 s  image     pulling image x: failed",
    "    +48 s  12 s …  back-off  back-off before the next attempt",
  ]);
});

/** A pod whose image was pulled this often, each time followed by a back-off. */
function retried(count: number, more: Partial<PodExplanation> = {}): PodExplanation {
  const raw = `failed to pull and unpack image "registry.test/team/app:1": ${"dial tcp: ".repeat(20)}no such host`;
  const problem = "image registry.test/team/app:1 cannot be pulled: it has no address";
  const time = (s: number) => new Date(Date.parse(at) - 30_000 + s * 1000).toISOString();
  const history = Array.from({ length: count }, (_, i) => [
    {
      step: "image" as const,
      container: "c",
      text: "pulling image registry.test/team/app:1",
      startedAt: time(i),
      endedAt: time(i + 0.4),
      ms: 400,
      error: raw,
      problem,
    },
    {
      step: "image" as const,
      container: "c",
      text: `Back-off pulling image "registry.test/team/app:1": ErrImagePull: ${raw}`,
      startedAt: time(i + 0.4),
      ...(i < count - 1 && { endedAt: time(i + 1) }),
      ms: 600,
      until: time(i + 1),
      error: `Back-off pulling image "registry.test/team/app:1": ErrImagePull: ${raw}`,
      problem,
    },
  ]).flat();
  const last = history.at(-1)!;
  return {
    ...pod,
    cause: problem,
    raw,
    try: "look up its address: getent hosts registry.test",
    waitsFor: { step: "image", text: last.text, since: last.startedAt, until: "2026-01-01T00:01:08.000Z" },
    lastError: { text: last.text, at: last.startedAt },
    history,
    ...more,
  };
}

test("an error stands once, equal steps are one line, and what to try is below the cause", () => {
  const shown = lines(retried(5));
  assert.deepEqual(shown.slice(0, 2), [
    "default/web  Pending: image registry.test/team/app:1 cannot be pulled: it has no address; next attempt in 8.0 s",
    "  try: look up its address: getent hosts registry.test",
  ]);
  assert.match(shown[2] ?? "", /^ {2}reported 26 s ago: failed to pull and unpack image .*no such host$/);
  assert.deepEqual(
    shown.slice(-2),
    [
      "  +30 s   2.0 s  image     pulling image registry.test/team/app:1: 5 attempts, last 26 s ago",
      "  +30 s  3.0 s …  back-off  back-off before the next attempt: 5 times",
    ].map((line) => line.replace("  2.0 s  ", "   2.0 s  ")),
  );
  assert.equal(shown.join("\n").split("no such host").length, 2);
});

test("all steps are shown on request", () => {
  const shown = explanationLines({ node: "node-a", at, pods: [retried(5)] }, { allSteps: true });
  assert.equal(shown.filter((line) => /pulling/.test(line)).length, 5);
});

test("a pod with many different steps fits on a screen of 24 lines, the newest steps are kept", () => {
  const history = Array.from({ length: 40 }, (_, i) => ({
    step: "other" as const,
    text: `step ${i}`,
    startedAt: pod.seenAt,
    endedAt: pod.seenAt,
    ms: 1,
  }));
  const shown = lines(retried(1, { history }));
  const rows = shown.reduce((sum, line) => sum + Math.ceil(line.length / 80), 0);
  assert.ok(rows > 20 && rows < 24, `${rows} lines`);
  assert.match(shown.join("\n"), /\n {2}… \d+ earlier steps, shown by --all-steps\n/);
  assert.match(shown.at(-1) ?? "", /step 39$/);
});

test("a ready pod: the duration of its start by steps", () => {
  const start = {
    readyAt: at,
    tookMs: 1800,
    steps: [
      { step: "volumes" as const, ms: 100 },
      { step: "sandbox" as const, ms: 620 },
    ],
  };
  assert.deepEqual(lines({ ...pod, ready: true, start }), [
    "default/web  Ready",
    "  started in 1.8 s: volumes 0.10 s, sandbox 0.62 s, other 1.1 s",
    "  api, uid u1, added at 00:00:00",
  ]);
  assert.equal(lines({ ...pod, ready: true })[1], "  was already running when this kubelet started");
});

test("a pod that is not blocked, and no pods", () => {
  assert.equal(lines(pod)[1], "  not blocked");
  assert.deepEqual(lines(), ["all pods of node-a are ready, and none has failed in the last hour"]);
});

test("a failed pod: why, when, and when it was removed", () => {
  const failed = {
    ...pod,
    phase: "Failed",
    cause: "OutOfcpu: Pod was rejected",
    failedAt: "2026-01-01T00:00:18.000Z",
    details: ["OutOfcpu: Pod was rejected", "another line"],
  };
  assert.deepEqual(lines(failed), [
    "default/web  Failed: OutOfcpu: Pod was rejected",
    "  failed 42 s ago",
    "  - another line",
    "  api, uid u1, added at 00:00:00",
  ]);
  assert.equal(
    lines({ ...failed, goneAt: "2026-01-01T00:00:30.000Z" })[1],
    "  failed 42 s ago, removed at 00:00:30",
  );
});

test("a completed pod, and one that keeps restarting", () => {
  assert.deepEqual(lines({ ...pod, phase: "Succeeded" }).slice(0, 2), [
    "default/web  Succeeded",
    "  all of its containers have completed",
  ]);
  const cause = "container c exited with code 3 (Error); restarted once";
  assert.equal(lines({ ...pod, phase: "Running", ready: true, cause })[0], `default/web  Ready: ${cause}`);
});

test("an error that is not the cause is shown, with its time", () => {
  const lastError = { text: "y", at: "2026-01-01T00:00:30.000Z" };
  assert.equal(lines({ ...pod, cause: "x", lastError })[1], "  last error, 30 s ago: y");
  assert.doesNotMatch(lines({ ...pod, cause: "x: y", lastError }).join(), /last error/);
});

test("control characters in reported text do not reach the terminal", () => {
  const [, , detail] = lines({ ...pod, details: ["\u001b[2Jgone\nline"] });
  assert.equal(detail, "  -  [2Jgone line");
});

for (const [ms, text] of [
  [0, "0.00 s"],
  [-5, "0.00 s"],
  [994, "0.99 s"],
  [1800, "1.8 s"],
  [12_345, "12 s"],
  [192_000, "3m12s"],
  [5 * 3_600_000 + 600_000, "5h10m"],
] as const)
  test(`${ms} ms is ${text}`, () => assert.equal(duration(ms), text));
