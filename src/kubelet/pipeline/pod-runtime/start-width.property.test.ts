import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { FakeClock, monotonicTime } from "../../../lib/base/fake-clock.ts";
import { StartWidth, type StartWidthOptions, startWidth } from "./start-width.ts";

interface Runtime {
  readonly cpus: number;
  /** A start waits this long for disks and the network, then it computes. */
  readonly waitMs: number;
  readonly cpuMs: number;
  /** How much slower each computation is for each one beyond four for each CPU. */
  readonly contention: number;
}

type Kind = "sandbox" | "container";
type Width = Pick<StartWidth, "width"> & Partial<Pick<StartWidth, "started">>;

interface Start {
  readonly kind: Kind;
  readonly succeeded: ((isFull: boolean) => void) | undefined;
  waitLeft: number;
  cpuLeft: number;
}

const stepMs = 5;

/** The times at which pods of a sandbox and a container run. Containers start first, as in the agent. */
function readyTimes(
  { cpus, waitMs, cpuMs, contention }: Runtime,
  pods: number,
  widthFor: (runtime: Pick<StartWidthOptions, "clock" | "idleMs">) => Width,
): number[] {
  const waiting = { container: 0, sandbox: pods };
  let running: Start[] = [];
  const ready: number[] = [];
  let [now, idleMs] = [0, 0];
  const limit = widthFor({ clock: { monotonic: () => monotonicTime(now) }, idleMs: () => idleMs });
  const admit = () => {
    while (running.length < limit.width && waiting.container + waiting.sandbox > 0) {
      const kind = waiting.container > 0 ? "container" : "sandbox";
      waiting[kind]--;
      running.push({ kind, succeeded: limit.started?.(kind), waitLeft: waitMs, cpuLeft: cpuMs });
    }
  };
  for (admit(); running.length > 0; admit()) {
    now += stepMs;
    const computing = running.filter(({ waitLeft }) => waitLeft <= 0);
    idleMs += stepMs * Math.max(0, cpus - computing.length);
    const slowdown = 1 + contention * Math.max(0, computing.length - 4 * cpus);
    const share = Math.min(1, cpus / computing.length) / slowdown;
    for (const start of computing) start.cpuLeft -= stepMs * share;
    for (const start of running) start.waitLeft -= stepMs;
    const done = running.filter(({ cpuLeft }) => cpuLeft <= 0);
    running = running.filter(({ cpuLeft }) => cpuLeft > 0);
    for (const { kind, succeeded } of done) {
      if (kind === "sandbox") waiting.container++;
      else ready.push(now);
      succeeded?.(waiting.sandbox + waiting.container > 0);
    }
  }
  return ready;
}

const adaptive =
  ({ cpus }: Pick<Runtime, "cpus">) =>
  (runtime: Pick<StartWidthOptions, "clock" | "idleMs">) =>
    new StartWidth({ cpus, usableCpus: cpus, ...runtime });
const fixedAt = (width: number) => () => ({ width });
const sum = (times: readonly number[]) => times.reduce((total, each) => total + each, 0);

test("on a machine with many CPUs, pods run as early as if all were started at the same time", () => {
  const runtime = fc.record({
    cpus: fc.integer({ min: 16, max: 128 }),
    waitMs: fc.integer({ min: 0, max: 1000 }),
    cpuMs: fc.integer({ min: 20, max: 200 }),
    contention: fc.constant(0),
  });
  fc.assert(
    fc.property(runtime, fc.integer({ min: 1, max: 110 }), (each, pods) => {
      const ready = readyTimes(each, pods, adaptive(each));
      const atOnce = readyTimes(each, pods, fixedAt(Number.POSITIVE_INFINITY));
      assert.ok(ready.at(-1)! <= 1.05 * atOnce.at(-1)! + 2 * stepMs, `${ready.at(-1)}, ${atOnce.at(-1)}`);
      assert.ok(sum(ready) <= 1.05 * sum(atOnce) + 2 * stepMs * pods, `${sum(ready)}, ${sum(atOnce)}`);
    }),
  );
});

for (const [cpus, usableCpus, width] of [
  [1, 1, 4],
  [2, 2, 8],
  [2, 64, 8],
  [15, 15, 32],
  [64, 2, 32],
] as const)
  test(`with ${cpus} CPUs, of which ${usableCpus} are usable, ${width} starts run at a time, however idle they are`, () => {
    const clock = new FakeClock();
    assert.equal(startWidth({ cpus, usableCpus, clock, idleMs: () => cpus * clock.elapsedMs }), width);
  });

for (const [usableCpus, width] of [
  [64, 512],
  [20, 160],
] as const)
  test(`with 64 CPUs, of which ${usableCpus} are usable, at least ${width} starts run at a time`, () => {
    const found = startWidth({ cpus: 64, usableCpus, clock: new FakeClock(), idleMs: () => 0 });
    assert.ok(found instanceof StartWidth);
    assert.equal(found.width, width);
  });

test("a runtime that waits more than it computes starts twice as many pods as with a fixed width", () => {
  const runtime = { cpus: 16, waitMs: 1000, cpuMs: 20, contention: 0 };
  const ready = readyTimes(runtime, 1000, adaptive(runtime)).at(-1)!;
  const fixed = readyTimes(runtime, 1000, fixedAt(128)).at(-1)!;
  assert.ok(ready <= fixed / 2, `${ready}, ${fixed}`);
});

function widthOf(idle: number) {
  const clock = new FakeClock();
  const width = new StartWidth({
    cpus: 16,
    usableCpus: 16,
    clock,
    idleMs: () => idle * 16 * clock.elapsedMs,
  });
  const start = async (ms: number, isFull = true) => {
    const succeeded = width.started("sandbox");
    await clock.advance(ms);
    succeeded(isFull);
  };
  return { width, start };
}

test("the width grows with each start, and returns to its lower bound when starts take longer", async () => {
  const { width, start } = widthOf(0.5);
  for (let i = 0; i < 20; i++) await start(100);
  assert.equal(width.width, 148);
  for (let i = 0; i < 40; i++) await start(200);
  assert.equal(width.width, 128);
});

test("starts that no other start waits for, that take longer, or that end while all CPUs are in use add nothing", async () => {
  const idle = widthOf(0.5);
  await idle.start(100, false);
  await idle.start(130);
  assert.equal(idle.width.width, 128);
  const busy = widthOf(0.1);
  await busy.start(100);
  assert.equal(busy.width.width, 128);
});

test("without the idle time of the CPUs the width does not grow", async () => {
  const clock = new FakeClock();
  const width = new StartWidth({ cpus: 16, usableCpus: 16, clock, idleMs: () => undefined });
  const succeeded = width.started("sandbox");
  await clock.advance(100);
  succeeded(true);
  assert.equal(width.width, 128);
});
