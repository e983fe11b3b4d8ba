import { abortable } from "./abort.ts";
import { type Clock, msSince } from "./clock.ts";
import { abortError } from "./errors.ts";
import { type MonotonicTime, msBetween } from "./time.ts";

export interface LimiterOptions<Kind extends string = string> {
  /** Needed for `maxHoldMs`, and to report waits. */
  clock?: Clock;
  /** Work that takes longer is blocked on something other than the CPU: its slot is passed on. */
  maxHoldMs?: number;
  /** The slot is passed on after several times the usual duration of successful work, but not earlier than this. Default: `maxHoldMs`. */
  minHoldMs?: number;
  /** With equal priority, kinds run in this order. */
  kinds?: readonly Kind[];
  /** Kinds that have one slot beyond the width, reserved for them: no burst can delay them. */
  reserved?: readonly Kind[];
  /** Called when work starts, with its wait. */
  onAdmitted?: (waitMs: number, kind: Kind | undefined) => void;
  onChange?: (counts: { waiting: number; running: number }) => void;
  /** Called when work starts; the result is called when it has succeeded, with true if other work waits. A width that varies may follow from it. */
  measure?: (kind: Kind | undefined) => (isFull: boolean) => void;
}

/** How many operations run concurrently: a number, or one that varies. */
export type LimiterWidth = number | { readonly width: number };

export interface SlotRequest<Kind extends string = string> {
  /** Higher runs first. */
  priority?: number;
  kind?: Kind;
  /** When it began to wait: the oldest runs first. Default: now. */
  since?: MonotonicTime;
  /** The owner of the work. If work of this owner fails after its slot was passed on, the next work of this owner needs no slot. */
  owner?: string;
  signal?: AbortSignal;
}

/** Work that takes this many times as long as usual is blocked. */
const unusual = 8;
/** The weight of the last work in the usual duration. */
const lastWeight = 0.25;

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
export class ConcurrencyLimiter<Kind extends string = string> {
  readonly #width: LimiterWidth;
  readonly #o: LimiterOptions<Kind>;
  #running: Record<Slot, number> = { shared: 0, reserved: 0 };
  #order = 0;
  #waiting: Waiter<Kind>[] = [];
  /** The usual duration of successful work. */
  #usualMs: number | undefined;
  readonly #blockedOwners = new Set<string>();
  /** The number of operations of each owner that run, including those whose slot was passed on. */
  readonly #runningOf = new Map<string, number>();

  constructor(width: LimiterWidth, options: LimiterOptions<Kind> = {}) {
    this.#width = width;
    this.#o = options;
    if (!(this.width >= 1)) throw new RangeError(`a limiter of width ${this.width} admits nothing`);
  }

  get width(): number {
    return typeof this.#width === "number" ? this.#width : this.#width.width;
  }

  get waiting(): number {
    return this.#waiting.length;
  }

  get running(): number {
    return this.#running.shared + this.#running.reserved;
  }

  /** The number of owners whose next work needs no slot. */
  get blockedOwners(): number {
    return this.#blockedOwners.size;
  }

  /** True while work of this owner runs. */
  isRunning(owner: string): boolean {
    return this.#runningOf.has(owner);
  }

  forget(owner: string): void {
    this.#blockedOwners.delete(owner);
  }

  /** Runs the work when a slot is free. */
  async run<T>(work: () => Promise<T>, request: SlotRequest<Kind> = {}): Promise<T> {
    const { clock } = this.#o;
    const { owner } = request;
    const requestedAt = clock?.monotonic();
    const needsSlot = owner === undefined || !this.#blockedOwners.has(owner);
    let slot = needsSlot ? await this.#enter(request, request.since ?? requestedAt) : undefined;
    this.#o.onAdmitted?.(clock && requestedAt ? msSince(clock, requestedAt) : 0, request.kind);
    const leave = () => {
      if (slot) this.#leave(slot);
      slot = undefined;
    };
    const startedAt = clock?.monotonic();
    const holdMs = this.#holdMs();
    let isBlocked = false;
    const pass = () => {
      isBlocked = true;
      leave();
    };
    const cancel = holdMs === undefined ? undefined : clock?.after(holdMs, pass);
    this.#countRunning(owner, 1);
    const succeeded = this.#o.measure?.(request.kind);
    try {
      const result = await work();
      succeeded?.(this.waiting > 0);
      if (clock && startedAt) this.#succeeded(msSince(clock, startedAt));
      this.#note(owner, false);
      return result;
    } catch (error) {
      this.#note(owner, isBlocked);
      throw error;
    } finally {
      cancel?.();
      this.#countRunning(owner, -1);
      leave();
      while (this.#running.shared < this.width && this.waiting > 0) this.#admitNext("shared");
    }
  }

  #countRunning(owner: string | undefined, change: 1 | -1): void {
    if (owner === undefined) return;
    const count = (this.#runningOf.get(owner) ?? 0) + change;
    if (count > 0) this.#runningOf.set(owner, count);
    else this.#runningOf.delete(owner);
  }

  #holdMs(): number | undefined {
    const { maxHoldMs, minHoldMs } = this.#o;
    if (maxHoldMs === undefined || minHoldMs === undefined) return maxHoldMs;
    return Math.min(maxHoldMs, Math.max(minHoldMs, unusual * (this.#usualMs ?? 0)));
  }

  #succeeded(ms: number): void {
    this.#usualMs = this.#usualMs === undefined ? ms : this.#usualMs + lastWeight * (ms - this.#usualMs);
  }

  #note(owner: string | undefined, isBlocked: boolean): void {
    if (owner === undefined) return;
    if (isBlocked) this.#blockedOwners.add(owner);
    else this.#blockedOwners.delete(owner);
  }

  #enter({ priority = 0, kind, signal }: SlotRequest<Kind>, since: MonotonicTime | undefined): Promise<Slot> {
    if (signal?.aborted) return Promise.reject(abortError(signal.reason));
    const free = this.#freeSlot(kind);
    if (free) {
      this.#running[free]++;
      this.#changed();
      return Promise.resolve(free);
    }
    return abortable(signal, (resolve) => {
      const waiter: Waiter<Kind> = {
        priority,
        rank: this.#rank(kind),
        kind,
        since,
        order: this.#order++,
        admit: resolve,
      };
      this.#waiting.push(waiter);
      this.#changed();
      return () => {
        this.#waiting.splice(this.#waiting.indexOf(waiter), 1);
        this.#changed();
      };
    });
  }

  #freeSlot(kind: Kind | undefined): Slot | undefined {
    if (this.#running.shared < this.width) return "shared";
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
    this.#running[slot]--;
    // The slot passes directly to the next waiter, so that no other caller gets it first.
    const mayPass = slot === "reserved" || this.#running.shared < this.width;
    if (!mayPass || !this.#admitNext(slot)) this.#changed();
  }

  /** False if no work waits for a slot of this kind. */
  #admitNext(slot: Slot): boolean {
    const next = this.#waiting
      .filter((waiter) => this.#mayUse(slot, waiter.kind))
      .reduce<Waiter<Kind> | undefined>((best, w) => (best && !precedes(w, best) ? best : w), undefined);
    if (!next) return false;
    this.#running[slot]++;
    next.admit(slot);
    return true;
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
