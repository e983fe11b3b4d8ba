import type { Clock } from "../../base/clock.ts";
import { abortError, isAbort, messageOf, retryAtOf } from "../../base/errors.ts";
import type { Logger } from "../../base/logger.ts";
import type { Pod, PodId, PodUid } from "../../model/pod.ts";

export type WorkerPhase = "syncing" | "terminating" | "terminated";

export interface Waiting {
  reason: string;
  message: string;
}

interface Report {
  blockedOn(text: string): void;
  waiting(container: string, waiting: Waiting | undefined): void;
}

/** What a worker needs done; pod-runtime does it. */
export interface PodWork {
  sync(pod: Pod, report: Report, signal: AbortSignal): Promise<{ wakeAt?: number; waitingFor?: string }>;
  stop(
    uid: PodUid,
    pod: Pod | undefined,
    options: { graceSeconds?: number; signal: AbortSignal; report: Report },
  ): Promise<void>;
  release(uid: PodUid): Promise<void>;
  remove(id: PodId, signal: AbortSignal): Promise<void>;
  /** True if the pod has run to its end, well or badly. */
  hasEnded(pod: Pod): boolean;
}

export interface PodWorkerOptions {
  id: PodId;
  /** Undefined for what the runtime has and nobody wants: it can only be ended. */
  pod: Pod | undefined;
  work: PodWork;
  clock: Clock;
  logger: Logger;
  /** How often a pod is looked at when nothing asks for it. */
  syncEveryMs: () => number;
  /** Undefined if the pod may start, else what it has to wait for. */
  mayStart: () => string | undefined;
  onChange: () => void;
  onFinished: () => void;
}

export interface TerminateOptions {
  /** Nobody wants the pod any more: when it has ended, all of it is removed. */
  removed: boolean;
  graceSeconds?: number;
}

const firstRetryMs = 500;
const longestRetryMs = 10_000;

/**
 * The life of one pod: syncing, then terminating, then terminated, never back. Its work is serial; a wish that arrives
 * during a pass is served by the next one, and a wish to end cancels the pass.
 */
export class PodWorker {
  readonly id: PodId;
  readonly #o: PodWorkerOptions;
  #pod: Pod | undefined;
  #phase: WorkerPhase;
  #begun: boolean;
  #removed = false;
  #released = false;
  #finished = false;
  #graceSeconds: number | undefined;
  #blockedOn: { text: string; since: number } | undefined;
  #waiting = new Map<string, Waiting>();
  #pass: AbortController | undefined;
  #dirty = false;
  #wake: (() => void) | undefined;
  #cancelTimer: (() => void) | undefined;
  #failures = 0;
  #lastError = "";
  #stopped = false;
  #loop: Promise<void>;

  constructor(options: PodWorkerOptions) {
    this.#o = options;
    this.id = options.id;
    this.#pod = options.pod;
    this.#phase = options.pod ? "syncing" : "terminating";
    this.#begun = !options.pod;
    this.#removed = !options.pod;
    this.#loop = Promise.resolve();
  }

  get phase(): WorkerPhase {
    return this.#phase;
  }

  get pod(): Pod | undefined {
    return this.#pod;
  }

  /** True once the pod may have something in the runtime. */
  get begun(): boolean {
    return this.#begun;
  }

  get removed(): boolean {
    return this.#removed;
  }

  get blockedOn(): { text: string; since: number } | undefined {
    return this.#blockedOn;
  }

  get waiting(): ReadonlyMap<string, Waiting> {
    return this.#waiting;
  }

  get done(): Promise<void> {
    return this.#loop;
  }

  /** Not to be started yet: says why. */
  hold(reason: string): void {
    this.#report.blockedOn(reason);
  }

  start(): void {
    this.poke();
    this.#loop = this.#run();
  }

  /** The pod's spec or status has changed. */
  update(pod: Pod): void {
    if (this.#phase !== "syncing") return;
    this.#pod = pod;
    this.poke();
  }

  /** Something about the pod may have changed: look at it. */
  poke(): void {
    this.#dirty = true;
    this.#wake?.();
  }

  terminate(options: TerminateOptions): void {
    const { graceSeconds } = options;
    const shorter =
      graceSeconds !== undefined && (this.#graceSeconds === undefined || graceSeconds < this.#graceSeconds);
    const news = this.#phase === "syncing" || shorter || (options.removed && !this.#removed);
    if (!news) return;
    if (shorter) this.#graceSeconds = graceSeconds;
    this.#removed ||= options.removed;
    if (this.#phase === "syncing") {
      this.#enter("terminating");
      if (this.#pass) this.#report.blockedOn("waiting for the runtime to finish what was begun");
    }
    if (this.#phase !== "terminated") this.#pass?.abort(abortError("the pod is being terminated"));
    this.#failures = 0;
    this.poke();
  }

  /** Ends the worker, not the pod: the agent goes, the containers stay. */
  abandon(): void {
    this.#stopped = true;
    this.#cancelTimer?.();
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
      try {
        await this.#onePass(pass.signal);
        this.#failures = 0;
        this.#lastError = "";
      } catch (error) {
        if (!pass.signal.aborted || !isAbort(error)) this.#retry(error);
      } finally {
        this.#pass = undefined;
      }
    }
    if (this.#finished) this.#o.onFinished();
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
    switch (this.#phase) {
      case "syncing":
        return this.#sync(signal);
      case "terminating":
        await this.#stop(signal);
        this.#enter("terminated");
        this.poke();
        return;
      case "terminated":
        return this.#cleanUp(signal);
      default:
        this.#phase satisfies never;
    }
  }

  #stop(signal: AbortSignal): Promise<void> {
    const graceSeconds = this.#graceSeconds;
    return this.#o.work.stop(this.id.uid, this.#pod, { graceSeconds, signal, report: this.#report });
  }

  async #sync(signal: AbortSignal): Promise<void> {
    const { work, clock } = this.#o;
    const pod = this.#pod!;
    if (!this.#begun) {
      const obstacle = this.#o.mayStart();
      if (obstacle) return this.#report.blockedOn(obstacle);
      this.#begun = true;
    }
    if (!work.hasEnded(pod)) {
      const { wakeAt, waitingFor } = await work.sync(pod, this.#report, signal);
      if (!work.hasEnded(pod)) {
        const next = clock.now() + this.#o.syncEveryMs();
        this.#wakeAt(wakeAt === undefined ? next : Math.min(wakeAt, next));
        if (waitingFor) this.#report.blockedOn(waitingFor);
        else this.#clearBlocked();
        this.#o.onChange();
        return;
      }
    }
    if (signal.aborted) return;
    this.#enter("terminating");
    this.poke();
  }

  async #cleanUp(signal: AbortSignal): Promise<void> {
    const { work } = this.#o;
    if (!this.#released) {
      await work.release(this.id.uid);
      this.#released = true;
    } else if (!this.#removed) {
      // A runtime that was slow may have brought something up after the pod had ended.
      await this.#stop(signal);
    }
    if (this.#removed) {
      this.#report.blockedOn("removing containers, logs and folders");
      await work.remove(this.id, signal);
      this.#finished = true;
    }
    this.#clearBlocked();
    this.#o.onChange();
  }

  #retry(error: unknown): void {
    const { clock, logger } = this.#o;
    const delay = Math.min(firstRetryMs * 2 ** this.#failures++, longestRetryMs);
    const retryAt = retryAtOf(error) ?? clock.now() + delay;
    this.#wakeAt(retryAt);
    const message = messageOf(error);
    this.#report.blockedOn(message);
    const fields = {
      pod: `${this.id.namespace}/${this.id.name}`,
      podUID: this.id.uid,
      phase: this.#phase,
      err: message,
    };
    // The same trouble again is news to nobody.
    if (message === this.#lastError) logger.debug(4, "Error syncing pod, skipping", fields);
    else logger.info("Error syncing pod, skipping", fields);
    this.#lastError = message;
  }

  #wakeAt(at: number): void {
    const { clock } = this.#o;
    this.#cancelTimer?.();
    if (this.#stopped) return;
    this.#cancelTimer = clock.after(Math.max(0, at - clock.now()), () => this.poke());
  }

  #enter(phase: WorkerPhase): void {
    this.#phase = phase;
    this.#waiting.clear();
    this.#clearBlocked();
    this.#o.onChange();
  }

  #clearBlocked(): void {
    this.#blockedOn = undefined;
  }

  readonly #report: Report = {
    blockedOn: (text) => {
      if (this.#blockedOn?.text === text) return;
      this.#blockedOn = { text, since: this.#o.clock.now() };
      this.#o.onChange();
    },
    waiting: (container, waiting) => {
      const known = this.#waiting.get(container);
      if (known?.reason === waiting?.reason && known?.message === waiting?.message) return;
      if (waiting) this.#waiting.set(container, waiting);
      else this.#waiting.delete(container);
      this.#o.onChange();
    },
  };
}
