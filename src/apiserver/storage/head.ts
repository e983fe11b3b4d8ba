import { whenAborted } from "../../lib/base/abort.ts";
import type { Clock } from "../../lib/base/clock.ts";
import { abortError } from "../../lib/base/errors.ts";
import { closed, futureVersion } from "./errors.ts";

interface Waiter {
  /** The resource whose next change ends the wait; undefined for any version from `position` on. */
  readonly resource: string | undefined;
  /** The version that the waiter has seen, or waits for. Changes of other resources advance it, so that it is not compacted. */
  position: number;
  readonly wake: (why: Woken) => void;
}

export type Woken = "change" | "time" | "aborted" | "closed";

/** The end of the history, and the waiters for new versions. */
export class Head {
  readonly #clock: Clock;
  readonly #waiters = new Set<Waiter>();
  #version: number;
  #closed = false;

  constructor(clock: Clock, version: number) {
    this.#clock = clock;
    this.#version = version;
  }

  get version(): number {
    return this.#version;
  }

  get closed(): boolean {
    return this.#closed;
  }

  get waiting(): number {
    return this.#waiters.size;
  }

  advance(version: number, resources: ReadonlySet<string>): void {
    this.#version = version;
    for (const waiter of this.#waiters) {
      const { resource, position } = waiter;
      if (resource === undefined ? position <= version : resources.has(resource)) waiter.wake("change");
      else if (resource !== undefined && position < version) waiter.position = version;
    }
  }

  close(): void {
    this.#closed = true;
    for (const waiter of this.#waiters) waiter.wake("closed");
  }

  /**
   * Waits for a change to the resource. Returns why the wait ended, and the version up to which nothing was missed.
   */
  nextChange(
    resource: string,
    position: number,
    timeoutMs: number,
    signal: AbortSignal | undefined,
  ): Promise<{ why: Woken; position: number }> {
    return this.#wait(resource, position, timeoutMs, signal);
  }

  /** Resolves when the history has reached a version. */
  async reach(version: number, timeoutMs: number, signal: AbortSignal | undefined): Promise<void> {
    if (version <= this.#version) return;
    const { why } = await this.#wait(undefined, version, timeoutMs, signal);
    switch (why) {
      case "change":
        return;
      case "time":
        throw futureVersion(version, this.#version);
      case "aborted":
        throw abortError(signal?.reason);
      case "closed":
        throw closed();
      default:
        return why satisfies never;
    }
  }

  #wait(
    resource: string | undefined,
    position: number,
    timeoutMs: number,
    signal: AbortSignal | undefined,
  ): Promise<{ why: Woken; position: number }> {
    if (this.#closed) return Promise.resolve({ why: "closed", position });
    if (signal?.aborted) return Promise.resolve({ why: "aborted", position });
    return new Promise((resolve) => {
      const waiter: Waiter = {
        resource,
        position,
        wake: (why) => {
          if (!this.#waiters.delete(waiter)) return;
          cancel?.();
          aborted[Symbol.dispose]();
          resolve({ why, position: waiter.position });
        },
      };
      this.#waiters.add(waiter);
      const aborted = whenAborted(signal, () => waiter.wake("aborted"));
      const cancel =
        timeoutMs === Number.POSITIVE_INFINITY
          ? undefined
          : this.#clock.after(timeoutMs, () => waiter.wake("time"));
    });
  }
}
