import { type Clock, msSince } from "../../../lib/base/clock.ts";
import { type Health, healthy } from "../../../lib/base/component.ts";
import type { MonotonicTime } from "../../../lib/base/time.ts";

export interface SyncLoopCheckOptions {
  readonly clock: Clock;
  /** `syncFrequency`. */
  readonly resyncMs: number;
  /** Why pods cannot be synced: the runtime, PLEG. */
  readonly blockedBy: readonly { health(): Health }[];
}

const minThresholdMs = 5 * 60_000;

/**
 * The check `syncloop`. The reference kubelet pauses its loop while the runtime or PLEG is not healthy, so its check fails when that lasts.
 * This loop does not pause, but the check fails in the same cases. It passes until pods can be synced for the first time.
 */
export class SyncLoopCheck {
  readonly name = "syncloop";
  readonly #o: SyncLoopCheckOptions;
  #lastSyncAt: MonotonicTime | undefined;

  constructor(options: SyncLoopCheckOptions) {
    this.#o = options;
  }

  /** Call it on each tick of the loop. */
  tick(): void {
    const { clock, blockedBy } = this.#o;
    if (blockedBy.every((part) => part.health().ok)) this.#lastSyncAt = clock.monotonic();
  }

  health(): Health {
    const { clock, resyncMs } = this.#o;
    const thresholdMs = Math.max(2 * resyncMs, minThresholdMs);
    if (this.#lastSyncAt === undefined || msSince(clock, this.#lastSyncAt) <= thresholdMs) return healthy;
    return { ok: false, reason: "sync Loop took longer than expected" };
  }
}
