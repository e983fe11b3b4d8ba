import { type Clock, monotonicOf, msFromNow, msSince, msUntil, wallTimeOf } from "../../../lib/base/clock.ts";
import { abortError, messageOf, retryAtOf } from "../../../lib/base/errors.ts";
import type { Logger } from "../../../lib/base/logger.ts";
import { earliest, epochMs, type MonotonicTime, type WallTime } from "../../../lib/base/time.ts";
import type { Pod, PodId } from "../../../lib/model/pod.ts";
import type { PodFailure } from "../../../lib/model/pod-failure.ts";
import type { Step } from "../../../lib/model/pod-step.ts";
import type { Waiting } from "../../../lib/model/pod-sync.ts";
import type { PodSyncStatus, WorkerPhase } from "../../state/pod-sync-status.ts";
import type { StepHistory } from "../../state/step-history.ts";
import { effectiveGraceSeconds } from "./grace.ts";
import { deadlineExceeded, type PodSyncer, type TerminateOptions } from "./pod-syncer.ts";
import { SyncTimer } from "./sync-timer.ts";
import type { SyncKind, WorkerMetrics } from "./worker-metrics.ts";
import { WorkerReport } from "./worker-report.ts";

/** The lifecycle phase of a pod, with its state. */
type PhaseState =
  | { phase: "syncing"; started: boolean }
  | { phase: "terminating"; graceSeconds: number }
  | { phase: "terminated"; graceSeconds: number; resourcesReclaimed: boolean };

export interface PodWorkerOptions {
  id: PodId;
  /** Undefined for an orphan, which can only be terminated. */
  pod: Pod | undefined;
  syncer: PodSyncer;
  clock: Clock;
  logger: Logger;
  /** How often a pod is synced without a request. */
  syncEveryMs: () => number;
  /** Terminates what has to be gone before the pod starts. */
  beforeStart?: () => void;
  /** Undefined if the pod may start, otherwise what it waits for. */
  startBlocker: () => string | undefined;
  /** True if the pod starts again when this worker has finished: its dead containers are kept, and restart counts continue from them. */
  startsAgain?: () => boolean;
  /** Something has changed that the status of the pod depends on. */
  onChange: () => void;
  /** The pod waits for something else; its status is the same. */
  onStep?: () => void;
  onPhase: (phase: WorkerPhase) => void;
  onFailure?: (failure: PodFailure) => void;
  onFinished: () => void;
  metrics?: Pick<WorkerMetrics, "started" | "rejected" | "synced">;
}

const initialRetryMs = 500;
const maxRetryMs = 10_000;

/**
 * The lifecycle of one pod: syncing, then terminating, then terminated, never back. Its syncs are serial; a change that arrives during a
 * sync is handled by the next one, and a request to terminate, or to terminate sooner, aborts the sync.
 */
export class PodWorker implements PodSyncStatus {
  readonly id: PodId;
  readonly #o: PodWorkerOptions;
  #pod: Pod | undefined;
  #state: PhaseState;
  #failure: PodFailure | undefined;
  #rejected = false;
  /** Why nothing of the pod will run again, if its containers do not show it. */
  #finishedReason: string | undefined;
  #removed = false;
  #evicted = false;
  #terminatedByItself = false;
  #finished = false;
  readonly #report: WorkerReport;
  #syncAbort: AbortController | undefined;
  readonly #timer: SyncTimer;
  #dirty = false;
  #specChanged = false;
  #syncKind: SyncKind | undefined;
  #wake: (() => void) | undefined;
  #cancelTimer: (() => void) | undefined;
  #cancelDeadline: (() => void) | undefined;
  #active: { since: WallTime; from: MonotonicTime } | undefined;
  #failures = 0;
  #lastError = "";
  #stopped = false;
  #loop: Promise<void>;

  constructor(options: PodWorkerOptions) {
    const { pod } = options;
    this.#o = options;
    this.#report = new WorkerReport(options.clock, {
      step: () => options.onStep?.(),
      waiting: options.onChange,
    });
    this.#timer = new SyncTimer(options.clock, options.metrics);
    this.id = options.id;
    this.#pod = pod;
    // A pod that is already being deleted when it is first seen is never started.
    this.#state =
      pod && pod.metadata.deletionTimestamp === undefined
        ? { phase: "syncing", started: false }
        : { phase: "terminating", graceSeconds: effectiveGraceSeconds(pod, undefined, undefined) };
    this.#removed = !pod;
    this.#loop = Promise.resolve();
  }

  get phase(): WorkerPhase {
    return this.#state.phase;
  }

  get pod(): Pod | undefined {
    return this.#pod;
  }

  /** Why the pod has failed, if that was decided here. */
  get failure(): PodFailure | undefined {
    return this.#failure;
  }

  /** True if the pod was not admitted: this agent never synced it. */
  get rejected(): boolean {
    return this.#rejected;
  }

  /** True if the pod terminated before its termination was requested. */
  get terminatedByItself(): boolean {
    return this.#terminatedByItself;
  }

  /** True once the pod may have something in the runtime. */
  get started(): boolean {
    return this.#state.phase !== "syncing" || this.#state.started;
  }

  /** True once volumes and cgroup of the terminated pod are removed. */
  get resourcesReclaimed(): boolean {
    return this.#state.phase === "terminated" && this.#state.resourcesReclaimed;
  }

  get removed(): boolean {
    return this.#removed;
  }

  /** True if the kubelet terminates the pod to free resources. */
  get evicted(): boolean {
    return this.#evicted;
  }

  get blockedOn(): { text: string; since: number } | undefined {
    return this.#report.current;
  }

  /** The steps that the pod waited for, and waits for now. */
  get history(): StepHistory {
    return this.#report.history;
  }

  get waiting(): ReadonlyMap<string, Waiting> {
    return this.#report.containers;
  }

  get done(): Promise<void> {
    return this.#loop;
  }

  /** Reports why the worker is not started yet. */
  hold(reason: string): void {
    this.#report.blockedOn(reason, { kind: "admission" });
  }

  /** Whether the pod is ready by its status, and why not if its worker can do nothing about it. */
  readiness(isReady: boolean, why: Step | undefined): void {
    if (this.#state.phase === "syncing") this.#report.readiness(isReady, why);
  }

  start(): void {
    this.wake();
    this.#loop = this.#run();
  }

  /**
   * The pod's spec or status has changed. Once the pod terminates, only a shorter grace period has an effect. A failed sync still waits for its
   * retry if only the status changed: usually this agent has written it because of the failure.
   */
  update(pod: Pod, changed: "spec" | "status" = "spec"): void {
    const { deletionTimestamp, deletionGracePeriodSeconds } = pod.metadata;
    if (this.#state.phase === "syncing") {
      this.#pod = pod;
      this.#specChanged = true;
      if (this.#state.started) this.#watchDeadline();
      if (changed === "spec" || this.#failures === 0 || this.#syncAbort) this.wake();
      // The status depends on the spec too.
      this.#o.onChange();
    }
    if (deletionTimestamp !== undefined)
      this.terminate({ removed: false, graceSeconds: deletionGracePeriodSeconds });
  }

  /** Something about the pod may have changed: sync it, without waiting for a retry that is due later. */
  wake(): void {
    this.#timer.request();
    this.#dirty = true;
    this.#wake?.();
  }

  terminate({ removed, graceSeconds, failure, evicted = false }: TerminateOptions): void {
    this.#setFailure(failure);
    this.#evicted ||= evicted;
    const newlyRemoved = removed && !this.#removed;
    this.#removed ||= removed;
    const state = this.#state;
    switch (state.phase) {
      case "syncing":
        // It may have terminated on its own during the current sync.
        if (this.#pod && this.#o.syncer.isTerminal(this.#pod)) this.#terminatedByItself = true;
        this.#enter({
          phase: "terminating",
          graceSeconds: effectiveGraceSeconds(this.#pod, undefined, graceSeconds),
        });
        if (this.#syncAbort)
          this.#report.blockedOn("waiting for the current runtime call to finish", { kind: "stop" });
        this.#syncAbort?.abort(abortError("the pod is being terminated"));
        break;
      case "terminating": {
        const grace = effectiveGraceSeconds(this.#pod, state.graceSeconds, graceSeconds);
        if (grace !== state.graceSeconds) {
          state.graceSeconds = grace;
          this.#syncAbort?.abort(abortError("the pod has to terminate sooner"));
        } else if (!newlyRemoved) return;
        break;
      }
      case "terminated":
        state.graceSeconds = effectiveGraceSeconds(this.#pod, state.graceSeconds, graceSeconds);
        if (!newlyRemoved) return;
        break;
      default:
        state satisfies never;
    }
    this.#failures = 0;
    this.wake();
  }

  /** Stops the worker, not the pod: the agent exits, the containers keep running. */
  abandon(): void {
    this.#stopped = true;
    this.#cancelTimer?.();
    this.#cancelDeadline?.();
    this.#syncAbort?.abort(abortError("the agent is stopping"));
    this.#wake?.();
  }

  async #run(): Promise<void> {
    while (!this.#finished && !this.#stopped) {
      await this.#untilRequested();
      if (this.#stopped) return;
      this.#dirty = false;
      this.#cancelTimer?.();
      const abort = new AbortController();
      this.#syncAbort = abort;
      const finishMeasure = this.#measure();
      try {
        await this.#syncOnce(abort.signal);
        this.#failures = 0;
        this.#lastError = "";
      } catch (error) {
        // Each call that aborts a sync also requests the next sync.
        if (!abort.signal.aborted) this.#retry(error);
      } finally {
        this.#syncAbort = undefined;
        finishMeasure();
      }
    }
    if (this.#finished) this.#o.onFinished();
  }

  /** Starts to measure a sync; call the result when it has finished. */
  #measure(): () => void {
    const state = this.#state;
    const kind = syncKind(state, this.#specChanged);
    this.#syncKind = kind;
    this.#specChanged = false;
    const ended = this.#timer.start();
    // A pod that waits for another was not synced yet.
    return () => ended(state.phase === "syncing" && !state.started ? undefined : kind);
  }

  #untilRequested(): Promise<void> {
    if (this.#dirty || this.#stopped) return Promise.resolve();
    return new Promise((resolve) => {
      this.#wake = () => {
        this.#wake = undefined;
        resolve();
      };
    });
  }

  async #syncOnce(signal: AbortSignal): Promise<void> {
    const state = this.#state;
    switch (state.phase) {
      case "syncing":
        return this.#sync(state, signal);
      case "terminating": {
        await this.#stop(state.graceSeconds, signal);
        const { graceSeconds } = state;
        if (this.#finishedReason !== undefined)
          this.#setFailure({ phase: "Failed", reason: "SandboxLost", message: this.#finishedReason });
        this.#enter({ phase: "terminated", graceSeconds, resourcesReclaimed: false });
        this.wake();
        return;
      }
      case "terminated":
        return this.#cleanUp(state, signal);
      default:
        state satisfies never;
    }
  }

  #stop(graceSeconds: number, signal: AbortSignal): Promise<void> {
    return this.#o.syncer.stop(this.id.uid, this.#pod, { graceSeconds, signal, report: this.#report });
  }

  async #sync(state: PhaseState & { phase: "syncing" }, signal: AbortSignal): Promise<void> {
    const { syncer, clock } = this.#o;
    const pod = this.#pod!;
    if (!state.started) {
      this.#o.beforeStart?.();
      const blocker = this.#o.startBlocker();
      if (blocker) return this.#report.blockedOn(blocker, { kind: "admission" });
      const admitting = syncer.isTerminal(pod) ? undefined : syncer.admit?.(pod, this.#report, signal);
      const admission = admitting instanceof Promise ? await admitting : admitting;
      if (signal.aborted) return;
      if (admission?.kind === "waiting") {
        this.#wakeAt(admission.until);
        return this.#report.blockedOn(admission.text, { kind: "admission" });
      }
      state.started = true;
      if (admission?.kind === "rejected") {
        this.#rejected = true;
        this.#o.metrics?.rejected(admission.failure.reason);
        return this.#terminateSelf(admission.failure);
      }
      this.#o.metrics?.started(pod, clock.wall());
      // A static pod gets its mirror pod once it is started.
      this.#o.onChange();
    }
    if (syncer.isTerminal(pod)) return this.#terminateSelf();
    this.#watchDeadline();
    if (signal.aborted) return;
    const { wakeAt, waitingFor, waitsOn, finished } = await syncer.sync(
      pod,
      this.#report,
      signal,
      this.#syncKind,
    );
    if (signal.aborted) return;
    if (finished !== undefined || syncer.isTerminal(pod)) {
      this.#finishedReason = finished;
      return this.#terminateSelf();
    }
    // A pod gets the time at which its deadline starts only when it is started.
    this.#watchDeadline();
    if (signal.aborted) return;
    const next = msFromNow(clock, this.#o.syncEveryMs());
    this.#wakeAt(wakeAt === undefined ? next : earliest(wakeAt, next));
    if (waitingFor) this.#report.blockedOn(waitingFor, waitsOn);
    else this.#report.unblocked();
    this.#o.onChange();
  }

  /** Called within a sync: there is nothing to abort. */
  #terminateSelf(failure?: PodFailure): void {
    this.#terminatedByItself = true;
    this.#setFailure(failure);
    this.#enter({
      phase: "terminating",
      graceSeconds: effectiveGraceSeconds(this.#pod, undefined, undefined),
    });
    this.wake();
  }

  async #cleanUp(state: PhaseState & { phase: "terminated" }, signal: AbortSignal): Promise<void> {
    const { syncer } = this.#o;
    if (!state.resourcesReclaimed) {
      this.#report.blockedOn("removing its volumes and its cgroup", { kind: "unmount" });
      await syncer.release(this.id.uid, signal);
      state.resourcesReclaimed = true;
    } else if (!this.#removed) {
      // A slow runtime may have started something after the pod had terminated.
      await this.#stop(state.graceSeconds, signal);
    }
    if (this.#removed && this.#o.startsAgain?.()) this.#finished = true;
    else if (this.#removed) {
      this.#report.blockedOn("removing containers, logs and directories", { kind: "remove" });
      await syncer.remove(this.id, signal);
      this.#finished = true;
    }
    this.#report.unblocked();
    this.#o.onChange();
  }

  /** The first failure wins, and a pod that has terminated on its own gets none. */
  #setFailure(failure: PodFailure | undefined): void {
    if (!failure || this.#failure || this.#state.phase === "terminated") return;
    if (this.#pod && this.#o.syncer.isTerminal(this.#pod)) return;
    this.#failure = failure;
    this.#o.onFailure?.(failure);
  }

  /** Terminates a pod whose deadline has passed, otherwise sets a timer for it, which also fires during a sync. */
  #watchDeadline(): void {
    const { syncer, clock } = this.#o;
    this.#cancelDeadline?.();
    if (this.#state.phase !== "syncing" || this.#stopped) return;
    const deadline = this.#pod && syncer.deadlineOf?.(this.#pod);
    if (deadline === undefined) return;
    const leftMs = deadline.limitMs - msSince(clock, this.#activeFrom(deadline.since));
    if (leftMs <= 0) return this.terminate({ removed: false, failure: deadlineExceeded });
    this.#cancelDeadline = clock.after(leftMs, () => this.#watchDeadline());
  }

  /** Converted once: setting the clock afterwards does not move the deadline. */
  #activeFrom(since: WallTime): MonotonicTime {
    if (this.#active?.since !== since) this.#active = { since, from: monotonicOf(this.#o.clock, since) };
    return this.#active.from;
  }

  #retry(error: unknown): void {
    const { clock, logger } = this.#o;
    const delay = Math.min(initialRetryMs * 2 ** this.#failures++, maxRetryMs);
    const retryAt = retryAtOf(error) ?? msFromNow(clock, delay);
    this.#wakeAt(retryAt);
    const message = messageOf(error);
    this.#report.failed(message, epochMs(wallTimeOf(clock, retryAt)));
    // As after a sync that succeeded: the status may depend on something that posts no event of its own, such as addresses of the node.
    this.#o.onChange();
    const fields = {
      pod: `${this.id.namespace}/${this.id.name}`,
      podUID: this.id.uid,
      phase: this.#state.phase,
      err: message,
    };
    // The same error again is logged at a higher verbosity.
    if (message === this.#lastError) logger.debug(4, "Error syncing pod, skipping", fields);
    else logger.info("Error syncing pod, skipping", fields);
    this.#lastError = message;
  }

  #wakeAt(at: MonotonicTime): void {
    const { clock } = this.#o;
    this.#cancelTimer?.();
    if (this.#stopped) return;
    this.#cancelTimer = clock.after(Math.max(0, msUntil(clock, at)), () => this.wake());
  }

  #enter(state: PhaseState): void {
    this.#state = state;
    if (state.phase !== "syncing") this.#cancelDeadline?.();
    this.#report.clear();
    this.#o.onPhase(state.phase);
    this.#o.onChange();
  }
}

/** Undefined for a sync of a pod whose resources were already reclaimed. */
function syncKind(state: PhaseState, specChanged: boolean): SyncKind | undefined {
  switch (state.phase) {
    case "syncing":
      if (!state.started) return "create";
      return specChanged ? "update" : "sync";
    case "terminating":
      return "kill";
    case "terminated":
      return state.resourcesReclaimed ? undefined : "terminated";
    default:
      return state satisfies never;
  }
}
