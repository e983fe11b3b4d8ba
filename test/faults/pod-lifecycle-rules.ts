import type { PodWorker } from "../../src/kubelet/pipeline/pod-workers/pod-worker.ts";
import type { WorkerPhase } from "../../src/kubelet/state/pod-sync-status.ts";
import { ContainerState } from "../../src/lib/gen/runtime/v1/api_pb.js";
import { type Container, isStatic, type Pod, type PodId, type PodUid } from "../../src/lib/model/pod.ts";
import type { InMemoryRuntime } from "../fake-runtime/in-memory.ts";
import { type FakeContainer, isLive } from "../fake-runtime/pod-records.ts";

const workerRank: Record<WorkerPhase, number> = { syncing: 0, terminating: 1, terminated: 2 };
const phaseRank: Record<string, number> = { Pending: 0, Running: 1, Succeeded: 2, Failed: 2 };

/** Invariants of every history. Violations are recorded in `broken`. */
export class PodLifecycleRules {
  readonly broken: string[] = [];
  readonly #runtime: InMemoryRuntime;
  /** "sandbox/container" of init containers that have succeeded there, and of sidecars that were started there. */
  readonly #through = new Set<string>();
  /** "sandbox/container" of containers whose startup probe has succeeded there. */
  readonly #passed = new Set<string>();
  /** "uid/container" of ephemeral containers that were started. */
  readonly #debugged = new Set<string>();
  readonly #phases = new Map<PodUid, string>();
  readonly #workerPhases = new WeakMap<PodWorker, WorkerPhase>();
  /** The longest grace period of containers of a terminating pod. */
  readonly #graces = new Map<PodUid, number>();
  /** Pods whose containers changed without the agent: its knowledge may be incomplete. */
  readonly #meddledWith = new Set<string>();

  readonly #endBy = new Map<PodUid, number>();
  #faulty = false;
  readonly #vanishedFrom = new Set<string>();
  /** Pods for which something was done after the agent got an error for it. */
  readonly #lateFor = new Set<string>();

  constructor(runtime: InMemoryRuntime) {
    this.#runtime = runtime;
  }

  meddledWith(uid: string): void {
    this.#meddledWith.add(uid);
  }

  isMeddledWith(uid: string): boolean {
    return this.#meddledWith.has(uid);
  }

  vanishedFrom(uid: string): void {
    this.#vanishedFrom.add(uid);
    this.meddledWith(uid);
  }

  /** A startup probe has succeeded. */
  passed(id: string): void {
    const container = this.#runtime.pods.containers.get(id);
    if (container) this.#passed.add(placeOf(container));
  }

  /** A container is stopped for a probe, and replaced however it exits. */
  failedProbe(id: string): void {
    const container = this.#runtime.pods.containers.get(id);
    if (container) this.meddledWith(uidOf(container));
  }

  ranTwice(hook: string, id: string): void {
    const container = this.#runtime.pods.containers.get(id);
    this.#break(`${hook} of ${container ? nameOf(container) : "a container"} is run twice`);
  }

  wasDebugged(uid: PodUid, name: string): boolean {
    return this.#debugged.has(`${uid}/${name}`);
  }

  /** A pod that is added again with the same UID is another pod here. */
  unwanted(uid: PodUid): void {
    for (const key of this.#debugged) if (key.startsWith(`${uid}/`)) this.#debugged.delete(key);
  }

  /** The agent that knew it has exited. */
  newAgent(): void {
    this.#phases.clear();
    this.#graces.clear();
  }

  /** From now on, no container of the pod gets a longer grace period; without faults it ends by then. */
  mustEndWithin(uid: PodUid, seconds: number, now: number): void {
    this.#graces.set(uid, Math.min(seconds, this.#graces.get(uid) ?? seconds));
    const endBy = now + Math.max(2, seconds) * 1000 + 2000;
    this.#endBy.set(uid, Math.min(endBy, this.#endBy.get(uid) ?? endBy));
  }

  /** A fault: durations are unknown. */
  fault(): void {
    this.#endBy.clear();
    this.#faulty = true;
  }

  gone(uid: PodUid): void {
    this.#endBy.delete(uid);
    this.#phases.delete(uid);
    this.#graces.delete(uid);
    this.#meddledWith.delete(uid);
    this.#vanishedFrom.delete(uid);
    this.#lateFor.delete(uid);
  }

  /** An agent sends this call. */
  called(method: string, request: Record<string, unknown>, { worker }: AgentView): void {
    if (method === "RunPodSandbox")
      this.#mayBegin((request as unknown as SandboxRequest).config.metadata, { worker });
    if (method === "RunPodSandbox" || method === "CreateContainer") {
      const called = request as unknown as SandboxRequest;
      const { uid } = called.sandboxConfig?.metadata ?? called.config.metadata;
      const phase = worker(uid)?.phase;
      if (phase !== "syncing") this.#break(`${method} for ${uid}, which is ${phase ?? "nobody's"}`);
    }
    if (method === "RemoveContainer") {
      const container = this.#runtime.pods.containers.get(String(request.containerId));
      const { phase, pod } = (container && worker(uidOf(container))) ?? {};
      if (container && pod && phase === "syncing") this.#mayBeRemoved(container, pod);
    }
    if (method === "StopContainer") {
      const container = this.#runtime.pods.containers.get(String(request.containerId));
      const uid = container && uidOf(container);
      const limit = uid && this.#graces.get(uid);
      if (limit !== undefined && Number(request.timeout) > Math.max(2, limit))
        this.#break(`a container of ${uid} is given ${request.timeout} s, not ${limit} s`);
    }
  }

  /** The call takes effect now. */
  done(method: string, request: Record<string, unknown>, late: boolean, pods: readonly Pod[]): void {
    this.#note();
    if (late) this.#doneLate(request);
    if (method === "CreateContainer") {
      const { podSandboxId, config } = request as unknown as SandboxRequest & { podSandboxId: string };
      const sandbox = this.#runtime.pods.sandboxes.get(podSandboxId);
      const pod = pods.find((p) => p.metadata.uid === sandbox?.config.metadata?.uid);
      if (pod) this.#mayBeCreated(pod, podSandboxId, config.metadata.name);
    }
    if (method === "StartContainer") {
      const container = this.#runtime.pods.containers.get(String(request.containerId));
      if (container?.state !== ContainerState.CONTAINER_CREATED) return;
      const pod = pods.find((p) => p.metadata.uid === uidOf(container));
      if (pod) this.#debug(pod, container);
      if (late) this.meddledWith(uidOf(container));
      else if (pod) this.#mayBeStarted(container, pod);
    }
  }

  /** After every step. */
  look(workers: Iterable<PodWorker>, now: number): void {
    this.#note();
    const running = new Set<string>();
    for (const c of this.#runtime.pods.containers.values()) {
      if (!isLive(c)) continue;
      const key = `${uidOf(c)}/${nameOf(c)}`;
      if (running.has(key)) this.#break(`two containers run as ${key}`);
      running.add(key);
      const endBy = this.#endBy.get(uidOf(c));
      if (endBy !== undefined && now > endBy && !this.#faulty) this.#break(`${key} runs longer than it may`);
    }
    for (const worker of workers) {
      const before = this.#workerPhases.get(worker) ?? "syncing";
      if (workerRank[worker.phase] < workerRank[before])
        this.#break(`the worker of ${worker.id.uid} went back from ${before} to ${worker.phase}`);
      this.#workerPhases.set(worker, worker.phase);
    }
  }

  phase({ metadata: { uid }, spec }: Pod, phase: string): void {
    const before = this.#phases.get(uid) ?? "Pending";
    // Init containers run again in a new sandbox.
    const mayGoBack = before === "Running" && (spec.initContainers ?? []).length > 0;
    const back = (phaseRank[phase] ?? -1) < phaseRank[before]! && !mayGoBack;
    if (back || (phaseRank[before] === 2 && phase !== before))
      this.#break(`the phase of ${uid} went from ${before} to ${phase}`);
    this.#phases.set(uid, phase);
  }

  /** The agent got an error. */
  #doneLate({ containerId, podSandboxId }: Record<string, unknown>): void {
    const { containers, sandboxes } = this.#runtime.pods;
    const sandbox = containers.get(String(containerId))?.sandbox ?? sandboxes.get(String(podSandboxId));
    if (!sandbox) return;
    this.meddledWith(sandbox.config.metadata!.uid);
    this.#lateFor.add(sandbox.config.metadata!.uid);
  }

  #break(what: string): void {
    this.broken.push(what);
  }

  #note(): void {
    for (const c of this.#runtime.pods.containers.values()) {
      const sidecar = /^(side|gate)/.test(nameOf(c)) && c.state !== ContainerState.CONTAINER_CREATED;
      const succeeded = c.state === ContainerState.CONTAINER_EXITED && c.exitCode === 0;
      if (sidecar || succeeded) this.#through.add(placeOf(c));
    }
  }

  #mayBeCreated(pod: Pod, sandboxId: string, name: string): void {
    if (isDebugger(pod, name)) return;
    // Late results, from before the restart of all, look like new progress of the pod.
    if (this.#lateFor.has(pod.metadata.uid) && /^restartAll/.test(pod.metadata.labels?.kind ?? "")) return;
    this.#beginAgainIn(pod, sandboxId);
    for (const init of pod.spec.initContainers ?? []) {
      if (init.name === name) return;
      if (!this.#through.has(`${sandboxId}/${init.name}`))
        this.#break(`${pod.metadata.uid}/${name} is created before ${init.name} is through`);
      if (init.startupProbe && !this.#passed.has(`${sandboxId}/${init.name}`))
        this.#break(
          `${pod.metadata.uid}/${name} is created before the startup probe of ${init.name} is good`,
        );
    }
  }

  /** The one that triggers a restart of all is removed after all others: a later agent has to know too. */
  #mayBeRemoved(container: FakeContainer, pod: Pod): void {
    const { uid } = pod.metadata;
    const others = [...this.#runtime.pods.containers.values()].filter(
      (c) => c !== container && uidOf(c) === uid,
    );
    // Only the newest of a name is checked.
    if (others.some((c) => nameOf(c) === nameOf(container) && c.createdAt > container.createdAt)) return;
    if (this.#lateFor.has(uid) || !restartsAll(container, pod)) return;
    for (const other of others)
      if (!restartsAll(other, pod) && !isDebugger(pod, nameOf(other)))
        this.#break(
          `${uid}/${nameOf(container)} triggers a restart of all, and is removed before ${nameOf(other)}`,
        );
  }

  /** When all containers of a pod were removed to be restarted, what they did before does not count. */
  #beginAgainIn(pod: Pod, sandboxId: string): void {
    const { uid } = pod.metadata;
    if (this.#lateFor.has(uid) || this.#vanishedFrom.has(uid)) return;
    for (const c of this.#runtime.pods.containers.values())
      if (c.sandbox.id === sandboxId && !isDebugger(pod, nameOf(c))) return;
    for (const places of [this.#through, this.#passed])
      for (const place of places) if (place.startsWith(`${sandboxId}/`)) places.delete(place);
  }

  /** An ephemeral container is started once, however it ends. */
  #debug(pod: Pod, container: FakeContainer): void {
    const { uid } = pod.metadata;
    if (!isDebugger(pod, nameOf(container))) return;
    const key = `${uid}/${nameOf(container)}`;
    if (this.#debugged.has(key) && !this.#lateFor.has(uid) && !this.#vanishedFrom.has(uid))
      this.#break(`the ephemeral container ${key} is started a second time`);
    this.#debugged.add(key);
  }

  /**
   * An edited static pod starts when the previous one has terminated.
   */
  #mayBegin({ uid, name }: PodId, { worker }: AgentView): void {
    const pod = worker(uid)?.pod;
    if (!pod || !isStatic(pod)) return;
    for (const c of this.#runtime.pods.containers.values()) {
      const other = uidOf(c);
      if (other === uid || c.sandbox.config.metadata?.name !== name || this.#meddledWith.has(other)) continue;
      if (c.state === ContainerState.CONTAINER_RUNNING)
        this.#break(`${uid} begins, and ${nameOf(c)} of ${other} runs`);
    }
  }

  /** Completed containers are not started again. */
  #mayBeStarted(container: FakeContainer, pod: Pod): void {
    const name = nameOf(container);
    const spec = pod.spec.containers.find((c) => c.name === name);
    if (!spec || this.#meddledWith.has(pod.metadata.uid)) return;
    for (const former of this.#runtime.pods.containers.values()) {
      if (former === container || uidOf(former) !== uidOf(container) || nameOf(former) !== name) continue;
      if (former.startedAt > 0n && !mayFollow(pod, spec, former.exitCode))
        this.#break(`${pod.metadata.uid}/${name} is started again after it exited with ${former.exitCode}`);
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

/** Whether a container that exited so is restarted. */
export function mayFollow(pod: Pod, container: Container, exitCode: number): boolean {
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

/** What the rules need to know about the calling agent. */
export interface AgentView {
  worker(uid: PodUid): PodWorker | undefined;
}

interface SandboxRequest {
  config: { metadata: PodId };
  sandboxConfig?: { metadata: { uid: PodUid } };
}

export function uidOf(container: FakeContainer): PodUid {
  return container.sandbox.config.metadata!.uid as PodUid;
}

function isDebugger(pod: Pod, name: string): boolean {
  return pod.spec.ephemeralContainers?.some((c) => c.name === name) ?? false;
}

/** "sandbox/container". */
function placeOf(container: FakeContainer): string {
  return `${container.sandbox.id}/${nameOf(container)}`;
}

export function nameOf(container: FakeContainer): string {
  return container.config.metadata!.name;
}
