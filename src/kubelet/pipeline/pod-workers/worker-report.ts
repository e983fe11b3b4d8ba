import type { Clock } from "../../../lib/base/clock.ts";
import { epochMs } from "../../../lib/base/time.ts";
import type { Step, StepDetails } from "../../../lib/model/pod-step.ts";
import type { SyncReport, Waiting } from "../../../lib/model/pod-sync.ts";
import { StepHistory } from "../../state/step-history.ts";

const maxBlockers = 50;
const other: StepDetails = { kind: "other" };

export interface ReportListeners {
  /** The pod waits for something else: that is shown to users, and not part of its status. */
  readonly step: () => void;
  /** A container waits for something else: that is part of the pod's status. */
  readonly waiting: () => void;
}

/** The current wait of a pod, in one line for users and by container for its status, and its previous waits. */
export class WorkerReport implements SyncReport {
  readonly history: StepHistory;
  readonly #clock: Clock;
  readonly #on: ReportListeners;
  #current: { text: string; since: number } | undefined;
  /** When each text was first reported as what the pod is blocked on; cleared when the pod is no longer blocked. */
  #blockers = new Map<string, number>();
  #containers = new Map<string, Waiting>();
  /** Why a pod that needs no sync is not ready. */
  #unready: (Step & { since: number }) | undefined;
  /** The steps that failed in this sync, by error message. */
  #failed = new Map<string, StepDetails>();

  constructor(clock: Clock, listeners: ReportListeners) {
    this.#clock = clock;
    this.#on = listeners;
    this.history = new StepHistory(epochMs(clock.wall()));
  }

  get current(): { text: string; since: number } | undefined {
    return this.#current ?? (this.#unready && { text: this.#unready.text, since: this.#unready.since });
  }

  get containers(): ReadonlyMap<string, Waiting> {
    return this.#containers;
  }

  blockedOn(text: string, details: StepDetails = other): void {
    const now = epochMs(this.#clock.wall());
    this.history.startStep({ ...details, text }, now);
    if (this.#current?.text === text) return;
    // A retried step starts with its first attempt.
    const since = this.#blockers.get(text) ?? now;
    if (this.#blockers.size >= maxBlockers) this.#blockers.clear();
    this.#blockers.set(text, since);
    this.#current = { text, since };
    this.#on.step();
  }

  waiting(container: string, waiting: Waiting | undefined): void {
    const known = this.#containers.get(container);
    const step = this.history.current;
    // Other containers may be started before the sync fails with this error.
    if (waiting && step?.container === container && waiting.reason !== "CrashLoopBackOff") {
      this.history.fail(waiting.message);
      this.#failed.set(waiting.message, { kind: step.kind, container });
    }
    if (known?.reason === waiting?.reason && known?.message === waiting?.message) return;
    if (waiting) this.#containers.set(container, waiting);
    else this.#containers.delete(container);
    this.#on.waiting();
  }

  /** A sync has failed and is retried at this time. */
  failed(message: string, until: number): void {
    const step = this.history.current;
    const { kind, container } = this.#failed.get(message) ?? step ?? other;
    if (!this.#failed.has(message)) this.history.fail(message);
    this.#failed.clear();
    this.blockedOn(message, { kind, container, until });
    this.history.fail(message);
  }

  /** The pod waits for nothing. */
  unblocked(): void {
    this.#blockers.clear();
    this.#failed.clear();
    this.#current = undefined;
    if (this.#unready) this.history.startStep(this.#unready, epochMs(this.#clock.wall()));
    else this.history.endStep(epochMs(this.#clock.wall()));
  }

  /** Whether the pod is ready, and why not if it waits for nothing else. */
  readiness(isReady: boolean, why: Step | undefined): void {
    const now = epochMs(this.#clock.wall());
    if (this.#unready?.text !== why?.text) this.#unready = why && { ...why, since: now };
    if (isReady) this.history.ready(now);
    if (!this.#current) this.unblocked();
  }

  /** The pod enters another phase: all earlier reports are discarded. */
  clear(): void {
    this.#containers.clear();
    this.#unready = undefined;
    this.unblocked();
  }
}
