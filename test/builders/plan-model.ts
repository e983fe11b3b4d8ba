import { planPod } from "../../src/kubelet/pipeline/pod-runtime/plan/plan-pod.ts";
import type {
  PlanContext,
  PodPlan,
  StartAction,
} from "../../src/kubelet/pipeline/pod-runtime/plan/pod-plan.ts";
import { isLive } from "../../src/kubelet/pipeline/pod-runtime/plan/view.ts";
import type {
  ObservedContainer,
  ObservedPod,
  ObservedSandbox,
} from "../../src/kubelet/state/observed-pods.ts";
import type { ProbeKind, ProbeOutcome } from "../../src/kubelet/state/probe-results.ts";
import { wallTime } from "../../src/lib/base/time.ts";
import type { ContainerId, SandboxId } from "../../src/lib/clients/cri/cri.ts";
import type { Container, Pod } from "../../src/lib/model/pod.ts";
import { isSidecar } from "../../src/lib/model/restart-policy.ts";
import { anObservedContainer, aSandbox, testUid } from "./pods.ts";

/** A runtime in memory that executes plans and records violations of invariants. For property tests. */
export class PlanModel {
  readonly violations: string[] = [];
  containers: ObservedContainer[] = [];
  sandboxes: ObservedSandbox[] = [];
  pod: Pod;
  readonly #probes = new Map<string, ProbeOutcome>();
  readonly #replaced = new Set<ContainerId>();
  /** "sandbox/name" of the init containers that have completed, even if their record is lost. */
  readonly #completed = new Set<string>();
  #nextId = 0;

  constructor(pod: Pod) {
    this.pod = pod;
  }

  get observed(): ObservedPod | undefined {
    if (this.sandboxes.length + this.containers.length === 0) return undefined;
    const { sandboxes, containers } = this;
    return { uid: testUid, name: "p", namespace: "default", sandboxes, containers };
  }

  plan(): PodPlan {
    const context: PlanContext = {
      wall: wallTime(0),
      hashOf: (container) => container.image ?? "",
      restartAt: () => undefined,
      probe: (kind, id) => this.#probes.get(`${kind}/${id}`),
      replaced: ({ id }) => this.#replaced.has(id),
    };
    return planPod(this.pod, this.observed, context);
  }

  /** Executes one plan. Stopped containers exit with that code, or keep running if the runtime cannot stop them. */
  act(plan: PodPlan, exitCode: number | "keeps running"): void {
    if (plan.restartsAll) this.#completed.clear();
    for (const { id } of plan.replaces) this.#replaced.add(id);
    if (plan.killAll !== undefined) {
      if (exitCode === "keeps running") return;
      for (const { id } of this.containers.filter(isLive)) this.exit(id, exitCode);
      this.sandboxes = this.sandboxes.map((s) => ({ ...s, state: "notready" }));
    }
    if (exitCode !== "keeps running")
      for (const { container } of plan.kill) this.exit(container.id, exitCode);
    this.containers = this.containers.filter((c) => !plan.removeContainers.some((r) => r.id === c.id));
    this.sandboxes = this.sandboxes.filter((s) => !plan.removeSandboxes.some((r) => r.id === s.id));
    if (plan.createSandbox) this.addSandbox({ attempt: plan.createSandbox.attempt });
    for (const action of plan.start) this.#start(plan, action);
  }

  addSandbox(more: Partial<ObservedSandbox>): void {
    this.sandboxes = [aSandbox({ id: `s${this.#nextId++}` as SandboxId, ...more }), ...this.sandboxes];
  }

  addContainer(name: string, more: Partial<ObservedContainer>): void {
    const id = `${name}-${this.#nextId++}` as ContainerId;
    this.containers = [anObservedContainer(name, { id, hash: "busybox:1", ...more }), ...this.containers];
  }

  /** Progress without faults: init containers complete, sidecars start. */
  settle(): void {
    for (const { id, name, state, sandboxId } of this.containers) {
      const init = this.#inits.find((c) => c.name === name);
      if (state !== "running" || !init) continue;
      if (!isSidecar(init)) this.exit(id, 0);
      else if (this.#probes.get(`startup/${id}`) !== "failure") {
        this.probe("startup", id, "success");
        this.#completed.add(`${sandboxId}/${name}`);
      }
    }
  }

  /** The runtime loses the record of a completed init container, when a later container implies it. */
  loseRecord(): void {
    const order = [...this.#inits, ...this.pod.spec.containers].map((c) => c.name);
    const lost = this.containers.find(
      (c) =>
        c.state === "exited" &&
        this.#inits.some((i) => i.name === c.name && !isSidecar(i)) &&
        this.containers.some(
          (later) => later.sandboxId === c.sandboxId && order.indexOf(later.name) > order.indexOf(c.name),
        ),
    );
    this.containers = this.containers.filter((c) => c !== lost);
  }

  /** A new agent knows only what the runtime reports. */
  restartAgent(): void {
    this.#replaced.clear();
  }

  probe(kind: ProbeKind, id: ContainerId, outcome: ProbeOutcome): void {
    this.#probes.set(`${kind}/${id}`, outcome);
  }

  exit(id: ContainerId, exitCode: number): void {
    this.containers = this.containers.map((c) => {
      if (c.id !== id || !isLive(c)) return c;
      if (exitCode === 0) this.#completed.add(`${c.sandboxId}/${c.name}`);
      return { ...c, state: "exited", exitCode, finishedAt: wallTime(1) };
    });
  }

  get #inits(): readonly Container[] {
    return this.pod.spec.initContainers ?? [];
  }

  #start({ sandbox }: PodPlan, { container, containerType, attempt }: StartAction): void {
    const note = (what: string) =>
      void this.violations.push(`${what}: ${containerType} ${container.name}#${attempt}`);
    if (sandbox?.state !== "ready") return note("started without a sandbox");
    const { name, image = "" } = container;
    if (this.containers.some((c) => c.name === name && isLive(c)))
      note("started while another instance runs");
    if (this.containers.some((c) => c.name === name && c.attempt >= attempt))
      note("started with a used attempt number");
    if (containerType !== "ephemeral") {
      const position = this.#inits.findIndex((c) => c.name === name);
      for (const init of position < 0 ? this.#inits : this.#inits.slice(0, position))
        if (!this.#completed.has(`${sandbox.id}/${init.name}`))
          note(`order: started before ${init.name} completed`);
    }
    if (containerType === "init" && this.#completed.has(`${sandbox.id}/${name}`))
      note("order: ran again in the same sandbox");
    this.addContainer(name, { sandboxId: sandbox.id, attempt, hash: image });
    if (containerType === "sidecar" && !container.startupProbe) this.#completed.add(`${sandbox.id}/${name}`);
  }
}
