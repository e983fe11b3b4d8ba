import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { FakeClock } from "../../../lib/base/fake-clock.ts";
import { silentLogger } from "../../../lib/base/logger.ts";
import { createMetrics } from "../../../lib/base/metrics.ts";
import { isCritical, isPreemptable } from "../../../lib/model/critical-pod.ts";
import { fakePod } from "../../../lib/model/fake-pod.ts";
import { annotationSource, type Pod, type PodUid } from "../../../lib/model/pod.ts";
import type { Admission } from "../../../lib/model/pod-sync.ts";
import { podAdmission } from "./pod-admission.ts";

const capacity = 10;
const graceSeconds = 4;

/** Pods arrive, end, are deleted; time passes; the agent is killed and starts again. */
type Step =
  | { kind: "add"; cpu: number; priority: number | undefined; grace: number }
  | { kind: "delete" | "exit"; index: number }
  | { kind: "wait"; seconds: number }
  | { kind: "restart" };

const steps: fc.Arbitrary<Step[]> = fc.array(
  fc.oneof(
    {
      weight: 5,
      arbitrary: fc.record({
        kind: fc.constant("add" as const),
        cpu: fc.integer({ min: 0, max: 6 }),
        priority: fc.constantFrom(undefined, 0, 1000, 2_000_000_000, 2_000_001_000),
        grace: fc.integer({ min: 0, max: graceSeconds }),
      }),
    },
    {
      weight: 1,
      arbitrary: fc.record({ kind: fc.constantFrom("delete" as const, "exit" as const), index: fc.nat(20) }),
    },
    { weight: 2, arbitrary: fc.record({ kind: fc.constant("wait" as const), seconds: fc.nat(5) }) },
    { weight: 1, arbitrary: fc.constant({ kind: "restart" as const }) },
  ),
  { maxLength: 40 },
);

interface SimulatedPod {
  readonly pod: Pod;
  readonly cpu: number;
  state: "pending" | "running" | "terminating" | "terminated" | "rejected";
  terminatesAt: number;
}

/** The workers of a node, reduced to what admission depends on. */
class Node {
  readonly clock = new FakeClock();
  readonly pods = new Map<PodUid, SimulatedPod>();
  /** On disk. */
  readonly evicted = new Set<PodUid>();
  #admit = this.#newAgent();
  #stuck = false;

  constructor(stuck = false) {
    this.#stuck = stuck;
  }

  #newAgent(): (pod: Pod) => Admission {
    return podAdmission({
      nodeName: "n",
      allocatable: { cpu: String(capacity) },
      cpus: 1,
      maxPods: 1000,
      podsPerCore: 0,
      allowedUnsafeSysctls: [],
      podLevelResources: true,
      declaredFeatures: () => undefined,
      runtime: { supplementalGroupsPolicy: () => true },
      activePods: () => [...this.pods.values()].filter(({ state }) => !isOver(state)).map(({ pod }) => pod),
      runs: (uid) => ["running", "terminating"].includes(this.#get(uid).state),
      clock: this.clock,
      logger: silentLogger,
      metrics: createMetrics(),
      events: { normal() {}, warning() {} },
      isTerminating: (uid) => this.#get(uid).state === "terminating",
      evict: (uid) => {
        assert.ok(!this.evicted.has(uid), "a pod is preempted once");
        this.evicted.add(uid);
        this.#terminate(this.#get(uid));
      },
    }).admit;
  }

  #get(uid: PodUid): SimulatedPod {
    const found = this.pods.get(uid);
    assert.ok(found);
    return found;
  }

  add(cpu: number, priority: number | undefined, grace: number): void {
    const uid = `${this.pods.size}` as PodUid;
    const pod = fakePod({
      metadata: { name: uid, uid, annotations: { [annotationSource]: "api" } },
      spec: {
        terminationGracePeriodSeconds: grace,
        ...(priority !== undefined && { priority }),
        containers: [{ resources: { requests: { cpu: String(cpu) } } }],
      },
    });
    this.pods.set(uid, { pod, cpu, state: "pending", terminatesAt: 0 });
    this.decide();
  }

  end(index: number, isDeleted: boolean): void {
    const found = [...this.pods.values()][index];
    if (!found || isOver(found.state)) return;
    if (isDeleted || found.state === "pending") this.#terminate(found);
    else found.state = "terminated";
    this.decide();
  }

  #terminate(pod: SimulatedPod): void {
    const wasPending = pod.state === "pending";
    pod.state = "terminating";
    const grace = pod.pod.spec.terminationGracePeriodSeconds ?? 0;
    pod.terminatesAt = wasPending ? this.clock.elapsedMs : this.clock.elapsedMs + grace * 1000;
    if (this.#stuck) pod.terminatesAt = Number.POSITIVE_INFINITY;
  }

  restart(): void {
    this.#admit = this.#newAgent();
    this.decide();
  }

  async wait(seconds: number): Promise<void> {
    for (let i = 0; i < seconds; i++) {
      await this.clock.advance(1000);
      for (const pod of this.pods.values())
        if (pod.state === "terminating" && pod.terminatesAt <= this.clock.elapsedMs) pod.state = "terminated";
      this.decide();
    }
  }

  /** Decides again about all pods that were not admitted yet, as their workers do when another pod has terminated. */
  decide(): void {
    for (const pod of this.pods.values()) {
      if (pod.state !== "pending") continue;
      const before = new Set(this.evicted);
      const admission = this.#admit(pod.pod);
      for (const uid of this.evicted)
        if (!before.has(uid)) assert.ok(isPreemptable(this.#get(uid).pod, pod.pod), "is preemptable");
      if (admission.kind === "admitted") pod.state = "running";
      if (admission.kind === "rejected") {
        assert.ok(
          !this.#fitsAlone(pod),
          "a critical pod is admitted if pods that it may preempt could make room",
        );
        pod.state = "rejected";
      }
      if (!this.#stuck) this.checkFit();
    }
  }

  #fitsAlone({ pod, cpu }: SimulatedPod): boolean {
    if (!isCritical(pod)) return false;
    const others = [...this.pods.values()].filter(
      (other) =>
        other.pod !== pod &&
        (other.state === "running" || (other.state === "pending" && isCritical(other.pod))) &&
        !isPreemptable(other.pod, pod),
    );
    return others.reduce((sum, other) => sum + other.cpu, cpu) <= capacity;
  }

  /** The pods that run or terminate never request more than the node has. */
  checkFit(): void {
    const used = [...this.pods.values()]
      .filter(({ state }) => state === "running" || state === "terminating")
      .filter(
        ({ pod }) => this.started.has(pod.metadata.uid) || this.#get(pod.metadata.uid).state === "running",
      )
      .reduce((sum, { pod, cpu }) => {
        this.started.add(pod.metadata.uid);
        return sum + cpu;
      }, 0);
    assert.ok(used <= capacity, `${used} of ${capacity} are used`);
  }

  readonly started = new Set<PodUid>();
}

function isOver(state: SimulatedPod["state"]): boolean {
  return state === "terminated" || state === "rejected";
}

async function run(node: Node, all: readonly Step[]): Promise<void> {
  for (const step of all) {
    if (step.kind === "add") node.add(step.cpu, step.priority, step.grace);
    else if (step.kind === "wait") await node.wait(step.seconds);
    else if (step.kind === "restart") node.restart();
    else node.end(step.index, step.kind === "delete");
  }
}

test("the node is never overcommitted, no pod is preempted twice or by one that may not preempt it, and no pod waits forever", () =>
  fc.assert(
    fc.asyncProperty(steps, async (all) => {
      const node = new Node();
      await run(node, all);
      await node.wait(2 * graceSeconds);
      for (const { pod, state } of node.pods.values())
        assert.ok(isOver(state) || state === "running", `${pod.metadata.name} is ${state}`);
    }),
    { numRuns: Number(process.env.PROPERTY_RUNS ?? 300) },
  ));

test("pods that never terminate do not block others forever", () =>
  fc.assert(
    fc.asyncProperty(steps, async (all) => {
      const node = new Node(true);
      await run(node, all);
      await node.wait(60);
      for (const { pod, state } of node.pods.values())
        assert.notEqual(state, "pending", `${pod.metadata.name} still waits`);
    }),
    { numRuns: Number(process.env.PROPERTY_RUNS ?? 100) },
  ));
