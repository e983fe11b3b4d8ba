import assert from "node:assert/strict";
import { parentPort, workerData } from "node:worker_threads";
import fc from "fast-check";
import { type Kind, kinds } from "./pod-kinds.ts";
import type { HistoriesToRun } from "./pod-lifecycle.property.test.ts";
import { PodLifecycleHarness } from "./pod-lifecycle-harness.ts";
import { orphans, unsettled } from "./pod-lifecycle-settled.ts";
import type { Health } from "./simulated-health.ts";
import type { HookBehavior } from "./simulated-hooks.ts";

type Step =
  | { do: "add"; slot: number; kind: Kind; version: number }
  | { do: "edit"; slot: number; what: "revision" | "image" | "deadline" }
  | { do: "delete" | "evict"; slot: number; grace: number }
  | { do: "remove"; slot: number }
  | { do: "crash"; nth: number; how: number | "oom" | "vanish" | "unknown" }
  | { do: "lose sandbox"; nth: number }
  | { do: "debug"; slot: number }
  | { do: "probe"; nth: number; health: Health }
  | { do: "hooks"; behavior: HookBehavior }
  | { do: "fault"; percent: number; hangs: number }
  | { do: "slow"; ms: number }
  | { do: "outage"; ms: number }
  | { do: "kill" | "stop" | "start" }
  | { do: "jump"; ms: number }
  | { do: "wait"; ms: number };

const nat = (max: number) => fc.integer({ min: 0, max });
const one = <const T extends readonly unknown[]>(...of: T): fc.Arbitrary<T[number]> => fc.constantFrom(...of);
const weighted = (weight: number, arbitrary: fc.Arbitrary<Step>) => ({ weight, arbitrary });
const slot = nat(1);
const nth = nat(7);
const kind = one(...(Object.keys(kinds) as Kind[]));

const step: fc.Arbitrary<Step> = fc.oneof(
  weighted(4, fc.record({ do: one("add"), slot, kind, version: nat(1) })),
  weighted(3, fc.record({ do: one("edit"), slot, what: one("revision", "image", "deadline") })),
  weighted(2, fc.record({ do: one("delete"), slot, grace: one(0, 1, 3, 6) })),
  weighted(1, fc.record({ do: one("evict"), slot, grace: one(0, 2) })),
  weighted(1, fc.record({ do: one("remove"), slot })),
  weighted(6, fc.record({ do: one("crash"), nth, how: one(0, 1, 42, 137, "oom", "vanish", "unknown") })),
  weighted(1, fc.record({ do: one("lose sandbox"), nth })),
  weighted(2, fc.record({ do: one("debug"), slot })),
  weighted(4, fc.record({ do: one("probe"), nth, health: one("failure", "failure", "error", "success") })),
  weighted(2, fc.record({ do: one("hooks"), behavior: one("quick", "slow", "fails", "hangs") })),
  weighted(2, fc.record({ do: one("fault"), percent: one(0, 10, 30), hangs: one(0, 0, 5) })),
  weighted(1, fc.record({ do: one("slow"), ms: one(0, 50, 400) })),
  weighted(1, fc.record({ do: one("outage"), ms: one(100, 2500) })),
  weighted(1, fc.record({ do: one("kill", "stop") })),
  weighted(2, fc.record({ do: one("start") })),
  // The wall clock is set, or the machine was suspended.
  weighted(2, fc.record({ do: one("jump"), ms: one(-3_600_000, 86_400_000, 28_800_000) })),
  weighted(12, fc.record({ do: one("wait"), ms: one(1, 100, 300, 1000, 3000) })),
);

/** The start of a history: two pods, at some point of their lifecycle. */
interface InitialState {
  pods: { kind: Kind; version: number; ephemeralCount: number }[];
  hooks: HookBehavior;
  faults: number;
  afterMs: number;
}

const initialState: fc.Arbitrary<InitialState> = fc.record({
  pods: fc.array(fc.record({ kind, version: nat(1), ephemeralCount: one(0, 0, 1) }), {
    minLength: 1,
    maxLength: 2,
  }),
  hooks: one("quick", "quick", "slow", "fails", "hangs"),
  faults: one(0, 0, 0, 15),
  afterMs: one(0, 300, 1000, 3000),
});

async function setUp(
  harness: PodLifecycleHarness,
  { pods, hooks, faults, afterMs }: InitialState,
): Promise<void> {
  await harness.startAgent();
  for (const [slot, { kind, version, ephemeralCount }] of pods.entries()) {
    harness.add(slot, kind, version);
    if (ephemeralCount > 0) harness.debug(slot);
  }
  harness.setHookBehavior(hooks);
  if (faults > 0) harness.injectFaults({ faults });
  await harness.clock.advance(afterMs);
}

async function apply(harness: PodLifecycleHarness, s: Step): Promise<void> {
  switch (s.do) {
    case "add":
      return harness.add(s.slot, s.kind, s.version);
    case "edit":
      return harness.edit(s.slot, s.what);
    case "delete":
      return harness.delete(s.slot, s.grace);
    case "evict":
      return harness.evict(s.slot, s.grace);
    case "remove":
      return harness.remove(s.slot);
    case "crash":
      return harness.crash(s.nth, s.how);
    case "lose sandbox":
      return harness.loseSandbox(s.nth);
    case "debug":
      return harness.debug(s.slot);
    case "probe":
      return harness.setProbeResult(s.nth, s.health);
    case "hooks":
      return harness.setHookBehavior(s.behavior);
    case "fault":
      return harness.injectFaults({ faults: s.percent, hangs: s.hangs });
    case "slow":
      return harness.injectFaults({ slowMs: s.ms });
    case "outage":
      return harness.outage(s.ms);
    case "kill":
      return harness.killAgent();
    case "stop":
      return harness.stopAgent();
    case "start":
      return harness.startAgent();
    case "jump":
      return harness.clock.jump(s.ms);
    case "wait":
      return harness.clock.advance(s.ms);
    default:
      s satisfies never;
  }
}

/** Advances time until there are no problems; fails if there are some after `ms`. */
async function settlesWithin(
  harness: PodLifecycleHarness,
  ms: number,
  problems: () => string[],
): Promise<void> {
  const until = harness.clock.elapsedMs + ms;
  do {
    await harness.clock.advance(2000);
    harness.check();
    assert.deepEqual(harness.rules.violations, []);
  } while (problems().length > 0 && harness.clock.elapsedMs < until);
  assert.deepEqual(problems(), [], `within ${ms / 1000} s without faults`);
}

async function runHistory(seed: number, first: InitialState, steps: Step[]): Promise<void> {
  const harness = new PodLifecycleHarness(seed);
  await setUp(harness, first);
  for (const s of steps) {
    await apply(harness, s);
    harness.check();
    assert.deepEqual(harness.rules.violations, [], `after ${s.do}`);
  }
  harness.clearFaults();
  await harness.startAgent();
  // Hung or delayed calls have returned by then.
  await harness.clock.advance(20_000);
  await settlesWithin(harness, 60_000, () => unsettled(harness));
  if (![...harness.desired.values()].some((w) => w.kind === "crashing")) {
    harness.changes.length = 0;
    await harness.clock.advance(30_000);
    assert.deepEqual(harness.changes, [], "the agent changed a node in its desired state");
  }
  for (const slot of harness.desired.keys()) {
    if (slot % 2 === 0) await harness.delete(slot, 8);
    else harness.remove(slot);
  }
  await harness.clock.advance(500);
  await harness.delete(0, 1);
  // Directories and cgroups of a previous agent are cleaned up about once a minute; an agent's own immediately.
  const restarted = steps.some((s) => s.do === "kill" || s.do === "stop");
  await settlesWithin(harness, restarted ? 90_000 : 20_000, () => orphans(harness));
  await harness.stopAgent();
  assert.equal(harness.clock.pending, 0, "timers were not canceled");
}

const { numRuns, seed, path, maxSteps } = workerData as HistoriesToRun;
const report = await fc.check(
  fc.asyncProperty(
    nat(0x7fffffff),
    initialState,
    fc.array(step, { minLength: 2, maxLength: maxSteps, size: "max" }),
    runHistory,
  ),
  // Unbiased: with a bias to small values, few steps would affect a pod.
  { numRuns, seed, path, unbiased: true },
);
parentPort?.postMessage({
  numRuns: report.numRuns,
  failure: report.failed ? fc.defaultReportMessage(report) : undefined,
  cause: report.failed ? String((report.errorInstance as Error | undefined)?.stack) : undefined,
});
