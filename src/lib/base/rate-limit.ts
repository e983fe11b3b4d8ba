import { type Clock, sleep } from "./clock.ts";
import { type MonotonicTime, msBetween } from "./time.ts";

/** A token bucket: `perSecond` on average, `burst` at a time. Zero or less means no limit. */
export class RateLimit {
  readonly #perSecond: number;
  readonly #burst: number;
  readonly #clock: Clock;
  #tokens: number;
  #at: MonotonicTime;

  constructor(perSecond: number, burst: number, clock: Clock) {
    this.#perSecond = perSecond;
    this.#burst = Math.max(1, burst);
    this.#clock = clock;
    this.#tokens = this.#burst;
    this.#at = clock.monotonic();
  }

  /** Resolves when a token is available. Waiters get tokens in order. */
  async take(signal?: AbortSignal): Promise<void> {
    if (this.#perSecond <= 0) return;
    this.#refill();
    this.#tokens -= 1;
    if (this.#tokens >= 0) return;
    try {
      await sleep(this.#clock, (-this.#tokens / this.#perSecond) * 1000, signal);
    } catch (error) {
      this.#tokens += 1;
      throw error;
    }
  }

  /** Resolves when a token may be available that no caller waits for. Takes none. */
  async untilAvailable(signal?: AbortSignal): Promise<void> {
    if (this.#perSecond <= 0) return;
    this.#refill();
    const missing = 1 - this.#tokens;
    // Rounded up: a time that is too short to count would never end.
    if (missing > 0) await sleep(this.#clock, Math.ceil((missing / this.#perSecond) * 1000), signal);
  }

  /** Takes a token if one is available. Never waits. */
  tryTake(): boolean {
    if (this.#perSecond <= 0) return true;
    this.#refill();
    if (this.#tokens < 1) return false;
    this.#tokens -= 1;
    return true;
  }

  #refill(): void {
    const now = this.#clock.monotonic();
    const seconds = msBetween(this.#at, now) / 1000;
    this.#tokens = Math.min(this.#burst, this.#tokens + seconds * this.#perSecond);
    this.#at = now;
  }
}
