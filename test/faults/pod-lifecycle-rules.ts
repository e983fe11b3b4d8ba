import type { PodSyncStatus, WorkerPhase } from "../../src/kubelet/state/pod-sync-status.ts";
import { ContainerState } from "../../src/lib/gen/runtime/v1/api_pb.js";
import { type Container, isStatic, type Pod, type PodId, type PodUid } from "../../src/lib/model/pod.ts";
import type { InMemoryRuntime } from "../fake-runtime/in-memory.ts";
import { type FakeContainer, isLive } from "../fake-runtime/pod-records.ts";

const workerRank: Record<WorkerPhase, number> = { syncing: 0, terminating: 1, terminated: 2 };
const phaseRank: Record<string, number> = { Pending: 0, Running: 1, Succeeded: 2, Failed: 2 };

/** Invariants of every history. Violations are recorded. */
export class PodLifecycleRules {
  readonly violations: string[] = [];
  readonly #runtime: InMemoryRuntime;
  /** "sandbox/container" of init containers that have succeeded, and of sidecars that were started. */
  readonly #completed = new Set<string>();
  /** "sandbox/container" of containers whose startup probe has succeeded. */
  readonly #startupSucceeded = new Set<string>();
  /** "uid/container" of ephemeral containers that were started. */
  readonly #startedEphemeral = new Set<string>();
  readonly #phases = new Map<PodUid, string>();
  readonly #workerPhases = new WeakMap<PodSyncStatus, WorkerPhase>();
  /** The longest grace period of containers of a terminating pod. */
  readonly #gracePeriods = new Map<PodUid, number>();
  /** Pods whose containers changed without the agent, which may not know all of their history. */
  readonly #disturbed = new Set<string>();

  readonly #deadline = new Map<PodUid, number>();
  #faulty = false;
  readonly #lostContainer = new Set<string>();
  /** Pods for which a call took effect after the agent got an error for it. */
  readonly #hadLateCall = new Set<string>();

  constructor(runtime: InMemoryRuntime) {
    this.#runtime = runtime;
  }

  disturbed(uid: string): void {
    this.#disturbed.add(uid);
  }

  isDisturbed(uid: string): boolean {
    return this.#disturbed.has(uid);
  }

  lostContainer(uid: string): void {
    this.#lostContainer.add(uid);
    this.disturbed(uid);
  }

  /** A startup probe has succeeded. */
  startupSucceeded(id: string): void {
    const container = this.#runtime.pods.containers.get(id);
    if (container) this.#startupSucceeded.add(keyOf(container));
  }

  /** A container whose probe failed is stopped and replaced, regardless of its exit code. */
  failedProbe(id: string): void {
    const container = this.#runtime.pods.containers.get(id);
    if (container) this.disturbed(uidOf(container));
  }

  ranTwice(hook: string, id: string): void {
    const container = this.#runtime.pods.containers.get(id);
    this.#report(`${hook} of ${container ? nameOf(container) : "a container"} ran twice`);
  }

  wasStarted(uid: PodUid, name: string): boolean {
    return this.#startedEphemeral.has(`${uid}/${name}`);
  }

  /** A pod that is added again with the same UID counts as another pod. */
  removed(uid: PodUid): void {
    for (const key of this.#startedEphemeral)
      if (key.startsWith(`${uid}/`)) this.#startedEphemeral.delete(key);
  }

  /** The next agent has none of the state of the previous one. */
  agentStarted(): void {
    this.#phases.clear();
    this.#gracePeriods.clear();
  }

  /** From now on, no container of the pod gets a longer grace period; without faults the pod terminates within it. */
  mustTerminateWithin(uid: PodUid, seconds: number, now: number): void {
    this.#gracePeriods.set(uid, Math.min(seconds, this.#gracePeriods.get(uid) ?? seconds));
    const deadline = now + Math.max(2, seconds) * 1000 + 2000;
    this.#deadline.set(uid, Math.min(deadline, this.#deadline.get(uid) ?? deadline));
  }

  /** After a fault, durations are unknown. */
  fault(): void {
    this.#deadline.clear();
    this.#faulty = true;
  }

  gone(uid: PodUid): void {
    this.#deadline.delete(uid);
    this.#phases.delete(uid);
    this.#gracePeriods.delete(uid);
    this.#disturbed.delete(uid);
    this.#lostContainer.delete(uid);
    this.#hadLateCall.delete(uid);
  }

  /** An agent sends this call. */
  called(method: string, request: Record<string, unknown>, { worker }: AgentView): void {
    if (method === "RunPodSandbox")
      this.#checkSandbox((request as unknown as SandboxRequest).config.metadata, { worker });
    if (method === "RunPodSandbox" || method === "CreateContainer") {
      const called = request as unknown as SandboxRequest;
      const { uid } = called.sandboxConfig?.metadata ?? called.config.metadata;
      const phase = worker(uid)?.phase;
      if (phase !== "syncing") this.#report(`${method} for ${uid}, whose worker is ${phase ?? "missing"}`);
    }
    if (method === "RemoveContainer") {
      const container = this.#runtime.pods.containers.get(String(request.containerId));
      const { phase, pod } = (container && worker(uidOf(container))) ?? {};
      if (container && pod && phase === "syncing") this.#checkRemove(container, pod);
    }
    if (method === "StopContainer") {
      const container = this.#runtime.pods.containers.get(String(request.containerId));
      const uid = container && uidOf(container);
      const limit = uid && this.#gracePeriods.get(uid);
      if (limit !== undefined && Number(request.timeout) > Math.max(2, limit))
        this.#report(`a container of ${uid} gets a grace period of ${request.timeout} s, not ${limit} s`);
    }
  }

  /** The call takes effect now. */
  executed(method: string, request: Record<string, unknown>, late: boolean, pods: readonly Pod[]): void {
    this.#recordProgress();
    if (late) this.#executedLate(request);
    if (method === "CreateContainer") {
      const { podSandboxId, config } = request as unknown as SandboxRequest & { podSandboxId: string };
      const sandbox = this.#runtime.pods.sandboxes.get(podSandboxId);
      const pod = pods.find((p) => p.metadata.uid === sandbox?.config.metadata?.uid);
      if (pod) this.#checkCreate(pod, podSandboxId, config.metadata.name);
    }
    if (method === "StartContainer") {
      const container = this.#runtime.pods.containers.get(String(request.containerId));
      if (container?.state !== ContainerState.CONTAINER_CREATED) return;
      const pod = pods.find((p) => p.metadata.uid === uidOf(container));
      if (pod) this.#checkEphemeral(pod, container);
      if (late) this.disturbed(uidOf(container));
      else if (pod) this.#checkStart(container, pod);
    }
  }

  /** After every step. */
  check(workers: Iterable<PodSyncStatus>, now: number): void {
    this.#recordProgress();
    const running = new Set<string>();
    for (const c of this.#runtime.pods.containers.values()) {
      if (!isLive(c)) continue;
      const key = `${uidOf(c)}/${nameOf(c)}`;
      if (running.has(key)) this.#report(`two containers run as ${key}`);
      running.add(key);
      const deadline = this.#deadline.get(uidOf(c));
      if (deadline !== undefined && now > deadline && !this.#faulty)
        this.#report(`${key} runs longer than its grace period`);
    }
    for (const worker of workers) {
      const before = this.#workerPhases.get(worker) ?? "syncing";
      if (workerRank[worker.phase] < workerRank[before])
        this.#report(`the worker of ${worker.id.uid} went back from ${before} to ${worker.phase}`);
      this.#workerPhases.set(worker, worker.phase);
    }
  }

  phase({ metadata: { uid }, spec }: Pod, phase: string): void {
    const before = this.#phases.get(uid) ?? "Pending";
    // Init containers run again in a new sandbox.
    const mayGoBack = before === "Running" && (spec.initContainers ?? []).length > 0;
    const back = (phaseRank[phase] ?? -1) < phaseRank[before]! && !mayGoBack;
    if (back || (phaseRank[before] === 2 && phase !== before))
      this.#report(`the phase of ${uid} went from ${before} to ${phase}`);
    this.#phases.set(uid, phase);
  }

  /** The agent got an error. */
  #executedLate({ containerId, podSandboxId }: Record<string, unknown>): void {
    const { containers, sandboxes } = this.#runtime.pods;
    const sandbox = containers.get(String(containerId))?.sandbox ?? sandboxes.get(String(podSandboxId));
    if (!sandbox) return;
    this.disturbed(sandbox.config.metadata!.uid);
    this.#hadLateCall.add(sandbox.config.metadata!.uid);
  }

  #report(what: string): void {
    this.violations.push(what);
  }

  #recordProgress(): void {
    for (const c of this.#runtime.pods.containers.values()) {
      const sidecar = /^(side|gate)/.test(nameOf(c)) && c.state !== ContainerState.CONTAINER_CREATED;
      const succeeded = c.state === ContainerState.CONTAINER_EXITED && c.exitCode === 0;
      if (sidecar || succeeded) this.#completed.add(keyOf(c));
    }
  }

  #checkCreate(pod: Pod, sandboxId: string, name: string): void {
    if (isEphemeral(pod, name)) return;
    // Late results of containers before the restart would look like progress after it.
    if (this.#hadLateCall.has(pod.metadata.uid) && /^restartAll/.test(pod.metadata.labels?.kind ?? ""))
      return;
    this.#resetProgress(pod, sandboxId);
    for (const init of pod.spec.initContainers ?? []) {
      if (init.name === name) return;
      if (!this.#completed.has(`${sandboxId}/${init.name}`))
        this.#report(`${pod.metadata.uid}/${name} is created before ${init.name} completed`);
      if (init.startupProbe && !this.#startupSucceeded.has(`${sandboxId}/${init.name}`))
        this.#report(
          `${pod.metadata.uid}/${name} is created before the startup probe of ${init.name} succeeded`,
        );
    }
  }

  /** The container that triggers RestartAllContainers is removed last, so that the next agent can continue the restart. */
  #checkRemove(container: FakeContainer, pod: Pod): void {
    const { uid } = pod.metadata;
    const others = [...this.#runtime.pods.containers.values()].filter(
      (c) => c !== container && uidOf(c) === uid,
    );
    // Only the newest of a name is checked.
    if (others.some((c) => nameOf(c) === nameOf(container) && c.createdAt > container.createdAt)) return;
    if (this.#hadLateCall.has(uid) || !restartsAll(container, pod)) return;
    for (const other of others)
      if (!restartsAll(other, pod) && !isEphemeral(pod, nameOf(other)))
        this.#report(
          `${uid}/${nameOf(container)} triggers RestartAllContainers and is removed before ${nameOf(other)}`,
        );
  }

  /** Once all containers of a pod were removed in order to restart them, their progress starts from the beginning. */
  #resetProgress(pod: Pod, sandboxId: string): void {
    const { uid } = pod.metadata;
    if (this.#hadLateCall.has(uid) || this.#lostContainer.has(uid)) return;
    for (const c of this.#runtime.pods.containers.values())
      if (c.sandbox.id === sandboxId && !isEphemeral(pod, nameOf(c))) return;
    for (const keys of [this.#completed, this.#startupSucceeded])
      for (const key of keys) if (key.startsWith(`${sandboxId}/`)) keys.delete(key);
  }

  /** An ephemeral container is started once, regardless of its exit code. */
  #checkEphemeral(pod: Pod, container: FakeContainer): void {
    const { uid } = pod.metadata;
    if (!isEphemeral(pod, nameOf(container))) return;
    const key = `${uid}/${nameOf(container)}`;
    if (this.#startedEphemeral.has(key) && !this.#hadLateCall.has(uid) && !this.#lostContainer.has(uid))
      this.#report(`the ephemeral container ${key} is started a second time`);
    this.#startedEphemeral.add(key);
  }

  /**
   * An edited static pod starts when the previous one has terminated.
   */
  #checkSandbox({ uid, name }: PodId, { worker }: AgentView): void {
    const pod = worker(uid)?.pod;
    if (!pod || !isStatic(pod)) return;
    for (const c of this.#runtime.pods.containers.values()) {
      const other = uidOf(c);
      if (other === uid || c.sandbox.config.metadata?.name !== name || this.#disturbed.has(other)) continue;
      if (c.state === ContainerState.CONTAINER_RUNNING)
        this.#report(`${uid} starts while ${nameOf(c)} of ${other} runs`);
    }
  }

  /** Completed containers are not started again. */
  #checkStart(container: FakeContainer, pod: Pod): void {
    const name = nameOf(container);
    const spec = pod.spec.containers.find((c) => c.name === name);
    if (!spec || this.#disturbed.has(pod.metadata.uid)) return;
    for (const previous of this.#runtime.pods.containers.values()) {
      if (previous === container || uidOf(previous) !== uidOf(container) || nameOf(previous) !== name)
        continue;
      if (previous.startedAt > 0n && !isRestarted(pod, spec, previous.exitCode))
        this.#report(
          `${pod.metadata.uid}/${name} is started again after it exited with ${previous.exitCode}`,
        );
    }
  }
}

function restartsAll(container: FakeContainer, pod: Pod): boolean {
  const rules = pod.spec.containers.find((c) => c.name === nameOf(container))?.restartPolicyRules ?? [];
  return (
    container.state === ContainerState.CONTAINER_EXITED &&
    rules.some(
      (r) => r.action === "RestartAllContainers" && r.exitCodes?.values?.includes(container.exitCode),
    )
  );
}

/** Whether a container with this exit code is restarted. */
export function isRestarted(pod: Pod, container: Container, exitCode: number): boolean {
  const rules = container.restartPolicyRules ?? [];
  if (rules.some(({ exitCodes }) => exitCodes?.values?.includes(exitCode))) return true;
  switch (container.restartPolicy ?? pod.spec.restartPolicy) {
    case "Never":
      return false;
    case "OnFailure":
      return exitCode !== 0;
    default:
      return true;
  }
}

/** The facts about the calling agent that the rules need. */
export interface AgentView {
  worker(uid: PodUid): PodSyncStatus | undefined;
}

interface SandboxRequest {
  config: { metadata: PodId };
  sandboxConfig?: { metadata: { uid: PodUid } };
}

export function uidOf(container: FakeContainer): PodUid {
  return container.sandbox.config.metadata!.uid as PodUid;
}

function isEphemeral(pod: Pod, name: string): boolean {
  return pod.spec.ephemeralContainers?.some((c) => c.name === name) ?? false;
}

/** "sandbox/container". */
function keyOf(container: FakeContainer): string {
  return `${container.sandbox.id}/${nameOf(container)}`;
}

export function nameOf(container: FakeContainer): string {
  return container.config.metadata!.name;
}
