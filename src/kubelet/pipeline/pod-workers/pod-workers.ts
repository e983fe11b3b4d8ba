import { whenAborted } from "../../../lib/base/abort.ts";
import type { Clock } from "../../../lib/base/clock.ts";
import type { Component } from "../../../lib/base/component.ts";
import type { Logger } from "../../../lib/base/logger.ts";
import { fullNameOf, isStatic, type Pod, type PodId, type PodUid } from "../../../lib/model/pod.ts";
import type { PodFailure } from "../../../lib/model/pod-failure.ts";
import type { Step } from "../../../lib/model/pod-step.ts";
import type { WorkerPhase } from "../../state/pod-sync-status.ts";
import type { WorkerStates } from "../../state/worker-states.ts";
import type { PodSyncer, TerminateOptions } from "./pod-syncer.ts";
import { PodWorker } from "./pod-worker.ts";
import type { WorkerMetrics } from "./worker-metrics.ts";

export interface PodWorkersOptions {
  syncer: PodSyncer;
  /** Where the workers are registered. */
  states: WorkerStates;
  clock: Clock;
  logger: Logger;
  syncEveryMs: () => number;
  /** Earlier versions of this static pod that are still in the runtime. */
  previousVersions: (pod: Pod) => PodId[];
  /** Why, and how quickly, a previous agent was terminating this pod: it never runs again. */
  evictedPods?: { get(uid: PodUid): Pick<TerminateOptions, "failure" | "graceSeconds"> | undefined };
  /** Something has changed that the status of the pod depends on. */
  onChange: (uid: PodUid) => void;
  /** The pod waits for something else; its status is the same. */
  onStep?: (uid: PodUid) => void;
  /** A pod was added, terminates, or has terminated. */
  onPhase?: (uid: PodUid, phase: WorkerPhase) => void;
  /** The failure of a pod was set: it has failed. */
  onFailure?: (pod: Pod, failure: PodFailure) => void;
  /** A pod and everything that belonged to it is removed. */
  onGone: (uid: PodUid, worker: PodWorker) => void;
  metrics?: WorkerMetrics;
}

/** One serial worker per pod UID; workers of different pods run concurrently. */
export class PodWorkers implements Component {
  readonly name = "pod-workers";
  readonly #o: PodWorkersOptions;
  #workers = new Map<PodUid, PodWorker>();
  /** Pods that were removed and added again, with the same UID, before their worker had finished. */
  #successors = new Map<PodUid, Pod>();
  #isHeld = true;
  #stopping = false;
  #done = Promise.withResolvers<void>();

  constructor(options: PodWorkersOptions) {
    this.#o = options;
  }

  get done(): Promise<void> {
    return this.#done.promise;
  }

  async start(signal: AbortSignal): Promise<void> {
    whenAborted(signal, () => this.#abandonAll());
  }

  /** Starts the workers. Before the first relist they only collect changes, or a container could be started twice. */
  release(): void {
    if (!this.#isHeld) return;
    this.#isHeld = false;
    for (const worker of this.#workers.values()) worker.start();
  }

  /** The pod should run with this spec, or terminate if it is being deleted. */
  update(pod: Pod, changed?: "spec" | "status"): void {
    const worker = this.#workers.get(pod.metadata.uid);
    if (!worker) {
      this.#add(idOf(pod), pod);
      const eviction = this.#o.evictedPods?.get(pod.metadata.uid);
      if (eviction) this.evict(pod.metadata.uid, eviction);
    } else {
      if (worker.removed) this.#successors.set(pod.metadata.uid, pod);
      // A deletion also applies to the old worker, which may have to terminate its pod sooner.
      worker.update(pod, changed);
    }
  }

  /** The pod should terminate. */
  terminate(uid: PodUid, options: TerminateOptions): void {
    if (options.removed) this.#successors.delete(uid);
    this.#workers.get(uid)?.terminate(options);
  }

  /** Terminates an admitted pod that may not run here after all. */
  reject(uid: PodUid, failure: PodFailure): void {
    this.#o.metrics?.rejected(failure.reason);
    this.terminate(uid, { removed: false, failure });
  }

  /** Terminates a pod to free resources. */
  evict(uid: PodUid, eviction: Pick<TerminateOptions, "failure" | "graceSeconds">): void {
    this.terminate(uid, { removed: false, evicted: true, ...eviction });
  }

  /** Passes on the readiness in the pod's status. `why` is the reason if the pod is not ready and its worker has nothing to do. */
  readiness(uid: PodUid, isReady: boolean, why: Step | undefined): void {
    this.#workers.get(uid)?.readiness(isReady, why);
  }

  /** Terminates a pod that is in the runtime and in no source. */
  terminateOrphan(id: PodId): void {
    if (this.#workers.has(id.uid)) return;
    this.#o.metrics?.orphanFound(id.uid);
    this.#add(id, undefined);
  }

  wake(uid: PodUid): void {
    this.#workers.get(uid)?.wake();
  }

  wakeAll(): void {
    for (const worker of this.#workers.values()) worker.wake();
  }

  /** Wakes the pods that were not admitted yet: one may wait for resources of another that has terminated. */
  wakeWaiting(): void {
    for (const worker of this.#workers.values()) if (!worker.started) worker.wake();
  }

  #add(id: PodId, pod: Pod | undefined): void {
    if (this.#stopping) return;
    const { syncer, clock, logger, syncEveryMs, metrics } = this.#o;
    const worker: PodWorker = new PodWorker({
      id,
      pod,
      syncer,
      clock,
      logger,
      syncEveryMs,
      metrics,
      beforeStart: () => this.#terminatePrevious(worker),
      startBlocker: () => this.#startBlocker(worker),
      startsAgain: () => keepsContainers(this.#successors.get(id.uid)),
      onChange: () => {
        this.#o.onChange(id.uid);
        if (worker.phase === "terminated") this.#wakeSameName(worker);
      },
      onStep: () => this.#o.onStep?.(id.uid),
      onPhase: (phase) => this.#o.onPhase?.(id.uid, phase),
      onFailure: (failure) => worker.pod && this.#o.onFailure?.(worker.pod, failure),
      onFinished: () => this.#finished(worker),
    });
    this.#workers.set(id.uid, worker);
    this.#o.states.set(worker);
    this.#o.onPhase?.(id.uid, worker.phase);
    if (this.#isHeld) worker.hold("waiting for the first response from the container runtime");
    else worker.start();
    this.#o.onChange(id.uid);
  }

  #finished(worker: PodWorker): void {
    const { uid } = worker.id;
    this.#workers.delete(uid);
    this.#o.states.delete(uid);
    const successor = this.#successors.get(uid);
    this.#successors.delete(uid);
    this.#o.onGone(uid, worker);
    if (successor) {
      this.#o.metrics?.restarted(successor);
      this.#add(idOf(successor), successor);
    }
    this.#wakeSameName(worker);
  }

  /** A static pod that was edited has a new UID and the old name. */
  #terminatePrevious({ pod }: PodWorker): void {
    if (!pod || !isStatic(pod)) return;
    for (const previous of this.#o.previousVersions(pod)) this.terminateOrphan(previous);
  }

  /** A static pod starts when pods of the same name have terminated. */
  #startBlocker(worker: PodWorker): string | undefined {
    if (!worker.pod || !isStatic(worker.pod)) return undefined;
    for (const other of this.#workers.values()) {
      if (other === worker || !sameName(other, worker)) continue;
      if (other.started && other.phase !== "terminated")
        return `waiting for pod ${other.id.uid} of the same name to terminate`;
    }
    return undefined;
  }

  #wakeSameName(worker: PodWorker): void {
    for (const other of this.#workers.values())
      if (other !== worker && !other.started && sameName(other, worker)) other.wake();
  }

  #abandonAll(): void {
    this.#stopping = true;
    const loops = [...this.#workers.values()].map((worker) => {
      worker.abandon();
      return worker.done;
    });
    Promise.allSettled(loops).then(
      () => this.#done.resolve(),
      () => this.#done.resolve(),
    );
  }
}

/**
 * True for a static pod whose restart counts continue from its old containers. If a container may not run twice, or the pod has a
 * deadline, the old containers must be removed: otherwise the pod would terminate before it starts.
 */
function keepsContainers(pod: Pod | undefined): boolean {
  if (!pod || !isStatic(pod) || (pod.spec.restartPolicy ?? "Always") !== "Always") return false;
  if (pod.spec.activeDeadlineSeconds !== undefined) return false;
  return pod.spec.containers.every(({ restartPolicy }) => (restartPolicy ?? "Always") === "Always");
}

function idOf(pod: Pod): PodId {
  const { uid, name, namespace } = pod.metadata;
  return { uid, name, namespace };
}

function sameName(a: PodWorker, b: PodWorker): boolean {
  return fullNameOf({ metadata: a.id }) === fullNameOf({ metadata: b.id });
}
