import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import fc from "fast-check";
import { anObservedPod } from "../../../../test/builders/pods.ts";
import { systemClock } from "../../../lib/base/clock.ts";
import { isAbort, KubeletError } from "../../../lib/base/errors.ts";
import { silentLogger } from "../../../lib/base/logger.ts";
import { createMetrics } from "../../../lib/base/metrics.ts";
import type { PodUid } from "../../../lib/model/pod.ts";
import { ClaimManager } from "./claim-manager.ts";
import type { ClaimStates } from "./claim-state.ts";
import { draMetrics } from "./dra-metrics.ts";
import { FakeDrivers, fakeClaim, podWithClaims } from "./fake-drivers.ts";

/** Each claim has one or two drivers; each pod uses some of the claims. */
const driversByClaim = { a: ["one"], b: ["two"], c: ["one", "two"] } as const;
const claimNames = ["a", "b", "c"] as const;
const podNames = ["p", "q", "r", "s"] as const;

type Action =
  | { readonly kind: "start" | "stop"; readonly pod: (typeof podNames)[number] }
  /** The agent is killed: work in progress is aborted, and a new one continues. */
  | { readonly kind: "restart" }
  /** Lets this many held calls of drivers continue, or fail. */
  | { readonly kind: "continue"; readonly count: number; readonly fails: boolean };

const actions: fc.Arbitrary<Action> = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({ kind: fc.constantFrom("start", "stop"), pod: fc.constantFrom(...podNames) }),
  },
  { weight: 1, arbitrary: fc.constant({ kind: "restart" as const }) },
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constant("continue" as const),
      count: fc.integer({ min: 1, max: 3 }),
      fails: fc.boolean(),
    }),
  },
);

/** The pods as their workers see them. */
type Phase = "new" | "starting" | "running" | "stopping" | "gone";

class Simulation {
  readonly drivers = new FakeDrivers();
  readonly phases = new Map<string, Phase>(podNames.map((pod) => [pod, "new"]));
  readonly #uses: ReadonlyMap<string, readonly string[]>;
  readonly #rootDir: string;
  #held: { release: (error?: Error) => void }[] = [];
  #holds = true;
  #isLoaded = false;
  #manager!: ClaimManager;
  #abort = new AbortController();
  #work = new Map<string, { abort: AbortController; done: Promise<void> }>();

  constructor(uses: ReadonlyMap<string, readonly string[]>, rootDir: string) {
    this.#uses = uses;
    this.#rootDir = rootDir;
    for (const name of ["one", "two"]) this.drivers.register(name);
    this.drivers.fault = () =>
      new Promise((resolve, reject) => {
        if (!this.#holds) return resolve();
        this.#held.push({ release: (error) => (error ? reject(error) : resolve()) });
      });
    this.drivers.onUnprepare = (uid) => {
      const users = podNames.filter(
        (pod) => this.phases.get(pod) === "running" && this.#claimsOf(pod).includes(uid.slice("uid-".length)),
      );
      assert.deepEqual(users, [], `${uid} was unprepared while pods use it`);
    };
  }

  async begin(): Promise<void> {
    this.#abort = new AbortController();
    const states: ClaimStates = new Map();
    this.#manager = new ClaimManager({
      rootDir: this.#rootDir,
      clock: systemClock,
      logger: silentLogger,
      metrics: draMetrics(createMetrics(), systemClock, states),
      states,
      extendedResources: true,
      drivers: this.drivers,
      api: {
        getClaim: async (_, name) =>
          fakeClaim(name, driversByClaim[name as keyof typeof driversByClaim], podNames),
      },
      observed: {
        get: (uid) => (this.phases.get(uid) === "running" ? anObservedPod([]) : undefined),
      },
    });
    await this.#manager.load();
    this.#isLoaded = true;
    for (const [pod, phase] of this.phases) if (phase !== "new" && phase !== "gone") this.#sync(pod);
  }

  async act(action: Action): Promise<void> {
    switch (action.kind) {
      case "start":
        if (["new", "gone"].includes(this.phases.get(action.pod)!)) this.#enter(action.pod, "starting");
        break;
      case "stop":
        if (["starting", "running"].includes(this.phases.get(action.pod)!))
          this.#enter(action.pod, "stopping");
        break;
      case "restart":
        this.#isLoaded = false;
        this.#abort.abort();
        await Promise.all([...this.#work.values()].map(({ done }) => done));
        this.#held = [];
        await this.begin();
        break;
      case "continue":
        for (const { release } of this.#held.splice(0, action.count))
          release(action.fails ? new KubeletError("Fault", "failed") : undefined);
        break;
      default:
        action satisfies never;
    }
    await this.#quiet();
  }

  /** Waits until everything that can continue has done so: files are written in other threads. */
  async #quiet(): Promise<void> {
    const state = () =>
      JSON.stringify([
        this.#held.length,
        [...this.#work.keys()],
        [...this.phases],
        this.drivers.calls.length,
      ]);
    let last = "";
    for (let unchanged = 0; unchanged < 25; ) {
      await turn();
      unchanged = state() === last ? unchanged + 1 : 0;
      last = state();
    }
  }

  /** Everything continues without faults, and all pods get where they are going. */
  async settle(): Promise<void> {
    this.#holds = false;
    for (const { release } of this.#held.splice(0)) release();
    for (;;) {
      const work = [...this.#work.values()];
      if (work.length === 0) return;
      await Promise.all(work.map(({ done }) => done));
    }
  }

  check(): void {
    const running = podNames.filter((pod) => this.phases.get(pod) === "running");
    const expected = (driver: string) =>
      claimNames
        .filter((claim) => (driversByClaim[claim] as readonly string[]).includes(driver))
        .filter((claim) => running.some((pod) => this.#claimsOf(pod).includes(claim)))
        .map((claim) => `uid-${claim}`);
    for (const driver of ["one", "two"])
      assert.deepEqual([...this.drivers.prepared.get(driver)!].sort(byText), expected(driver), driver);
    const known = Object.fromEntries(
      [...this.#manager.all()].map(({ name, pods }) => [name, [...pods].sort(byText)]),
    );
    const users = claimNames.flatMap((claim) => {
      const pods = running.filter((pod) => this.#claimsOf(pod).includes(claim));
      return pods.length > 0 ? [[claim, pods] as const] : [];
    });
    assert.deepEqual(known, Object.fromEntries(users));
    for (const pod of running) {
      const spec = podWithClaims(pod, this.#claimsOf(pod));
      assert.deepEqual(
        this.#manager.cdiDevices(spec, spec.spec.containers[0]!),
        this.#claimsOf(pod).flatMap((claim) =>
          driversByClaim[claim as keyof typeof driversByClaim].map((d) => `${d}/device=uid-${claim}`),
        ),
      );
    }
  }

  #claimsOf(pod: string): readonly string[] {
    return this.#uses.get(pod) ?? [];
  }

  #enter(pod: string, phase: Phase): void {
    this.phases.set(pod, phase);
    const running = this.#work.get(pod);
    running?.abort.abort();
    void (running?.done ?? Promise.resolve()).then(() => this.#sync(pod));
  }

  /** As a worker: one operation at a time, repeated until it succeeds. */
  #sync(pod: string): void {
    if (!this.#isLoaded || this.#work.has(pod)) return;
    const abort = new AbortController();
    const agent = this.#abort.signal;
    const signal = AbortSignal.any([abort.signal, agent]);
    const done = this.#step(pod, signal).then((again) => {
      this.#work.delete(pod);
      if (again && !agent.aborted) this.#sync(pod);
    });
    this.#work.set(pod, { abort, done });
  }

  async #step(pod: string, signal: AbortSignal): Promise<boolean> {
    const phase = this.phases.get(pod);
    const spec = podWithClaims(pod, this.#claimsOf(pod));
    try {
      if (phase === "starting" || phase === "running") {
        await this.#manager.prepare(spec, () => {}, signal);
        if (this.phases.get(pod) === "starting") this.phases.set(pod, "running");
      } else if (phase === "stopping") {
        await this.#manager.unprepare(pod as PodUid, () => {}, signal);
        this.phases.set(pod, "gone");
      }
      return false;
    } catch (error) {
      if (!isAbort(error) && !signal.aborted && !/failed$/.test((error as Error).message)) throw error;
      await turn();
      return this.phases.get(pod) === phase || phase !== "stopping";
    }
  }
}

function byText(a: string, b: string): number {
  return a < b ? -1 : 1;
}

/** Lets promises and file operations continue. */
function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

const uses = fc
  .array(fc.subarray([...claimNames], { minLength: 1 }), {
    minLength: podNames.length,
    maxLength: podNames.length,
  })
  .map((lists) => new Map(podNames.map((pod, i) => [pod as string, lists[i] as readonly string[]])));

test("in any order of starts, stops, failures and restarts, drivers have prepared exactly the claims of running pods", async () => {
  await fc.assert(
    fc.asyncProperty(
      uses,
      fc.array(actions, { minLength: 20, maxLength: 60, size: "max" }),
      async (used, steps) => {
        // Without a disk below: the checkpoint is written often.
        const dir = await mkdtemp(join(existsSync("/dev/shm") ? "/dev/shm" : tmpdir(), "claims-"));
        try {
          const simulation = new Simulation(used, dir);
          await simulation.begin();
          for (const step of steps) await simulation.act(step);
          await simulation.settle();
          simulation.check();
        } finally {
          await rm(dir, { recursive: true });
        }
      },
    ),
    { numRuns: 100 },
  );
});
