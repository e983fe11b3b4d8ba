import type { ProbeKind } from "../../src/kubelet/state/probe-results.ts";
import { ContainerState, PodSandboxState } from "../../src/lib/gen/runtime/v1/api_pb.js";
import { isStatic, type Pod, type PodUid } from "../../src/lib/model/pod.ts";
import type { PodFailure } from "../../src/lib/model/pod-failure.ts";
import { type CallBehavior, InMemoryRuntime } from "../fake-runtime/in-memory.ts";
import type { FakeContainer } from "../fake-runtime/pod-records.ts";
import { type Edits, type Kind, podOf, programOf, unedited } from "./pod-kinds.ts";
import { PodLifecycleRules, uidOf } from "./pod-lifecycle-rules.ts";
import { type Random, seededRandom } from "./seeded-random.ts";
import { eventLoopTurns, SimulatedClock } from "./simulated-clock.ts";
import { type Health, SimulatedHealth } from "./simulated-health.ts";
import { type HookBehavior, SimulatedHooks } from "./simulated-hooks.ts";
import { SimulatedHost } from "./simulated-host.ts";
import { SimulatedAgent } from "./simulated-node.ts";

export interface DesiredPod {
  kind: Kind;
  uid: PodUid;
  edits: Edits;
  pod: Pod;
  /** The pod was evicted; the agent keeps this failure until the pod has terminated. */
  evicted?: boolean;
}

const changing = /^(Run|Stop|Remove)PodSandbox$|^(Create|Start|Stop|Remove)Container$/;
const rejection: PodFailure = {
  phase: "Failed",
  reason: "NodeAffinity",
  message: "node affinity does not match",
};
const eviction: PodFailure = { phase: "Failed", reason: "Evicted", message: "node is low on memory" };

/** A node with a runtime, agents that are started and killed, desired pods, and all their events. */
export class PodLifecycleHarness {
  readonly clock = new SimulatedClock();
  readonly host = new SimulatedHost();
  readonly runtime: InMemoryRuntime;
  readonly rules: PodLifecycleRules;
  readonly hooks: SimulatedHooks;
  readonly health: SimulatedHealth;
  /** By slot: at most one pod of a name is desired at a time. */
  readonly desired = new Map<number, DesiredPod>();
  agent: SimulatedAgent | undefined;
  /** Calls that change something, since the list was last cleared. */
  readonly changes: string[] = [];
  /** Percentages of calls. */
  faults = 0;
  hangs = 0;
  slowMs = 0;
  /** All pods that were ever desired. */
  readonly uids = new Set<PodUid>();
  readonly #random: Random;
  /** Aborted when the agent's process has exited. */
  #process = new AbortController();

  constructor(seed: number) {
    this.#random = seededRandom(seed);
    this.runtime = new InMemoryRuntime({
      clock: this.clock,
      images: { "busybox:1": {}, "busybox:2": {} },
      events: seed % 4 !== 0,
      program: ({ metadata }) => programOf(metadata?.name ?? "", metadata?.attempt ?? 0),
    });
    this.rules = new PodLifecycleRules(this.runtime);
    this.hooks = new SimulatedHooks(this.clock, (kind, id) => this.rules.ranTwice(kind, id));
    this.health = new SimulatedHealth({
      clock: this.clock,
      isRunning: (id) => this.running().some((c) => c.id === id),
      onResult: (kind, id, health) => {
        if (kind === "startup" && health === "success") this.rules.startupSucceeded(id);
        if (kind !== "readiness" && health === "failure") this.rules.failedProbe(id);
      },
    });
  }

  async startAgent(): Promise<void> {
    if (this.agent) return;
    this.#process = new AbortController();
    const agent: SimulatedAgent = new SimulatedAgent({
      runtime: this.runtime,
      clock: this.clock,
      host: this.host,
      maxRestartDelayMs: 3000,
      hooks: this.hooks.ofAgent(this.#process.signal),
      prober: (results) => this.health.ofAgent(results),
      admit: (pod) => (pod.metadata.labels?.kind === "rejected" ? rejection : undefined),
      behavior: (method, request) => {
        this.rules.called(method, request as Record<string, unknown>, {
          worker: (uid) => agent.workers.get(uid),
        });
        return this.#behavior(method);
      },
      onCall: (method, request, late) => {
        if (this.#isChange(method, request as { podSandboxId?: string })) this.changes.push(method);
        this.rules.executed(method, request as Record<string, unknown>, late, this.#pods());
      },
      onStatus: (pod, phase) => this.rules.phase(pod, phase),
      onGone: (uid) => this.rules.gone(uid),
    });
    this.agent = agent;
    this.rules.agentStarted();
    await agent.start(this.#pods());
  }

  async killAgent(): Promise<void> {
    const { agent } = this;
    this.#agentExited();
    this.#process.abort();
    await agent?.kill();
  }

  /** Starts in progress are not canceled; if they hang, that takes a while. */
  async stopAgent(): Promise<void> {
    let stopped = this.agent === undefined;
    void this.agent?.stop().then(() => {
      stopped = true;
    });
    this.#agentExited();
    for (let waited = 0; !stopped && waited < 120_000; waited += 3000) await this.clock.advance(3000);
    this.#process.abort();
    if (!stopped) this.rules.violations.push("a stopped agent does not exit");
  }

  /** The API keeps the status of its pods; the status of static pods is lost with the agent. */
  #agentExited(): void {
    this.rules.fault();
    for (const desired of this.desired.values()) {
      if (!isStatic(desired.pod))
        desired.pod = { ...desired.pod, status: this.agent?.statuses.get(desired.uid) ?? desired.pod.status };
      desired.evicted &&= desired.pod.status?.phase === "Failed";
    }
    this.agent = undefined;
  }

  /** Replaces the desired pod of the slot. */
  add(slot: number, kind: Kind, version: number): void {
    const uid = `p${slot}-${kind}-${version}` as PodUid;
    if (this.desired.get(slot)?.uid === uid) return;
    this.remove(slot);
    const pod = podOf(kind, version === 0 ? "file" : "api", uid, `p${slot}`, unedited);
    this.desired.set(slot, { kind, uid, edits: unedited, pod });
    this.uids.add(uid);
    this.agent?.report("ADD", pod);
  }

  edit(slot: number, what: "revision" | "image" | "deadline"): void {
    const desired = this.desired.get(slot);
    if (!desired || desired.pod.metadata.deletionTimestamp) return;
    const { edits, kind, uid } = desired;
    // Containers whose definition changed are replaced, regardless of the restart policy.
    this.rules.disturbed(uid);
    if (what === "revision") desired.edits = { ...edits, revision: edits.revision + 1 };
    if (what === "image") desired.edits = { ...edits, image: "busybox:2" };
    if (what === "deadline" && kind === "withDeadline") desired.edits = { ...edits, deadlineSeconds: 2 };
    this.#update(slot, desired);
  }

  /** Adds an ephemeral container to the pod; not possible for a static pod. */
  debug(slot: number): void {
    const desired = this.desired.get(slot);
    if (!desired || desired.pod.metadata.deletionTimestamp || isStatic(desired.pod)) return;
    desired.edits = { ...desired.edits, ephemeralCount: Math.min(2, desired.edits.ephemeralCount + 1) };
    this.#update(slot, desired);
  }

  #update(slot: number, desired: DesiredPod): void {
    const { kind, uid, edits, pod } = desired;
    const updated = podOf(kind, isStatic(pod) ? "file" : "api", uid, `p${slot}`, edits);
    desired.pod = { ...updated, status: pod.status };
    this.agent?.report("UPDATE", desired.pod);
  }

  /** The pod is deleted, and its object is removed after termination. */
  async delete(slot: number, graceSeconds: number): Promise<void> {
    const desired = this.desired.get(slot);
    if (!desired) return;
    const { pod } = desired;
    const { deletionGracePeriodSeconds: previous = Number.POSITIVE_INFINITY } = pod.metadata;
    const metadata = {
      ...pod.metadata,
      deletionTimestamp: "2026-01-01T00:00:00Z",
      deletionGracePeriodSeconds: Math.min(previous, graceSeconds),
    };
    desired.pod = { ...pod, metadata };
    this.agent?.report("DELETE", desired.pod);
    await eventLoopTurns();
    if (this.agent) this.rules.mustTerminateWithin(desired.uid, graceSeconds, this.clock.elapsedMs);
  }

  remove(slot: number): void {
    const desired = this.desired.get(slot);
    if (!desired) return;
    this.desired.delete(slot);
    this.rules.removed(desired.uid);
    this.agent?.report("REMOVE", desired.pod);
  }

  async evict(slot: number, graceSeconds: number): Promise<void> {
    await eventLoopTurns();
    const desired = this.desired.get(slot);
    const worker = desired && this.agent?.workers.get(desired.uid);
    if (!desired || !worker?.pod || worker.removed) return;
    this.agent?.podWorkers.terminate(desired.uid, { removed: false, graceSeconds, failure: eviction });
    desired.evicted = worker.failure !== undefined;
    this.rules.mustTerminateWithin(desired.uid, graceSeconds, this.clock.elapsedMs);
  }

  /** Some running container exits. */
  crash(nth: number, how: number | "oom" | "vanish" | "unknown"): Promise<void> | void {
    const container = pick(this.running(), nth);
    if (!container) return;
    if (how === "unknown") {
      // It is stopped and replaced, regardless of its exit code.
      this.rules.disturbed(uidOf(container));
      return this.runtime.pods.setUnknown(container.id);
    }
    if (how === "oom") return this.runtime.pods.oomKill(container.id);
    if (how !== "vanish") return container.process?.end(how);
    this.rules.lostContainer(uidOf(container));
    return this.runtime.pods.remove(container.id);
  }

  loseSandbox(nth: number): void {
    const { sandboxes } = this.runtime.pods;
    const lost = pick(
      [...sandboxes.values()].filter((s) => s.state === PodSandboxState.SANDBOX_READY),
      nth,
    );
    if (!lost) return;
    // Its containers are stopped and restarted in another sandbox, regardless of their exit codes.
    this.rules.disturbed(lost.config.metadata!.uid);
    this.runtime.pods.loseSandbox(lost.id);
  }

  /** From now on, a probe of a running container has this result. */
  setProbeResult(nth: number, health: Health): void {
    const target = pick(
      this.running().flatMap((c) => probesOf(c, this.#pods()).map((kind) => ({ kind, id: c.id }))),
      nth,
    );
    if (target) this.health.set(target.kind, target.id, health);
  }

  /** The behavior of hooks that start from now on. */
  setHookBehavior(behavior: HookBehavior): void {
    this.hooks.behavior = behavior;
  }

  outage(ms: number): void {
    this.rules.fault();
    this.runtime.down = true;
    this.clock.after(ms, () => {
      this.runtime.down = false;
    });
  }

  /** After every step: objects of deleted pods that have terminated are removed, and the invariants are checked. */
  check(): void {
    for (const [slot, { uid, pod }] of this.desired)
      if (pod.metadata.deletionTimestamp && this.agent?.workers.get(uid)?.phase === "terminated")
        this.remove(slot);
    this.rules.check(this.agent?.workers.all() ?? [], this.clock.elapsedMs);
    for (const id of this.hooks.starting) {
      const container = this.runtime.pods.containers.get(id);
      const status = container && this.agent?.statuses.get(uidOf(container));
      const reported = [...(status?.containerStatuses ?? []), ...(status?.initContainerStatuses ?? [])];
      if (reported.some((c) => c.state?.running && c.containerID?.endsWith(id)))
        this.rules.violations.push(`${id} is reported as running while its postStart hook runs`);
    }
  }

  injectFaults(how: { faults?: number; hangs?: number; slowMs?: number }): void {
    this.rules.fault();
    Object.assign(this, how);
  }

  clearFaults(): void {
    this.faults = 0;
    this.hangs = 0;
    this.slowMs = 0;
    this.hooks.behavior = "quick";
    this.health.reset();
  }

  /** A stopped sandbox may be stopped once more. */
  #isChange(method: string, { podSandboxId = "" }: { podSandboxId?: string }): boolean {
    if (method !== "StopPodSandbox") return changing.test(method);
    return this.runtime.pods.sandboxes.get(podSandboxId)?.state === PodSandboxState.SANDBOX_READY;
  }

  #pods(): Pod[] {
    return [...this.desired.values()].map((w) => w.pod);
  }

  running(): FakeContainer[] {
    return [...this.runtime.pods.containers.values()].filter(
      (c) => c.state === ContainerState.CONTAINER_RUNNING,
    );
  }

  #behavior(method: string): CallBehavior {
    const { below } = this.#random;
    const behavior: CallBehavior =
      this.slowMs > 0 ? { beforeMs: below(this.slowMs), afterMs: below(this.slowMs) } : {};
    if (this.hangs > 0 && below(100) < this.hangs) {
      if (below(2) === 0) behavior.beforeMs = 8000;
      else behavior.afterMs = 8000;
    }
    if (this.faults === 0 || below(100) >= this.faults) return behavior;
    const faults = ["not executed", "response lost", "executed late"] as const;
    return { ...behavior, fault: faults[below(changing.test(method) ? 3 : 2)] };
  }
}

function probesOf(container: FakeContainer, pods: readonly Pod[]): ProbeKind[] {
  const spec = pods.find((p) => p.metadata.uid === uidOf(container))?.spec;
  const all = [...(spec?.initContainers ?? []), ...(spec?.containers ?? [])];
  const own = all.find((c) => c.name === container.config.metadata?.name);
  return (["liveness", "startup", "readiness"] as const).filter((kind) => own?.[`${kind}Probe`]);
}

function pick<T>(all: readonly T[], nth: number): T | undefined {
  return all[nth % Math.max(1, all.length)];
}
