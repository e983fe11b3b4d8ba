import type { Clock } from "../../lib/base/clock.ts";
import { type MonotonicTime, plusMs } from "../../lib/base/time.ts";
import { newSecret, secretHash } from "./secrets.ts";

const maxTokens = 32;

/** Tokens of links: each is valid once, and for a limited time. */
export class OneTimeTokens {
  readonly #clock: Clock;
  readonly #validMs: number;
  /** By key, the oldest first. */
  readonly #expiry = new Map<string, MonotonicTime>();

  constructor(clock: Clock, validMs: number) {
    this.#clock = clock;
    this.#validMs = validMs;
  }

  create(): string {
    const token = newSecret();
    const [oldest] = this.#expiry.keys();
    if (this.#expiry.size >= maxTokens && oldest !== undefined) this.#expiry.delete(oldest);
    this.#expiry.set(secretHash(token), plusMs(this.#clock.monotonic(), this.#validMs));
    return token;
  }

  /** True for the first use of a token that has not expired. */
  use(token: string): boolean {
    const key = secretHash(token);
    const expiry = this.#expiry.get(key);
    this.#expiry.delete(key);
    return expiry !== undefined && this.#clock.monotonic() < expiry;
  }

  clear(): void {
    this.#expiry.clear();
  }
}
