import assert from "node:assert/strict";
import { test } from "node:test";
import { aContainer, anObservedContainer, aPod } from "../../../../test/builders/pods.ts";
import { msUntil } from "../../../lib/base/clock.ts";
import { FakeClock } from "../../../lib/base/fake-clock.ts";
import { plusMs, type WallTime } from "../../../lib/base/time.ts";
import type { ContainerId } from "../../../lib/clients/cri/cri.ts";
import type { PodUid } from "../../../lib/model/pod.ts";
import type { ObservedContainer } from "../../state/observed-pods.ts";
import { RestartBackoff, type RestartDelays, restartDelays, restartKey } from "./restart-backoff.ts";

const exited = (attempt: number, startedAt: WallTime, finishedAt: WallTime) =>
  anObservedContainer("a", {
    id: `a#${attempt}` as ContainerId,
    state: "exited",
    attempt,
    startedAt,
    finishedAt,
  });

/** A container that started and exited this many milliseconds ago. */
const endedBefore = (clock: FakeClock, attempt: number, startedMs: number, finishedMs: number) =>
  exited(attempt, plusMs(clock.wall(), -startedMs), plusMs(clock.wall(), -finishedMs));

/** The delay from now on, in milliseconds. */
function waitMs(clock: FakeClock, backoff: RestartBackoff, ...args: Parameters<RestartBackoff["restartAt"]>) {
  const at = backoff.restartAt(...args);
  return at === undefined ? 0 : msUntil(clock, at);
}

/** The delays of eight restarts in seconds, for a container that runs for a second. */
async function waits({ initialMs, maxMs }: RestartDelays): Promise<number[]> {
  const clock = new FakeClock();
  const backoff = new RestartBackoff(clock, maxMs, initialMs);
  const found: number[] = [];
  for (let attempt = 0; attempt < 8; attempt++) {
    const startedAt = clock.wall();
    await clock.advance(1000);
    const end = exited(attempt, startedAt, clock.wall());
    const ms = waitMs(clock, backoff, "u/a/", end);
    await clock.advance(ms);
    backoff.restarted("u/a/", end);
    found.push(ms / 1000);
  }
  return found;
}

type Settings = Parameters<typeof restartDelays>[0];
const plain: Settings = { crashLoopBackOffMax: true, reducedDecay: false };

const table: [rule: string, settings: Settings, waits: number[]][] = [
  [
    "the first restart has no delay, then 10 s doubling up to 5 min",
    plain,
    [0, 10, 20, 40, 80, 160, 300, 300],
  ],
  [
    "maxContainerRestartPeriod is the limit",
    { ...plain, maxContainerRestartPeriodMs: 30_000 },
    [0, 10, 20, 30, 30, 30, 30, 30],
  ],
  [
    "a limit below 10 s is also the initial delay",
    { ...plain, maxContainerRestartPeriodMs: 3000 },
    [0, 3, 3, 3, 3, 3, 3, 3],
  ],
  [
    "without KubeletCrashLoopBackOffMax the configured limit is ignored",
    { ...plain, crashLoopBackOffMax: false, maxContainerRestartPeriodMs: 3000 },
    [0, 10, 20, 40, 80, 160, 300, 300],
  ],
  [
    "ReduceDefaultCrashLoopBackOffDecay: 1 s doubling up to 1 min",
    { crashLoopBackOffMax: false, reducedDecay: true },
    [0, 1, 2, 4, 8, 16, 32, 60],
  ],
  [
    "ReduceDefaultCrashLoopBackOffDecay: a configured limit takes precedence",
    { crashLoopBackOffMax: true, reducedDecay: true, maxContainerRestartPeriodMs: 300_000 },
    [0, 1, 2, 4, 8, 16, 32, 64],
  ],
];

// parity: field crashLoopBackOff.maxContainerRestartPeriod as maxContainerRestartPeriodMs, gate KubeletCrashLoopBackOffMax=true, gate KubeletCrashLoopBackOffMax=false, gate ReduceDefaultCrashLoopBackOffDecay=true, gate ReduceDefaultCrashLoopBackOffDecay=false
for (const [rule, settings, expected] of table)
  test(`back-off: ${rule}`, async () => assert.deepEqual(await waits(restartDelays(settings)), expected));

test("back-off: 10 min after its last restart there is no delay again, regardless of the limit", async () => {
  for (const maxMs of [20_000, 300_000]) {
    const clock = new FakeClock();
    const backoff = new RestartBackoff(clock, maxMs);
    backoff.restarted("k", endedBefore(clock, 0, 1000, 0));
    await clock.advance(11_000);
    backoff.restarted("k", endedBefore(clock, 1, 11_000, 10_000));
    await clock.advance(588_000);
    const end = endedBefore(clock, 2, 588_000, 0);
    assert.equal(waitMs(clock, backoff, "k", end), 12_000, "sooner than 20 s after its exit");
    await clock.advance(12_000);
    assert.equal(backoff.restartAt("k", end), undefined);
    backoff.restarted("k", end);
    assert.equal(backoff.delayMs("k"), 10_000, "the doubling starts again");
  }
});

test("back-off: a new agent continues it", () => {
  const clock = new FakeClock();
  const backoff = new RestartBackoff(clock, 300_000);
  assert.equal(waitMs(clock, backoff, "u/first/", endedBefore(clock, 0, 1000, 0)), 0);
  assert.equal(waitMs(clock, backoff, "u/third/", endedBefore(clock, 2, 1000, 0)), 20_000);
  assert.equal(waitMs(clock, backoff, "u/late/", endedBefore(clock, 2, 9000, 8000)), 12_000);
  assert.equal(waitMs(clock, backoff, "u/many/", endedBefore(clock, 1000, 1000, 0)), 300_000);
});

test("back-off: a new agent does not apply it to a new image", () => {
  const clock = new FakeClock();
  const backoff = new RestartBackoff(clock, 300_000);
  assert.equal(backoff.restartAt("u/a/new", endedBefore(clock, 5, 1000, 0), "another hash"), undefined);
});

test("back-off: an exit in the future does not extend the delay", () => {
  const clock = new FakeClock();
  const backoff = new RestartBackoff(clock, 300_000);
  assert.equal(waitMs(clock, backoff, "u/a/", endedBefore(clock, 2, -3_600_000, -3_601_000)), 20_000);
});

test("back-off: another image or other resources reset it, and the old entry is dropped", async () => {
  const pod = aPod();
  const keys = [
    aContainer("a"),
    aContainer("a", { image: "busybox:2" }),
    aContainer("a", { image: "busybox:2", resources: { limits: { cpu: "1" } } }),
  ].map((c) => restartKey(pod, c));
  assert.equal(new Set(keys).size, 3);
  assert.notEqual(restartKey(pod, aContainer("b")), keys[0]);
  const clock = new FakeClock();
  const backoff = new RestartBackoff(clock, 300_000);
  for (const [index, key] of keys.entries()) {
    const end = endedBefore(clock, index + 3, 1000, 0);
    if (index > 0) assert.equal(backoff.restartAt(key, end), undefined);
    await clock.advance(1000);
    backoff.restarted(key, end);
    assert.equal(waitMs(clock, backoff, key, end), 9000);
    if (index > 0) assert.equal(backoff.delayMs(keys[index - 1]!), 0);
  }
});

test("back-off: entries of pods and containers are independent", () => {
  const clock = new FakeClock();
  const backoff = new RestartBackoff(clock, 300_000);
  for (const key of ["u/a/x", "u/ab/x", "v/a/x"]) backoff.restarted(key, endedBefore(clock, 0, 2000, 1000));
  const all = backoff.size;
  backoff.forget("u/");
  assert.deepEqual(
    ["u/a/x", "u/ab/x", "v/a/x"].map((key) => backoff.delayMs(key)),
    [0, 0, 10_000],
  );
  assert.equal(backoff.size, all / 3);
});

/** One run of a container: how long it ran, and whether it was stopped to be replaced or exited on its own. */
type Run = [seconds: number, end: "replaced" | "crashed"];

/** The delay of each restart after the exit before it, in seconds. */
async function waitsOf(runs: Run[], newAgentBefore?: number): Promise<number[]> {
  const clock = new FakeClock();
  let backoff = new RestartBackoff(clock, 300_000);
  let previous: ObservedContainer | undefined;
  const found: number[] = [];
  for (const [attempt, [seconds, how]] of runs.entries()) {
    if (attempt === newAgentBefore) backoff = new RestartBackoff(clock, 300_000);
    const startedAt = clock.wall();
    await clock.advance(seconds * 1000);
    const end = exited(attempt, startedAt, clock.wall());
    if (how === "replaced") backoff.replacing("u" as PodUid, end, previous);
    const ms = waitMs(clock, backoff, "u/a/", end);
    await clock.advance(ms);
    assert.equal(backoff.restartAt("u/a/", end), undefined, "it may start then");
    backoff.restarted("u/a/", end);
    previous = end;
    found.push(ms / 1000);
  }
  return found;
}

const times = (count: number, ...run: Run): Run[] => Array.from({ length: count }, () => run);

const replacedTable: [rule: string, runs: Run[], waits: number[]][] = [
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
    "crashing first, then killed: the last crash is used",
    [...times(3, 1, "crashed"), ...times(3, 50, "replaced")],
    [0, 10, 20, 0, 80, 160],
  ],
];

for (const [rule, runs, expected] of replacedTable)
  test(`back-off: ${rule}`, async () => assert.deepEqual(await waitsOf(runs), expected));

for (const [rule, runs, expected] of replacedTable.slice(0, 5))
  test(`back-off: a new agent continues it: ${rule}`, async () => {
    for (const [attempt, wait] of expected.entries())
      assert.equal((await waitsOf(runs, attempt))[attempt], wait);
  });

test("back-off: a replaced container is dropped with its pod", () => {
  const clock = new FakeClock();
  const backoff = new RestartBackoff(clock, 300_000);
  backoff.replacing("u" as PodUid, endedBefore(clock, 0, 2000, 1000), undefined);
  assert.equal(backoff.size, 1);
  backoff.forget("u/");
  assert.equal(backoff.size, 0);
});
