import type { Clock } from "../../lib/base/clock.ts";
import { messageOf } from "../../lib/base/errors.ts";
import type { Logger } from "../../lib/base/logger.ts";
import { epochMs } from "../../lib/base/time.ts";
import type { ChangeEvent } from "./change-event.ts";
import { type HistoryLimits, type HistorySize, planCompaction } from "./compaction-plan.ts";
import type { History } from "./history.ts";
import type { Revisions } from "./revisions.ts";

/** Small enough that no reader or writer waits long. */
const maxRowsPerStep = 500;
/** How far the history may outgrow its limits before a write starts a compaction. */
const slack = 1.1;

export interface CompactorOptions {
  readonly revisions: Revisions;
  readonly history: History;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly limits: HistoryLimits;
}

/** Compacts the history, by age on a timer and by size after writes. */
export class Compactor {
  readonly #options: CompactorOptions;
  #size: HistorySize;
  #cancelTimer: (() => void) | undefined;
  #next: NodeJS.Immediate | undefined;

  constructor(options: CompactorOptions) {
    this.#options = options;
    this.#size = options.revisions.historySize(options.history.compacted);
  }

  start(): void {
    const { clock, limits } = this.#options;
    this.#cancelTimer = clock.after(Math.max(1000, limits.maxAgeMs / 5), () => {
      this.#schedule();
      this.start();
    });
  }

  stop(): void {
    this.#cancelTimer?.();
    clearImmediate(this.#next);
    this.#next = undefined;
  }

  recordWrites(events: readonly ChangeEvent[]): void {
    const { limits } = this.#options;
    let chars = this.#size.chars;
    for (const event of events) chars += event.object.text.length;
    this.#size = { events: this.#size.events + events.length, chars };
    if (this.#size.events > limits.maxEvents * slack || chars > limits.maxChars * slack) this.#schedule();
  }

  /** One step of a compaction. True if there may be more. */
  step(limits = this.#options.limits): boolean {
    const { revisions, history, clock } = this.#options;
    const oldest = revisions.oldest(history.compacted, maxRowsPerStep);
    const step = planCompaction(oldest, this.#size, limits, epochMs(clock.wall()));
    if (!step) return false;
    revisions.begin();
    try {
      revisions.compact(history.compacted, step.version);
      revisions.commit();
    } catch (error) {
      revisions.rollback();
      throw error;
    }
    history.compacted = step.version;
    this.#size = { events: this.#size.events - step.events, chars: this.#size.chars - step.chars };
    return step.events === maxRowsPerStep;
  }

  #schedule(): void {
    this.#next ??= setImmediate(() => {
      this.#next = undefined;
      try {
        if (this.step()) this.#schedule();
      } catch (error) {
        // The timer retries.
        this.#options.logger.warn("Failed to compact API history", { err: messageOf(error) });
      }
    });
  }
}
