import { type Clock, msSince } from "./clock.ts";
import { abortError } from "./errors.ts";
import { type MonotonicTime, msBetween } from "./time.ts";

export interface GateOptions<Kind extends string = string> {
  /** Needed for `maxHoldMs`, and to report waits. */
  clock?: Clock;
  /** Work that takes longer is blocked on something other than the CPU: its slot is passed on. */
  maxHoldMs?: number;
  /** With equal priority, kinds run in this order. */
  kinds?: readonly Kind[];
  /** Kinds that have one slot beyond the width, reserved for them: no burst can delay them. */
  reserved?: readonly Kind[];
  /** Called when work starts, with its wait. */
  onAdmitted?: (waitMs: number, kind: Kind | undefined) => void;
  onChange?: (counts: { waiting: number; running: number }) => void;
}

export interface SlotRequest<Kind extends string = string> {
  /** Higher runs first. */
  priority?: number;
  kind?: Kind;
  /** When it began to wait: the oldest runs first. Default: now. */
  since?: MonotonicTime;
  signal?: AbortSignal;
}

type Slot = "shared" | "reserved";

interface Waiter<Kind extends string> {
  priority: number;
  rank: number;
  kind: Kind | undefined;
  since: MonotonicTime | undefined;
  order: number;
  admit: (slot: Slot) => void;
}

/**
 * Runs at most `width` operations concurrently, and one of a reserved kind in addition: by priority,
 * then by kind, then by age.
 */
export class ConcurrencyGate<Kind extends string = string> {
  readonly #width: number;
  readonly #o: GateOptions<Kind>;
  #running: Record<Slot, number> = { shared: 0, reserved: 0 };
  #order = 0;
  #waiting: Waiter<Kind>[] = [];

  constructor(width: number, options: GateOptions<Kind> = {}) {
    if (!(width >= 1)) throw new RangeError(`a gate of width ${width} admits nothing`);
    this.#width = width;
    this.#o = options;
  }

  get width(): number {
    return this.#width;
  }

  get waiting(): number {
    return this.#waiting.length;
  }

  get running(): number {
    return this.#running.shared + this.#running.reserved;
  }

  /** Runs the work when a slot is free. */
  async run<T>(work: () => Promise<T>, turn: SlotRequest<Kind> = {}): Promise<T> {
    const { clock, maxHoldMs } = this.#o;
    const requestedAt = clock?.monotonic();
    let slot: Slot | undefined = await this.#enter(turn, turn.since ?? requestedAt);
    this.#o.onAdmitted?.(clock && requestedAt ? msSince(clock, requestedAt) : 0, turn.kind);
    const leave = () => {
      if (slot) this.#leave(slot);
      slot = undefined;
    };
    const cancel = maxHoldMs === undefined ? undefined : clock?.after(maxHoldMs, leave);
    try {
      return await work();
    } finally {
      cancel?.();
      leave();
    }
  }

  #enter({ priority = 0, kind, signal }: SlotRequest<Kind>, since: MonotonicTime | undefined): Promise<Slot> {
    if (signal?.aborted) return Promise.reject(abortError(signal.reason));
    const free = this.#freeSlot(kind);
    if (free) {
      this.#running[free]++;
      this.#changed();
      return Promise.resolve(free);
    }
    return new Promise((resolve, reject) => {
      const onAbort = () => {
        this.#waiting.splice(this.#waiting.indexOf(waiter), 1);
        this.#changed();
        reject(abortError(signal?.reason));
      };
      const waiter: Waiter<Kind> = {
        priority,
        rank: this.#rank(kind),
        kind,
        since,
        order: this.#order++,
        admit: (slot) => {
          signal?.removeEventListener("abort", onAbort);
          resolve(slot);
        },
      };
      signal?.addEventListener("abort", onAbort, { once: true });
      this.#waiting.push(waiter);
      this.#changed();
    });
  }

  #freeSlot(kind: Kind | undefined): Slot | undefined {
    if (this.#running.shared < this.#width) return "shared";
    return this.#running.reserved === 0 && this.#mayUse("reserved", kind) ? "reserved" : undefined;
  }

  #mayUse(slot: Slot, kind: Kind | undefined): boolean {
    return slot === "shared" || (kind !== undefined && (this.#o.reserved?.includes(kind) ?? false));
  }

  /** Unlisted kinds come last. */
  #rank(kind: Kind | undefined): number {
    const { kinds = [] } = this.#o;
    const index = kind === undefined ? -1 : kinds.indexOf(kind);
    return index < 0 ? kinds.length : index;
  }

  #leave(slot: Slot): void {
    const next = this.#waiting
      .filter((waiter) => this.#mayUse(slot, waiter.kind))
      .reduce<Waiter<Kind> | undefined>((best, w) => (best && !precedes(w, best) ? best : w), undefined);
    if (next) {
      // The slot passes directly to the next waiter, so that no other caller gets it first.
      this.#waiting.splice(this.#waiting.indexOf(next), 1);
      next.admit(slot);
    } else this.#running[slot]--;
    this.#changed();
  }

  #changed(): void {
    this.#o.onChange?.({ waiting: this.waiting, running: this.running });
  }
}

function precedes(a: Waiter<string>, b: Waiter<string>): boolean {
  return (
    (b.priority - a.priority ||
      a.rank - b.rank ||
      (a.since && b.since ? msBetween(b.since, a.since) : 0) ||
      a.order - b.order) < 0
  );
}
