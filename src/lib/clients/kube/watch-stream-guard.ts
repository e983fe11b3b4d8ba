import { whenAborted } from "../../base/abort.ts";
import { type Clock, msFromNow, msUntil } from "../../base/clock.ts";
import { earliest, type MonotonicTime, plusMs } from "../../base/time.ts";

export interface StreamLimits {
  /** Without data for this long the server is considered unreachable. */
  idleTimeoutMs: number;
  /** The server should have ended the stream by then. */
  lifetimeMs: number;
}

/** A signal for one stream: aborted with its parent signal, when the stream is idle too long, or when it lasts too long. */
export class StreamGuard {
  readonly #clock: Clock;
  readonly #parent: AbortSignal;
  readonly #controller = new AbortController();
  readonly #parentAborted: Disposable;
  readonly #idleTimeoutMs: number;
  #endAt: MonotonicTime;
  #receivedAt: MonotonicTime;
  #cancel: () => void;

  constructor(clock: Clock, parent: AbortSignal, limits: StreamLimits) {
    this.#clock = clock;
    this.#parent = parent;
    this.#idleTimeoutMs = limits.idleTimeoutMs;
    this.#receivedAt = clock.monotonic();
    this.#endAt = plusMs(this.#receivedAt, limits.lifetimeMs);
    this.#cancel = () => {};
    this.#parentAborted = whenAborted(parent, () => this.#controller.abort());
    this.#wait();
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** The stream was ended by its limits, not by the parent signal. */
  get expired(): boolean {
    return this.#controller.signal.aborted && !this.#parent.aborted;
  }

  /** Data arrived. The timer is not reset: it checks the time when it fires, and a busy stream has many chunks a second. */
  received(): void {
    this.#receivedAt = this.#clock.monotonic();
  }

  /** Sets the remaining lifetime. */
  extend(lifetimeMs: number): void {
    this.#endAt = msFromNow(this.#clock, lifetimeMs);
    this.#cancel();
    this.#wait();
  }

  release(): void {
    this.#cancel();
    this.#parentAborted[Symbol.dispose]();
  }

  #wait(): void {
    const leftMs = msUntil(this.#clock, earliest(plusMs(this.#receivedAt, this.#idleTimeoutMs), this.#endAt));
    if (leftMs <= 0) return this.#controller.abort();
    this.#cancel = this.#clock.after(leftMs, () => this.#wait());
  }
}
