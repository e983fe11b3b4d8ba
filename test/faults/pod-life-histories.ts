import assert from "node:assert/strict";
import { parentPort, workerData } from "node:worker_threads";
import fc from "fast-check";
import { type Kind, kinds } from "./pod-kinds.ts";
import type { HistoriesToRun } from "./pod-life.property.test.ts";
import { PodLifeWorld } from "./pod-life-world.ts";

type Step =
  | { do: "add"; slot: number; kind: Kind; version: number }
  | { do: "edit"; slot: number; what: "revision" | "image" | "deadline" }
  | { do: "delete" | "evict"; slot: number; grace: number }
  | { do: "remove"; slot: number }
  | { do: "crash"; nth: number; how: number | "oom" | "vanish" }
  | { do: "lose sandbox"; nth: number }
  | { do: "probe"; nth: number; kind: "liveness" | "startup"; outcome: "success" | "failure" }
  | { do: "trouble"; percent: number; hangs: number }
  | { do: "slow"; ms: number }
  | { do: "outage"; ms: number }
  | { do: "kill" | "stop" | "start" }
  | { do: "wait"; ms: number };

const nat = (max: number) => fc.integer({ min: 0, max });
const one = <const T extends readonly unknown[]>(...of: T): fc.Arbitrary<T[number]> => fc.constantFrom(...of);
const weighted = (weight: number, arbitrary: fc.Arbitrary<Step>) => ({ weight, arbitrary });
const slot = nat(1);
const nth = nat(7);
const kind = one(...(Object.keys(kinds) as Kind[]));

const step: fc.Arbitrary<Step> = fc.oneof(
  weighted(7, fc.record({ do: one("add"), slot, kind, version: nat(1) })),
  weighted(3, fc.record({ do: one("edit"), slot, what: one("revision", "image", "deadline") })),
  weighted(2, fc.record({ do: one("delete"), slot, grace: one(0, 1, 3, 6) })),
  weighted(1, fc.record({ do: one("evict"), slot, grace: one(0, 2) })),
  weighted(1, fc.record({ do: one("remove"), slot })),
  weighted(4, fc.record({ do: one("crash"), nth, how: one(0, 1, 137, "oom", "vanish") })),
  weighted(1, fc.record({ do: one("lose sandbox"), nth })),
  weighted(
    2,
    fc.record({
      do: one("probe"),
      nth,
      kind: one("liveness", "startup"),
      outcome: one("success", "failure"),
    }),
  ),
  weighted(2, fc.record({ do: one("trouble"), percent: one(0, 10, 30), hangs: one(0, 0, 5) })),
  weighted(1, fc.record({ do: one("slow"), ms: one(0, 50, 400) })),
  weighted(1, fc.record({ do: one("outage"), ms: one(100, 2500) })),
  weighted(2, fc.record({ do: one("kill", "stop") })),
  weighted(2, fc.record({ do: one("start") })),
  weighted(9, fc.record({ do: one("wait"), ms: one(1, 100, 300, 1000, 3000) })),
);

async function carryOut(world: PodLifeWorld, s: Step): Promise<void> {
  switch (s.do) {
    case "add":
      return world.add(s.slot, s.kind, s.version);
    case "edit":
      return world.edit(s.slot, s.what);
    case "delete":
      return world.delete(s.slot, s.grace);
    case "evict":
      return world.evict(s.slot, s.grace);
    case "remove":
      return world.remove(s.slot);
    case "crash":
      return world.crash(s.nth, s.how);
    case "lose sandbox":
      return world.loseSandbox(s.nth);
    case "probe":
      return world.probe(s.nth, s.kind, s.outcome);
    case "trouble":
      return world.disturb({ troubles: s.percent, hangs: s.hangs });
    case "slow":
      return world.disturb({ slowMs: s.ms });
    case "outage":
      return world.outage(s.ms);
    case "kill":
      return world.killAgent();
    case "stop":
      return world.stopAgent();
    case "start":
      return world.startAgent();
    case "wait":
      return world.clock.advance(s.ms);
    default:
      s satisfies never;
  }
}

/** Lets time pass until the condition holds, or for so long. */
async function within(world: PodLifeWorld, ms: number, lacks: () => string[]): Promise<void> {
  const until = world.clock.now() + ms;
  do {
    await world.clock.advance(2000);
    world.look();
    assert.deepEqual(world.rules.broken, []);
  } while (lacks().length > 0 && world.clock.now() < until);
  assert.deepEqual(lacks(), [], `within ${ms / 1000} s without trouble`);
}

async function live(seed: number, steps: Step[]): Promise<void> {
  const world = new PodLifeWorld(seed);
  await world.startAgent();
  for (const s of steps) {
    await carryOut(world, s);
    world.look();
    assert.deepEqual(world.rules.broken, [], `after ${s.do}`);
  }
  world.calm();
  await world.startAgent();
  // What hangs or is late has an end by then.
  await world.clock.advance(20_000);
  await within(world, 60_000, () => world.unsettled());
  if (![...world.wanted.values()].some((w) => w.kind === "crashing")) {
    world.changes.length = 0;
    await world.clock.advance(30_000);
    assert.deepEqual(world.changes, [], "a node that is as it should be is left alone");
  }
  for (const slot of world.wanted.keys()) {
    if (slot % 2 === 0) await world.delete(slot, 8);
    else world.remove(slot);
  }
  await world.clock.advance(500);
  await world.delete(0, 1);
  // Folders and cgroups that an agent before left are looked for about once a minute; its own an agent removes at once.
  const restarted = steps.some((s) => s.do === "kill" || s.do === "stop");
  await within(world, restarted ? 90_000 : 20_000, () => world.leftovers());
  await world.stopAgent();
  assert.equal(world.clock.pending, 0, "timers that are left");
}

const { numRuns, seed, path } = workerData as HistoriesToRun;
const report = await fc.check(
  fc.asyncProperty(nat(0x7fffffff), fc.array(step, { minLength: 3, maxLength: 16, size: "max" }), live),
  { numRuns, seed, path },
);
parentPort?.postMessage({
  numRuns: report.numRuns,
  failure: report.failed ? fc.defaultReportMessage(report) : undefined,
  cause: report.failed ? String((report.errorInstance as Error | undefined)?.stack) : undefined,
});
