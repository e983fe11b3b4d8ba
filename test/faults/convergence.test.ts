import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { FakeClock, settle } from "../../src/lib/base/fake-clock.ts";
import { ContainerState, PodSandboxState } from "../../src/lib/gen/runtime/v1/api_pb.js";
import type { Pod, PodUid } from "../../src/lib/model/pod.ts";
import { aContainer, aPod } from "../builders/pods.ts";
import { type CallBehavior, InMemoryRuntime } from "../fake-runtime/in-memory.ts";
import type { Program } from "../fake-runtime/program.ts";
import { type Random, seededRandom } from "./seeded-random.ts";
import { SimulatedAgent } from "./simulated-node.ts";

const calls = ["RunPodSandbox", "CreateContainer", "StartContainer", "StopContainer", "RemoveContainer"];
const changes = new Set([...calls, "StopPodSandbox", "RemovePodSandbox"]);

/** The program of a container, by its name. */
function programOf(container: string): Program {
  if (container.startsWith("once"))
    return {
      steps: [
        { do: "wait", ms: 1500 },
        { do: "exit", code: 0 },
      ],
      onTerm: 0,
    };
  if (container.startsWith("stubborn")) return { steps: [{ do: "run-forever" }], onTerm: "ignore" };
  return { steps: [{ do: "run-forever" }], onTerm: 143 };
}

/** Six manifests; each has versions that differ in UID and not in name, like a static pod that is edited. */
const kinds: ((uid: PodUid, name: string) => Pod)[] = [
  (uid, name) => aPod({ containers: [aContainer("server"), aContainer("stubborn")] }, { uid, name }),
  (uid, name) =>
    aPod({ initContainers: [aContainer("once-init")], containers: [aContainer("server")] }, { uid, name }),
  (uid, name) => aPod({ restartPolicy: "Never", containers: [aContainer("once")] }, { uid, name }),
  (uid, name) =>
    aPod(
      { restartPolicy: "OnFailure", containers: [aContainer("once"), aContainer("server")] },
      { uid, name },
    ),
  (uid, name) =>
    aPod(
      {
        initContainers: [aContainer("side", { restartPolicy: "Always" })],
        containers: [aContainer("server")],
      },
      { uid, name },
    ),
];

function podOf(manifest: number, version: number): Pod {
  const name = `m${manifest}`;
  return kinds[manifest % kinds.length]!(`${name}-v${version}` as PodUid, name);
}

/** A node with a runtime that outlives agents, manifests that change, and temporary faults. */
class Harness {
  readonly clock = new FakeClock();
  readonly manifests = new Map<number, Pod>();
  readonly violations: string[] = [];
  readonly changed: string[] = [];
  readonly runtime: InMemoryRuntime;
  agent: SimulatedAgent | undefined;
  /** The percentage of calls that fail. */
  faults = 0;
  slow = 0;
  readonly #random: Random;
  /** Containers that there was a reason to stop. */
  readonly #mayBeStopped = new Set<string>();
  /** How many containers of a name were started in a pod that must not restart them. */
  readonly #started = new Map<string, number>();
  #twoReadySince = new Map<string, number>();

  constructor(seed: number) {
    this.#random = seededRandom(seed);
    this.runtime = new InMemoryRuntime({
      clock: this.clock,
      program: (config) => programOf(config.metadata?.name ?? ""),
    });
  }

  async startAgent(): Promise<void> {
    this.agent = new SimulatedAgent({
      runtime: this.runtime,
      clock: this.clock,
      behavior: (method) => this.#behavior(method),
      onCall: (method, request, late) => this.#onCall(method, request as Record<string, string>, late),
    });
    await this.agent.start([...this.manifests.values()]);
  }

  async killAgent(): Promise<void> {
    const { agent } = this;
    this.agent = undefined;
    await agent?.kill();
  }

  apply(manifest: number, version: number): void {
    const pod = podOf(manifest, version);
    const previous = this.manifests.get(manifest);
    if (previous?.metadata.uid === pod.metadata.uid) return;
    if (previous) this.#removePod(previous);
    this.manifests.set(manifest, pod);
    this.agent?.add(pod);
  }

  remove(manifest: number): void {
    const previous = this.manifests.get(manifest);
    if (!previous) return;
    this.manifests.delete(manifest);
    this.#removePod(previous);
  }

  #removePod(pod: Pod): void {
    for (const c of this.#containersOf(pod.metadata.uid)) this.#mayBeStopped.add(c.id);
    this.#removedOnce.add(pod.metadata.uid);
    this.agent?.remove(pod);
  }
  readonly #removedOnce = new Set<string>();

  /** Some running container exits. */
  crash(nth: number, code: number): void {
    const running = this.#running();
    running[nth % Math.max(1, running.length)]?.process?.end(code);
  }

  loseSandbox(nth: number): void {
    const ready = [...this.runtime.pods.sandboxes.values()].filter(
      (s) => s.state === PodSandboxState.SANDBOX_READY,
    );
    const lost = ready[nth % Math.max(1, ready.length)];
    if (lost) this.runtime.pods.loseSandbox(lost.id);
  }

  check(): void {
    const running = new Set<string>();
    for (const c of this.#running()) {
      const key = `${uidOf(c)}/${c.config.metadata?.name}`;
      if (running.has(key)) this.violations.push(`two containers run as ${key}`);
      running.add(key);
    }
    const ready = new Map<string, number>();
    for (const s of this.runtime.pods.sandboxes.values())
      if (s.state === PodSandboxState.SANDBOX_READY)
        ready.set(s.config.metadata!.uid, (ready.get(s.config.metadata!.uid) ?? 0) + 1);
    const since = new Map<string, number>();
    for (const [uid, count] of ready) {
      if (count < 2) continue;
      since.set(uid, this.#twoReadySince.get(uid) ?? this.clock.elapsedMs);
      if (this.agent && this.clock.elapsedMs - since.get(uid)! > 60_000)
        this.violations.push(`two sandboxes of ${uid} are ready for a minute`);
    }
    this.#twoReadySince = since;
  }

  /** The actual state, one line for each pod. */
  actual(): Record<string, string> {
    const pods: Record<string, string> = {};
    for (const s of this.runtime.pods.sandboxes.values()) {
      const uid = s.config.metadata!.uid;
      const state = s.state === PodSandboxState.SANDBOX_READY ? "ready" : "stopped";
      const inside = this.#containersOf(uid)
        .filter((c) => c.sandbox === s && c.state === ContainerState.CONTAINER_RUNNING)
        .map((c) => c.config.metadata!.name)
        .sort((a, b) => (a < b ? -1 : 1));
      if (state === "stopped" && inside.length === 0) pods[uid] ??= "stopped";
      else
        pods[uid] =
          `${pods[uid]?.startsWith("ready") ? `${pods[uid]} and ` : ""}${state}: ${inside.join(" ")}`;
    }
    return pods;
  }

  /** The desired state. */
  desired(): Record<string, string> {
    const expected: Record<string, string> = {};
    for (const [manifest, pod] of this.manifests) {
      const { uid } = pod.metadata;
      expected[uid] = [
        "ready: server stubborn",
        "ready: server",
        "stopped",
        "ready: server",
        "ready: server side",
      ][manifest % kinds.length]!;
    }
    return expected;
  }

  #onCall(method: string, request: Record<string, string>, late: boolean): void {
    if (changes.has(method)) this.changed.push(method);
    if (method === "StopContainer" || method === "RemoveContainer")
      this.#checkStop(request.containerId ?? "", method);
    if (method === "StopPodSandbox" || method === "RemovePodSandbox") {
      for (const c of this.runtime.pods.containers.values())
        if (c.sandbox.id === request.podSandboxId) this.#checkStop(c.id, method);
    }
    if (method === "StartContainer") this.#checkStart(request.containerId ?? "");
    // The agent got an error, and may remove the container as never started.
    if (method === "StartContainer" && late) this.#mayBeStopped.add(request.containerId ?? "");
  }

  /** A running container of a desired pod in a ready sandbox must not be stopped. */
  #checkStop(id: string, method: string): void {
    const container = this.runtime.pods.containers.get(id);
    if (container?.state !== ContainerState.CONTAINER_RUNNING || this.#mayBeStopped.has(id)) return;
    const uid = uidOf(container);
    const desired = [...this.manifests.values()].some((p) => p.metadata.uid === uid);
    if (!desired || container.sandbox.state !== PodSandboxState.SANDBOX_READY) return;
    const pod = [...this.manifests.values()].find((p) => p.metadata.uid === uid)!;
    // A pod whose regular containers have completed stops its sidecars.
    if (pod.spec.restartPolicy !== "Always") return;
    this.violations.push(`${method} of ${uid}/${container.config.metadata?.name}, which runs and is desired`);
  }

  #checkStart(id: string): void {
    const container = this.runtime.pods.containers.get(id);
    if (!container || container.state !== ContainerState.CONTAINER_CREATED) return;
    const uid = uidOf(container);
    const pod = [...this.manifests.values()].find((p) => p.metadata.uid === uid);
    if (pod?.spec.restartPolicy !== "Never" || this.#removedOnce.has(uid)) return;
    if (container.sandbox.state !== PodSandboxState.SANDBOX_READY) return;
    const key = `${uid}/${container.config.metadata?.name}`;
    const count = (this.#started.get(key) ?? 0) + 1;
    this.#started.set(key, count);
    if (count > 1) this.violations.push(`${key} is started a second time`);
  }

  #behavior(method: string): CallBehavior {
    const { below } = this.#random;
    const behavior: CallBehavior = { beforeMs: below(1 + this.slow), afterMs: below(1 + this.slow) };
    if (below(100) >= this.faults) return behavior;
    const kinds = changes.has(method)
      ? (["not executed", "response lost", "executed late"] as const)
      : (["not executed", "response lost"] as const);
    return { ...behavior, fault: kinds[below(kinds.length)] };
  }

  #running() {
    return [...this.runtime.pods.containers.values()].filter(
      (c) => c.state === ContainerState.CONTAINER_RUNNING,
    );
  }

  #containersOf(uid: string) {
    return [...this.runtime.pods.containers.values()].filter((c) => uidOf(c) === uid);
  }
}

function uidOf(container: { sandbox: { config: { metadata?: { uid: string } } } }): string {
  return container.sandbox.config.metadata!.uid;
}

type Step =
  | { kind: "apply"; manifest: number; version: number }
  | { kind: "remove"; manifest: number }
  | { kind: "fault"; percent: number }
  | { kind: "slow"; ms: number }
  | { kind: "crash"; nth: number; code: number }
  | { kind: "lose-sandbox"; nth: number }
  | { kind: "kill" | "stop" | "start" }
  | { kind: "wait"; ms: number };

const nat = (max: number) => fc.integer({ min: 0, max });
const is = <K extends string>(kind: K) => fc.constant(kind);
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({ kind: is("apply"), manifest: nat(4), version: nat(2) }),
  },
  { weight: 2, arbitrary: fc.record({ kind: is("remove"), manifest: nat(4) }) },
  { weight: 2, arbitrary: fc.record({ kind: is("fault"), percent: nat(50) }) },
  { weight: 1, arbitrary: fc.record({ kind: is("slow"), ms: nat(400) }) },
  { weight: 2, arbitrary: fc.record({ kind: is("crash"), nth: nat(20), code: fc.constantFrom(1, 137) }) },
  { weight: 1, arbitrary: fc.record({ kind: is("lose-sandbox"), nth: nat(20) }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constantFrom("kill" as const, "stop" as const) }) },
  { weight: 3, arbitrary: fc.record({ kind: is("start") }) },
  { weight: 8, arbitrary: fc.record({ kind: is("wait"), ms: nat(4000) }) },
);

async function execute(harness: Harness, s: Step): Promise<void> {
  switch (s.kind) {
    case "apply":
      return harness.apply(s.manifest, s.version);
    case "remove":
      return harness.remove(s.manifest);
    case "fault":
      harness.faults = s.percent;
      return;
    case "slow":
      harness.slow = s.ms;
      return;
    case "crash":
      return harness.crash(s.nth, s.code);
    case "lose-sandbox":
      return harness.loseSandbox(s.nth);
    case "kill":
      return harness.killAgent();
    case "stop": {
      const stopped = harness.agent?.stop();
      harness.agent = undefined;
      // The agent waits for starts in progress before it stops.
      await harness.clock.advance(40_000);
      return stopped;
    }
    case "start":
      return harness.agent ? undefined : harness.startAgent();
    case "wait":
      for (let left = s.ms; left > 0; left -= 100) {
        await harness.clock.advance(Math.min(left, 100));
        harness.check();
      }
      return;
    default:
      s satisfies never;
  }
}

test("the node converges to its manifests despite faults and kills, and no desired container is stopped", async () => {
  await fc.assert(
    fc.asyncProperty(nat(0x7fffffff), fc.array(step, { maxLength: 40, size: "max" }), async (seed, steps) => {
      const harness = new Harness(seed);
      await harness.startAgent();
      for (const s of steps) {
        await execute(harness, s);
        await settle(1);
        harness.check();
        assert.deepEqual(harness.violations, []);
      }
      harness.faults = 0;
      harness.slow = 0;
      if (!harness.agent) await harness.startAgent();
      for (let i = 0; i < 12; i++) {
        await harness.clock.advance(10_000);
        harness.check();
      }
      assert.deepEqual(harness.violations, []);
      assert.deepEqual(harness.actual(), harness.desired());
      harness.changed.length = 0;
      await harness.clock.advance(120_000);
      assert.deepEqual(harness.changed, [], "the agent changed a node in its desired state");
      await harness.killAgent();
      await harness.startAgent();
      await harness.clock.advance(30_000);
      // Terminated pods may be stopped once more.
      const done = harness.changed.filter((call) => call !== "StopPodSandbox");
      assert.deepEqual(done, [], "a restarted agent changed a node in its desired state");
      await harness.killAgent();
    }),
    { numRuns: Number(process.env.PROPERTY_RUNS ?? 25) },
  );
});
