import type { ObservedContainer } from "../../state/observed-pods.ts";

interface Entry {
  delayMs: number;
  updatedAt: number;
}

/**
 * How long a container that keeps ending has to wait: nothing the first time, then 10 s doubling up to the limit,
 * and nothing again after it ran for twice the limit. What an agent before us counted is taken from the attempt.
 */
export class RestartBackoff {
  readonly #initialMs: number;
  readonly #maxMs: number;
  #entries = new Map<string, Entry>();

  constructor(maxMs: number, initialMs = 10_000) {
    this.#initialMs = Math.min(initialMs, maxMs);
    this.#maxMs = maxMs;
  }

  restartAt(key: string, ended: ObservedContainer): number {
    const entry = this.#entries.get(key) ?? this.#seed(key, ended);
    if (!entry || ended.finishedAt - entry.updatedAt > 2 * this.#maxMs) return 0;
    return ended.finishedAt + entry.delayMs;
  }

  /** The delay that applies to the container as it ended, for messages. */
  delayMs(key: string): number {
    return this.#entries.get(key)?.delayMs ?? 0;
  }

  /** The container is started again at this moment. */
  restarted(key: string, ended: ObservedContainer, now: number): void {
    const entry = this.#entries.get(key);
    const fresh = !entry || ended.finishedAt - entry.updatedAt > 2 * this.#maxMs;
    const delayMs = fresh ? this.#initialMs : Math.min(entry.delayMs * 2, this.#maxMs);
    this.#entries.set(key, { delayMs, updatedAt: now });
  }

  forget(prefix: string): void {
    for (const key of this.#entries.keys()) if (key.startsWith(prefix)) this.#entries.delete(key);
  }

  #seed(key: string, ended: ObservedContainer): Entry | undefined {
    if (ended.attempt === 0) return undefined;
    const delayMs = Math.min(this.#initialMs * 2 ** Math.min(ended.attempt - 1, 20), this.#maxMs);
    const entry = { delayMs, updatedAt: ended.startedAt || ended.createdAt };
    this.#entries.set(key, entry);
    return entry;
  }
}
