import { type Clock, msSince } from "../../../lib/base/clock.ts";
import type { MonotonicTime } from "../../../lib/base/time.ts";
import type { SyncKind, WorkerMetrics } from "./worker-metrics.ts";

/** Measures the syncs of one worker, each from when it was first requested. */
export class SyncTimer {
  readonly #clock: Clock;
  readonly #metrics: Pick<WorkerMetrics, "synced"> | undefined;
  #requestedAt: MonotonicTime | undefined;

  constructor(clock: Clock, metrics: Pick<WorkerMetrics, "synced"> | undefined) {
    this.#clock = clock;
    this.#metrics = metrics;
  }

  /** A sync is requested, if none was already. */
  request(): void {
    this.#requestedAt ??= this.#clock.monotonic();
  }

  /** A sync starts. Call the result when it finishes: with its kind, or without if the pod may not start yet and is still to be synced. */
  start(): (kind: SyncKind | undefined) => void {
    const requestedAt = this.#requestedAt ?? this.#clock.monotonic();
    this.#requestedAt = undefined;
    return (kind) => {
      if (kind) this.#metrics?.synced(kind, msSince(this.#clock, requestedAt));
      else this.#requestedAt = requestedAt;
    };
  }
}
