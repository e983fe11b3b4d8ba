import { type Clock, monotonicOf, msFromNow, msSince, msUntil, wallTimeOf } from "../../../lib/base/clock.ts";
import { abortError, messageOf, retryAtOf } from "../../../lib/base/errors.ts";
import type { Logger } from "../../../lib/base/logger.ts";
import { earliest, epochMs, type MonotonicTime, type WallTime } from "../../../lib/base/time.ts";
import type { Pod, PodId } from "../../../lib/model/pod.ts";
import type { Step } from "../../../lib/model/pod-step.ts";
import type { Waiting } from "../../../lib/model/pod-sync.ts";
import type { PodVerdict } from "../../../lib/model/pod-verdict.ts";
import type { PodSyncStatus, WorkerPhase } from "../../state/pod-sync-status.ts";
import { graceOf } from "./grace.ts";
import { deadlineExceeded, type PodSyncer, type TerminateOptions } from "./pod-syncer.ts";
import type { StepHistory } from "./step-history.ts";
import { SyncTimer } from "./sync-timer.ts";
import type { SyncKind, WorkerMetrics } from "./worker-metrics.ts";
import { WorkerReport } from "./worker-report.ts";

/** Where a pod is in its life, with what matters there. */
type Life =
  | { phase: "syncing"; begun: boolean }
  | { phase: "terminating"; graceSeconds: number | undefined }
  | { phase: "terminated"; graceSeconds: number | undefined; released: boolean };

export interface PodWorkerOptions {
  id: PodId;
  /** Undefined for what the runtime has and nobody wants: it can only be ended. */
  pod: Pod | undefined;
  work: PodSyncer;
  clock: Clock;
  logger: Logger;
  /** How often a pod is looked at when nothing asks for it. */
  syncEveryMs: () => number;
  /** Undefined if the pod may start, else what it has to wait for. */
  mayStart: () => string | undefined;
  /** True if the pod begins again when this worker has finished: its dead containers are then left for it to go on from. */
  beginsAgain?: () => boolean;
  onChange: () => void;
  onPhase: (phase: WorkerPhase) => void;
  onVerdict?: (verdict: PodVerdict) => void;
  onFinished: () => void;
  metrics?: Pick<WorkerMetrics, "began" | "refused" | "passed">;
}

const firstRetryMs = 500;
const longestRetryMs = 10_000;

/**
 * The life of one pod: syncing, then terminating, then terminated, never back. Its work is serial; a wish that arrives
 * during a pass is served by the next one, and a wish to end, or to end sooner, cancels the pass.
 */
export class PodWorker implements PodSyncStatus {
  readonly id: PodId;
  readonly #o: PodWorkerOptions;
  #pod: Pod | undefined;
  #life: Life;
  #verdict: PodVerdict | undefined;
  #refused = false;
  /** Why nothing of the pod will run again, if its containers alone do not tell. */
  #finishedFor: string | undefined;
  #removed = false;
  #endedByItself = false;
  #finished = false;
  readonly #report: WorkerReport;
  #pass: AbortController | undefined;
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
    this.#report = new WorkerReport(options.clock, options.onChange);
    this.#timer = new SyncTimer(options.clock, options.metrics);
    this.id = options.id;
    this.#pod = pod;
    // A pod that is already being deleted when it is first heard of never begins.
    this.#life =
      pod && pod.metadata.deletionTimestamp === undefined
        ? { phase: "syncing", begun: false }
        : { phase: "terminating", graceSeconds: graceOf(pod, undefined, undefined) };
    this.#removed = !pod;
    this.#loop = Promise.resolve();
  }

  get phase(): WorkerPhase {
    return this.#life.phase;
  }

  get pod(): Pod | undefined {
    return this.#pod;
  }

  /** Why the pod has failed, if somebody decided so. */
  get verdict(): PodVerdict | undefined {
    return this.#verdict;
  }

  /** True if the verdict is that the pod may not run here: nothing was ever done for it by this agent. */
  get refused(): boolean {
    return this.#refused;
  }

  /** True if the pod ended before anybody asked for it. */
  get endedByItself(): boolean {
    return this.#endedByItself;
  }

  /** True once the pod may have something in the runtime. */
  get begun(): boolean {
    return this.#life.phase !== "syncing" || this.#life.begun;
  }

  get removed(): boolean {
    return this.#removed;
  }

  get blockedOn(): { text: string; since: number } | undefined {
    return this.#report.current;
  }

  /** What it waited for before, and waits for now. */
  get history(): StepHistory {
    return this.#report.history;
  }

  get waiting(): ReadonlyMap<string, Waiting> {
    return this.#report.containers;
  }

  get done(): Promise<void> {
    return this.#loop;
  }

  /** Not to be started yet: says why. */
  hold(reason: string): void {
    this.#report.blockedOn(reason, { kind: "admission" });
  }

  /** Whether the pod is ready by its status, and what keeps it from it if that is nothing that its worker does. */
  readiness(isReady: boolean, why: Step | undefined): void {
    if (this.#life.phase === "syncing") this.#report.readiness(isReady, why);
  }

  start(): void {
    this.poke();
    this.#loop = this.#run();
  }

  /**
   * The pod's spec or status has changed. Once it is to end, only a shorter grace period is news. A pass that failed waits for its
   * time if it is only the status: that is mostly an echo of what this agent has written of the failure.
   */
  update(pod: Pod, news: "spec" | "status" = "spec"): void {
    const { deletionTimestamp, deletionGracePeriodSeconds } = pod.metadata;
    if (this.#life.phase === "syncing") {
      this.#pod = pod;
      this.#specChanged = true;
      if (this.#life.begun) this.#watchDeadline();
      if (news === "spec" || this.#failures === 0 || this.#pass) this.poke();
      // The status is made of the spec, too.
      this.#o.onChange();
    }
    if (deletionTimestamp !== undefined)
      this.terminate({ removed: false, graceSeconds: deletionGracePeriodSeconds });
  }

  /** Something about the pod may have changed: look at it. A retry that waits for its time does not hold this up. */
  poke(): void {
    this.#timer.asked();
    this.#dirty = true;
    this.#wake?.();
  }

  terminate({ removed, graceSeconds, verdict }: TerminateOptions): void {
    this.#judge(verdict);
    const newlyRemoved = removed && !this.#removed;
    this.#removed ||= removed;
    const life = this.#life;
    switch (life.phase) {
      case "syncing":
        // It may have ended in a pass that goes on.
        if (this.#pod && this.#o.work.hasEnded(this.#pod)) this.#endedByItself = true;
        this.#enter({ phase: "terminating", graceSeconds: graceOf(this.#pod, undefined, graceSeconds) });
        if (this.#pass)
          this.#report.blockedOn("waiting for the runtime to finish what was begun", { kind: "stop" });
        this.#pass?.abort(abortError("the pod is being terminated"));
        break;
      case "terminating": {
        const grace = graceOf(this.#pod, life.graceSeconds, graceSeconds);
        if (grace !== life.graceSeconds) {
          life.graceSeconds = grace;
          this.#pass?.abort(abortError("the pod is to end sooner"));
        } else if (!newlyRemoved) return;
        break;
      }
      case "terminated":
        life.graceSeconds = graceOf(this.#pod, life.graceSeconds, graceSeconds);
        if (!newlyRemoved) return;
        break;
      default:
        life satisfies never;
    }
    this.#failures = 0;
    this.poke();
  }

  /** Ends the worker, not the pod: the agent goes, the containers stay. */
  abandon(): void {
    this.#stopped = true;
    this.#cancelTimer?.();
    this.#cancelDeadline?.();
    this.#pass?.abort(abortError("the agent is stopping"));
    this.#wake?.();
  }

  async #run(): Promise<void> {
    while (!this.#finished && !this.#stopped) {
      await this.#wanted();
      if (this.#stopped) return;
      this.#dirty = false;
      this.#cancelTimer?.();
      const pass = new AbortController();
      this.#pass = pass;
      const measured = this.#measured();
      try {
        await this.#onePass(pass.signal);
        this.#failures = 0;
        this.#lastError = "";
      } catch (error) {
        // Who aborts a pass also asks for the next one.
        if (!pass.signal.aborted) this.#retry(error);
      } finally {
        this.#pass = undefined;
        measured();
      }
    }
    if (this.#finished) this.#o.onFinished();
  }

  /** Begins to measure a pass; call it when the pass has ended. */
  #measured(): () => void {
    const life = this.#life;
    const kind = syncKind(life, this.#specChanged);
    this.#syncKind = kind;
    this.#specChanged = false;
    const ended = this.#timer.begin();
    // A pod that has to wait for another was not worked on yet.
    return () => ended(life.phase === "syncing" && !life.begun ? undefined : kind);
  }

  #wanted(): Promise<void> {
    if (this.#dirty || this.#stopped) return Promise.resolve();
    return new Promise((resolve) => {
      this.#wake = () => {
        this.#wake = undefined;
        resolve();
      };
    });
  }

  async #onePass(signal: AbortSignal): Promise<void> {
    const life = this.#life;
    switch (life.phase) {
      case "syncing":
        return this.#sync(life, signal);
      case "terminating": {
        await this.#stop(life.graceSeconds, signal);
        const { graceSeconds } = life;
        if (this.#finishedFor !== undefined)
          this.#judge({ phase: "Failed", reason: "SandboxLost", message: this.#finishedFor });
        this.#enter({ phase: "terminated", graceSeconds, released: false });
        this.poke();
        return;
      }
      case "terminated":
        return this.#cleanUp(life, signal);
      default:
        life satisfies never;
    }
  }

  #stop(graceSeconds: number | undefined, signal: AbortSignal): Promise<void> {
    return this.#o.work.stop(this.id.uid, this.#pod, { graceSeconds, signal, report: this.#report });
  }

  async #sync(life: Life & { phase: "syncing" }, signal: AbortSignal): Promise<void> {
    const { work, clock } = this.#o;
    const pod = this.#pod!;
    if (!life.begun) {
      const obstacle = this.#o.mayStart();
      if (obstacle) return this.#report.blockedOn(obstacle, { kind: "admission" });
      const refusal = work.hasEnded(pod) ? undefined : work.admit?.(pod);
      life.begun = true;
      if (refusal) {
        this.#refused = true;
        this.#o.metrics?.refused(refusal.reason);
        return this.#end(refusal);
      }
      this.#o.metrics?.began(pod, clock.wall());
    }
    if (work.hasEnded(pod)) return this.#end();
    this.#watchDeadline();
    if (signal.aborted) return;
    const { wakeAt, waitingFor, waitsOn, finished } = await work.sync(
      pod,
      this.#report,
      signal,
      this.#syncKind,
    );
    if (signal.aborted) return;
    if (finished !== undefined || work.hasEnded(pod)) {
      this.#finishedFor = finished;
      return this.#end();
    }
    // Only a pod that has been started has a time from which its deadline counts.
    this.#watchDeadline();
    if (signal.aborted) return;
    const next = msFromNow(clock, this.#o.syncEveryMs());
    this.#wakeAt(wakeAt === undefined ? next : earliest(wakeAt, next));
    if (waitingFor) this.#report.blockedOn(waitingFor, waitsOn);
    else this.#report.free();
    this.#o.onChange();
  }

  /** From within a pass: there is nothing to cancel. */
  #end(verdict?: PodVerdict): void {
    this.#endedByItself = true;
    this.#judge(verdict);
    this.#enter({ phase: "terminating", graceSeconds: graceOf(this.#pod, undefined, undefined) });
    this.poke();
  }

  async #cleanUp(life: Life & { phase: "terminated" }, signal: AbortSignal): Promise<void> {
    const { work } = this.#o;
    if (!life.released) {
      this.#report.blockedOn("removing its volumes and its cgroup", { kind: "unmount" });
      await work.release(this.id.uid, signal);
      life.released = true;
    } else if (!this.#removed) {
      // A runtime that was slow may have brought something up after the pod had ended.
      await this.#stop(life.graceSeconds, signal);
    }
    if (this.#removed && this.#o.beginsAgain?.()) this.#finished = true;
    else if (this.#removed) {
      this.#report.blockedOn("removing containers, logs and folders", { kind: "remove" });
      await work.remove(this.id, signal);
      this.#finished = true;
    }
    this.#report.free();
    this.#o.onChange();
  }

  /** The first verdict counts, and none is passed on a pod that has come to its own end. */
  #judge(verdict: PodVerdict | undefined): void {
    if (!verdict || this.#verdict || this.#life.phase === "terminated") return;
    if (this.#pod && this.#o.work.hasEnded(this.#pod)) return;
    this.#verdict = verdict;
    this.#o.onVerdict?.(verdict);
  }

  /** Ends a pod whose time is up, else looks again when it will be: also while a pass is under way. */
  #watchDeadline(): void {
    const { work, clock } = this.#o;
    this.#cancelDeadline?.();
    if (this.#life.phase !== "syncing" || this.#stopped) return;
    const deadline = this.#pod && work.deadlineOf?.(this.#pod);
    if (deadline === undefined) return;
    const leftMs = deadline.limitMs - msSince(clock, this.#activeFrom(deadline.since));
    if (leftMs <= 0) return this.terminate({ removed: false, verdict: deadlineExceeded });
    this.#cancelDeadline = clock.after(leftMs, () => this.#watchDeadline());
  }

  /** Converted once: a clock that is set afterwards neither ends a pod nor lets it live longer. */
  #activeFrom(since: WallTime): MonotonicTime {
    if (this.#active?.since !== since) this.#active = { since, from: monotonicOf(this.#o.clock, since) };
    return this.#active.from;
  }

  #retry(error: unknown): void {
    const { clock, logger } = this.#o;
    const delay = Math.min(firstRetryMs * 2 ** this.#failures++, longestRetryMs);
    const retryAt = retryAtOf(error) ?? msFromNow(clock, delay);
    this.#wakeAt(retryAt);
    const message = messageOf(error);
    this.#report.failed(message, epochMs(wallTimeOf(clock, retryAt)));
    const fields = {
      pod: `${this.id.namespace}/${this.id.name}`,
      podUID: this.id.uid,
      phase: this.#life.phase,
      err: message,
    };
    // The same trouble again is news to nobody.
    if (message === this.#lastError) logger.debug(4, "Error syncing pod, skipping", fields);
    else logger.info("Error syncing pod, skipping", fields);
    this.#lastError = message;
  }

  #wakeAt(at: MonotonicTime): void {
    const { clock } = this.#o;
    this.#cancelTimer?.();
    if (this.#stopped) return;
    this.#cancelTimer = clock.after(Math.max(0, msUntil(clock, at)), () => this.poke());
  }

  #enter(life: Life): void {
    this.#life = life;
    if (life.phase !== "syncing") this.#cancelDeadline?.();
    this.#report.clear();
    this.#o.onPhase(life.phase);
    this.#o.onChange();
  }
}

/** Undefined for a look at a pod that is over already. */
function syncKind(life: Life, specChanged: boolean): SyncKind | undefined {
  switch (life.phase) {
    case "syncing":
      if (!life.begun) return "create";
      return specChanged ? "update" : "sync";
    case "terminating":
      return "kill";
    case "terminated":
      return life.released ? undefined : "terminated";
    default:
      return life satisfies never;
  }
}
