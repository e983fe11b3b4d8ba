import { type Clock, msSince } from "../../../lib/base/clock.ts";
import type { MonotonicTime } from "../../../lib/base/time.ts";
import type { SyncKind, WorkerMetrics } from "./worker-metrics.ts";

/** Measures the passes of one worker, each from when it was first asked for. */
export class SyncTimer {
  readonly #clock: Clock;
  readonly #metrics: Pick<WorkerMetrics, "passed"> | undefined;
  #askedAt: MonotonicTime | undefined;

  constructor(clock: Clock, metrics: Pick<WorkerMetrics, "passed"> | undefined) {
    this.#clock = clock;
    this.#metrics = metrics;
  }

  /** A pass is wanted, if none was already. */
  asked(): void {
    this.#askedAt ??= this.#clock.monotonic();
  }

  /** A pass begins. To be called when it ends: with its kind, or with nothing if it came to no work and is still wanted. */
  begin(): (kind: SyncKind | undefined) => void {
    const askedAt = this.#askedAt ?? this.#clock.monotonic();
    this.#askedAt = undefined;
    return (kind) => {
      if (kind) this.#metrics?.passed(kind, msSince(this.#clock, askedAt));
      else this.#askedAt = askedAt;
    };
  }
}
