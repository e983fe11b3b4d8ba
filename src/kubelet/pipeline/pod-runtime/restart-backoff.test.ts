import assert from "node:assert/strict";
import { test } from "node:test";
import { aContainer, aPod, seenContainer } from "../../../../test/builders/pods.ts";
import type { PodUid } from "../../../lib/model/pod.ts";
import type { ObservedContainer } from "../../state/observed-pods.ts";
import { RestartBackoff, type RestartDelays, restartDelays, restartKey } from "./restart-backoff.ts";

const ended = (attempt: number, startedAt: number, finishedAt: number) =>
  seenContainer("a", { state: "exited", attempt, startedAt, finishedAt });

/** How many seconds each of eight restarts waits, for a container that runs for a second. */
function waits({ initialMs, maxMs }: RestartDelays): number[] {
  const backoff = new RestartBackoff(maxMs, initialMs);
  let now = 1_000_000;
  return Array.from({ length: 8 }, (_, attempt) => {
    const end = ended(attempt, now, now + 1000);
    const at = Math.max(backoff.restartAt("u/a/", end, end.finishedAt), end.finishedAt);
    backoff.restarted("u/a/", end, at);
    now = at;
    return (at - end.finishedAt) / 1000;
  });
}

type Settings = Parameters<typeof restartDelays>[0];
const plain: Settings = { crashLoopBackOffMax: true, reducedDecay: false };

const table: [rule: string, settings: Settings, waits: number[]][] = [
  ["the first restart is at once, then 10 s doubling up to 5 min", plain, [0, 10, 20, 40, 80, 160, 300, 300]],
  [
    "maxContainerRestartPeriod is the limit",
    { ...plain, maxContainerRestartPeriodMs: 30_000 },
    [0, 10, 20, 30, 30, 30, 30, 30],
  ],
  [
    "a limit below 10 s is also where it begins",
    { ...plain, maxContainerRestartPeriodMs: 3000 },
    [0, 3, 3, 3, 3, 3, 3, 3],
  ],
  [
    "without KubeletCrashLoopBackOffMax the configured limit does not count",
    { ...plain, crashLoopBackOffMax: false, maxContainerRestartPeriodMs: 3000 },
    [0, 10, 20, 40, 80, 160, 300, 300],
  ],
  [
    "ReduceDefaultCrashLoopBackOffDecay: 1 s doubling up to 1 min",
    { crashLoopBackOffMax: false, reducedDecay: true },
    [0, 1, 2, 4, 8, 16, 32, 60],
  ],
  [
    "ReduceDefaultCrashLoopBackOffDecay: a configured limit goes before its own",
    { crashLoopBackOffMax: true, reducedDecay: true, maxContainerRestartPeriodMs: 300_000 },
    [0, 1, 2, 4, 8, 16, 32, 64],
  ],
];

for (const [rule, settings, expected] of table)
  test(`back-off: ${rule}`, () => assert.deepEqual(waits(restartDelays(settings)), expected));

test("back-off: 10 min after its last restart it starts at once again, whatever the limit", () => {
  for (const maxMs of [20_000, 300_000]) {
    const backoff = new RestartBackoff(maxMs);
    backoff.restarted("k", ended(0, 0, 1000), 1000);
    backoff.restarted("k", ended(1, 1000, 2000), 12_000);
    const end = ended(2, 12_000, 600_000);
    assert.equal(backoff.restartAt("k", end, 600_000), 612_000, "sooner than 20 s after its end");
    assert.equal(backoff.restartAt("k", end, 612_000), 0);
    backoff.restarted("k", end, 612_000);
    assert.equal(backoff.delayMs("k"), 10_000, "and the doubling begins again");
  }
});

test("back-off: a new agent goes on where the one before it was", () => {
  const backoff = new RestartBackoff(300_000);
  assert.equal(backoff.restartAt("first", ended(0, 1000, 2000), 2000), 0);
  assert.equal(backoff.restartAt("third", ended(2, 1000, 2000), 2000), 22_000);
  assert.equal(backoff.restartAt("many", ended(1000, 1000, 2000), 2000), 302_000);
});

test("back-off: a new agent does not hold it against a new image", () => {
  const backoff = new RestartBackoff(300_000);
  assert.equal(backoff.restartAt("u/a/new", ended(5, 1000, 2000), 2000, "another hash"), 0);
});

test("back-off: another image or other resources start afresh, and the old count is forgotten", () => {
  const pod = aPod();
  const keys = [
    aContainer("a"),
    aContainer("a", { image: "busybox:2" }),
    aContainer("a", { image: "busybox:2", resources: { limits: { cpu: "1" } } }),
  ].map((c) => restartKey(pod, c));
  assert.equal(new Set(keys).size, 3);
  assert.notEqual(restartKey(pod, aContainer("b")), keys[0]);
  const backoff = new RestartBackoff(300_000);
  for (const [index, key] of keys.entries()) {
    const end = ended(index + 3, 1000, 2000);
    if (index > 0) assert.equal(backoff.restartAt(key, end, 2000), 0);
    backoff.restarted(key, end, 3000);
    assert.equal(backoff.restartAt(key, end, 3000), 12_000);
    if (index > 0) assert.equal(backoff.delayMs(keys[index - 1]!), 0);
  }
});

test("back-off: the counts of one pod or container are not those of another", () => {
  const backoff = new RestartBackoff(300_000);
  backoff.restarted("u/a/x", ended(0, 1000, 2000), 3000);
  backoff.restarted("u/ab/x", ended(0, 1000, 2000), 3000);
  backoff.restarted("v/a/x", ended(0, 1000, 2000), 3000);
  backoff.forget("u/");
  assert.deepEqual(
    ["u/a/x", "u/ab/x", "v/a/x"].map((key) => backoff.delayMs(key)),
    [0, 0, 10_000],
  );
  assert.equal(backoff.size, 1);
});

/** One life of a container: how long it ran, and whether we ended it to replace it or it ended itself. */
type Life = [seconds: number, end: "replaced" | "crashed"];

/** How many seconds each restart waits after the end before it. */
function waitsOf(lives: Life[], newAgentBefore?: number): number[] {
  let backoff = new RestartBackoff(300_000);
  let now = 1_000_000;
  let previous: ObservedContainer | undefined;
  return lives.map(([seconds, how], attempt) => {
    if (attempt === newAgentBefore) backoff = new RestartBackoff(300_000);
    const end = ended(attempt, now, now + seconds * 1000);
    now = end.finishedAt;
    if (how === "replaced") backoff.replacing("u" as PodUid, end, previous);
    const at = Math.max(backoff.restartAt("u/a/", end, now), now);
    assert.equal(backoff.restartAt("u/a/", end, at), 0, "it can start then");
    backoff.restarted("u/a/", end, at);
    previous = end;
    now = at;
    return (at - end.finishedAt) / 1000;
  });
}

const times = (count: number, ...life: Life): Life[] => Array.from({ length: count }, () => life);

const replacedTable: [rule: string, lives: Life[], waits: number[]][] = [
  ["killed after 20 s each time", times(8, 20, "replaced"), [0, 0, 0, 0, 40, 80, 160, 300]],
  ["killed after 10 s each time", times(6, 10, "replaced"), [0, 0, 0, 20, 40, 80]],
  ["killed after 1 s each time", times(6, 1, "replaced"), [0, 0, 10, 20, 40, 80]],
  ["killed after 61 s each time", times(7, 61, "replaced"), [0, 0, 0, 0, 0, 80, 160]],
  ["killed after 10 min each time", times(9, 600, "replaced"), [0, 0, 0, 0, 0, 0, 0, 0, 0]],
  [
    "10 min without a restart, then killed after 10 s each time",
    [...times(5, 10, "replaced"), [600, "replaced"], ...times(4, 10, "replaced")],
    [0, 0, 0, 20, 40, 0, 0, 20, 40, 80],
  ],
  [
    "killed first, then crashing",
    [...times(2, 20, "replaced"), ...times(3, 1, "crashed")],
    [0, 0, 10, 20, 40],
  ],
  [
    "crashing first, then killed: what crashed last counts",
    [...times(3, 1, "crashed"), ...times(3, 50, "replaced")],
    [0, 10, 20, 0, 80, 160],
  ],
];

for (const [rule, lives, expected] of replacedTable)
  test(`back-off: ${rule}`, () => assert.deepEqual(waitsOf(lives), expected));

for (const [rule, lives, expected] of replacedTable.slice(0, 5))
  test(`back-off: a new agent goes on where the one before it was: ${rule}`, () => {
    for (const [attempt, wait] of expected.entries()) assert.equal(waitsOf(lives, attempt)[attempt], wait);
  });

test("back-off: a replaced container is forgotten with its pod", () => {
  const backoff = new RestartBackoff(300_000);
  backoff.replacing("u" as PodUid, ended(0, 1000, 2000), undefined);
  assert.equal(backoff.size, 1);
  backoff.forget("u/");
  assert.equal(backoff.size, 0);
});
