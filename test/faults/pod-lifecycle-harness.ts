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
import { type HookManner, SimulatedHooks } from "./simulated-hooks.ts";
import { SimulatedHost } from "./simulated-host.ts";
import { SimulatedAgent } from "./simulated-node.ts";

export interface Wanted {
  kind: Kind;
  uid: PodUid;
  edits: Edits;
  pod: Pod;
  /** It has a failure, which the agent keeps until termination. */
  evicted?: boolean;
}

const changing = /^(Run|Stop|Remove)PodSandbox$|^(Create|Start|Stop|Remove)Container$/;
const rejection: PodFailure = { phase: "Failed", reason: "NodeAffinity", message: "not here" };
const eviction: PodFailure = { phase: "Failed", reason: "Evicted", message: "no room" };

/** A node with a runtime, agents that are started and killed, desired pods, and all their events. */
export class PodLifecycleHarness {
  readonly clock = new SimulatedClock();
  readonly host = new SimulatedHost();
  readonly runtime: InMemoryRuntime;
  readonly rules: PodLifecycleRules;
  readonly hooks: SimulatedHooks;
  readonly health: SimulatedHealth;
  /** By slot: at most one pod of a name is desired at a time. */
  readonly wanted = new Map<number, Wanted>();
  agent: SimulatedAgent | undefined;
  /** Calls that change something, since it was last emptied. */
  readonly changes: string[] = [];
  /** Percentage of calls. */
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
      runs: (id) => this.running().some((c) => c.id === id),
      onResult: (kind, id, health) => {
        if (kind === "startup" && health === "success") this.rules.passed(id);
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
        if (this.#changesSomething(method, request as { podSandboxId?: string })) this.changes.push(method);
        this.rules.done(method, request as Record<string, unknown>, late, this.#pods());
      },
      onStatus: (pod, phase) => this.rules.phase(pod, phase),
      onGone: (uid) => this.rules.gone(uid),
    });
    this.agent = agent;
    this.rules.newAgent();
    await agent.start(this.#pods());
  }

  async killAgent(): Promise<void> {
    const { agent } = this;
    this.#agentGoes();
    this.#process.abort();
    await agent?.kill();
  }

  /** Starts in progress are not canceled; if they hang, that takes a while. */
  async stopAgent(): Promise<void> {
    let stopped = this.agent === undefined;
    void this.agent?.stop().then(() => {
      stopped = true;
    });
    this.#agentGoes();
    for (let waited = 0; !stopped && waited < 120_000; waited += 3000) await this.clock.advance(3000);
    this.#process.abort();
    if (!stopped) this.rules.broken.push("an agent that is stopped does not stop");
  }

  /** The status of API pods is kept; failures on others are lost. */
  #agentGoes(): void {
    this.rules.fault();
    for (const wanted of this.wanted.values()) {
      if (!isStatic(wanted.pod))
        wanted.pod = { ...wanted.pod, status: this.agent?.statuses.get(wanted.uid) ?? wanted.pod.status };
      wanted.evicted &&= wanted.pod.status?.phase === "Failed";
    }
    this.agent = undefined;
  }

  /** A pod of that slot is desired, instead of the current one. */
  add(slot: number, kind: Kind, version: number): void {
    const uid = `p${slot}-${kind}-${version}` as PodUid;
    if (this.wanted.get(slot)?.uid === uid) return;
    this.remove(slot);
    const pod = podOf(kind, version === 0 ? "file" : "api", uid, `p${slot}`, unedited);
    this.wanted.set(slot, { kind, uid, edits: unedited, pod });
    this.uids.add(uid);
    this.agent?.report("ADD", pod);
  }

  edit(slot: number, what: "revision" | "image" | "deadline"): void {
    const wanted = this.wanted.get(slot);
    if (!wanted || wanted.pod.metadata.deletionTimestamp) return;
    const { edits, kind, uid } = wanted;
    // Containers whose definition changed are replaced, whatever the restart policy.
    this.rules.meddledWith(uid);
    if (what === "revision") wanted.edits = { ...edits, revision: edits.revision + 1 };
    if (what === "image") wanted.edits = { ...edits, image: "busybox:2" };
    if (what === "deadline" && kind === "limited") wanted.edits = { ...edits, deadlineSeconds: 2 };
    this.#update(slot, wanted);
  }

  /** Adds an ephemeral container to the pod; not possible for a static pod. */
  debug(slot: number): void {
    const wanted = this.wanted.get(slot);
    if (!wanted || wanted.pod.metadata.deletionTimestamp || isStatic(wanted.pod)) return;
    wanted.edits = { ...wanted.edits, debuggers: Math.min(2, wanted.edits.debuggers + 1) };
    this.#update(slot, wanted);
  }

  #update(slot: number, wanted: Wanted): void {
    const { kind, uid, edits, pod } = wanted;
    const updated = podOf(kind, isStatic(pod) ? "file" : "api", uid, `p${slot}`, edits);
    wanted.pod = { ...updated, status: pod.status };
    this.agent?.report("UPDATE", wanted.pod);
  }

  /** The pod is deleted, and its object is removed after termination. */
  async delete(slot: number, graceSeconds: number): Promise<void> {
    const wanted = this.wanted.get(slot);
    if (!wanted) return;
    const { pod } = wanted;
    const { deletionGracePeriodSeconds: before = Number.POSITIVE_INFINITY } = pod.metadata;
    const metadata = {
      ...pod.metadata,
      deletionTimestamp: "2026-01-01T00:00:00Z",
      deletionGracePeriodSeconds: Math.min(before, graceSeconds),
    };
    wanted.pod = { ...pod, metadata };
    this.agent?.report("DELETE", wanted.pod);
    await eventLoopTurns();
    if (this.agent) this.rules.mustEndWithin(wanted.uid, graceSeconds, this.clock.elapsedMs);
  }

  remove(slot: number): void {
    const wanted = this.wanted.get(slot);
    if (!wanted) return;
    this.wanted.delete(slot);
    this.rules.unwanted(wanted.uid);
    this.agent?.report("REMOVE", wanted.pod);
  }

  async evict(slot: number, graceSeconds: number): Promise<void> {
    await eventLoopTurns();
    const wanted = this.wanted.get(slot);
    const worker = wanted && this.agent?.workers.get(wanted.uid);
    if (!wanted || !worker?.pod || worker.removed) return;
    this.agent?.workers.terminate(wanted.uid, { removed: false, graceSeconds, failure: eviction });
    wanted.evicted = worker.failure !== undefined;
    this.rules.mustEndWithin(wanted.uid, graceSeconds, this.clock.elapsedMs);
  }

  /** Some running container exits. */
  crash(nth: number, how: number | "oom" | "vanish" | "unknown"): Promise<void> | void {
    const container = pick(this.running(), nth);
    if (!container) return;
    if (how === "unknown") {
      // It is stopped and replaced, however it exits.
      this.rules.meddledWith(uidOf(container));
      return this.runtime.pods.setUnknown(container.id);
    }
    if (how === "oom") return this.runtime.pods.oomKill(container.id);
    if (how !== "vanish") return container.process?.end(how);
    this.rules.vanishedFrom(uidOf(container));
    return this.runtime.pods.remove(container.id);
  }

  loseSandbox(nth: number): void {
    const { sandboxes } = this.runtime.pods;
    const lost = pick(
      [...sandboxes.values()].filter((s) => s.state === PodSandboxState.SANDBOX_READY),
      nth,
    );
    if (!lost) return;
    // Its containers are stopped and run in another one, however they exit.
    this.rules.meddledWith(lost.config.metadata!.uid);
    this.runtime.pods.loseSandbox(lost.id);
  }

  /** From now on, a probe of a running container has this result. */
  ail(nth: number, health: Health): void {
    const ailing = pick(
      this.running().flatMap((c) => probesOf(c, this.#pods()).map((kind) => ({ kind, id: c.id }))),
      nth,
    );
    if (ailing) this.health.set(ailing.kind, ailing.id, health);
  }

  /** The behavior of hooks that start from now on. */
  hookManner(manner: HookManner): void {
    this.hooks.manner = manner;
  }

  outage(ms: number): void {
    this.rules.fault();
    this.runtime.down = true;
    this.clock.after(ms, () => {
      this.runtime.down = false;
    });
  }

  /** After every step: objects of deleted pods that have terminated are removed, and the invariants are checked. */
  look(): void {
    for (const [slot, { uid, pod }] of this.wanted)
      if (pod.metadata.deletionTimestamp && this.agent?.workers.get(uid)?.phase === "terminated")
        this.remove(slot);
    this.rules.look(this.agent?.workers.all() ?? [], this.clock.elapsedMs);
    for (const id of this.hooks.starting) {
      const container = this.runtime.pods.containers.get(id);
      const status = container && this.agent?.statuses.get(uidOf(container));
      const reported = [...(status?.containerStatuses ?? []), ...(status?.initContainerStatuses ?? [])];
      if (reported.some((c) => c.state?.running && c.containerID?.endsWith(id)))
        this.rules.broken.push(`${id} is reported as running while its postStart hook does`);
    }
  }

  disturb(how: { faults?: number; hangs?: number; slowMs?: number }): void {
    this.rules.fault();
    Object.assign(this, how);
  }

  calm(): void {
    this.faults = 0;
    this.hangs = 0;
    this.slowMs = 0;
    this.hooks.manner = "quick";
    this.health.allGood();
  }

  /** A stopped sandbox may be stopped once more. */
  #changesSomething(method: string, { podSandboxId = "" }: { podSandboxId?: string }): boolean {
    if (method !== "StopPodSandbox") return changing.test(method);
    return this.runtime.pods.sandboxes.get(podSandboxId)?.state === PodSandboxState.SANDBOX_READY;
  }

  #pods(): Pod[] {
    return [...this.wanted.values()].map((w) => w.pod);
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
    const faults = ["not done", "response lost", "done late"] as const;
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
