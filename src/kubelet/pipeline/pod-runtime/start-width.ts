import { type Clock, msSince } from "../../../lib/base/clock.ts";
import type { StartKind } from "./pod-runtime.ts";

/** A start that takes this many times as long as the shortest of its kind shows that more starts at a time would not be faster. */
const unhurried = 1.25;
/** One that takes this many times as long shows that fewer would be as fast. */
const slowed = 1.5;
/** While less of the CPUs than this is idle, more starts would only slow each other down. */
const minIdle = 0.5;
const manyCpus = 16;
const maxWidth = 1024;

export interface StartWidthOptions {
  readonly cpus: number;
  /** How many of them the cgroup and the affinity of this process allow: usually, the runtime has the same. */
  readonly usableCpus: number;
  readonly clock: Pick<Clock, "monotonic">;
  /** The time that CPUs were idle so far, the sum of all; undefined if it is unknown. */
  readonly idleMs: () => number | undefined;
}

/**
 * How many starts run at a time. A start waits for disk and network as much as it computes: a few for each CPU. With few CPUs that is fixed,
 * because more would soon slow each other down.
 */
export function startWidth(options: StartWidthOptions): number | StartWidth {
  const { cpus, usableCpus } = options;
  return Math.min(cpus, usableCpus) < manyCpus
    ? Math.min(32, Math.max(4, 4 * cpus))
    : new StartWidth(options);
}

/**
 * The width of a machine with many CPUs. While starts wait for a slot although CPUs are idle, and those that run take no longer than the
 * shortest, the runtime can do more: each such start adds one, so the width doubles in the time of a start. As soon as they take longer, the
 * width shrinks again, to its lower bound.
 */
export class StartWidth {
  readonly #o: StartWidthOptions;
  readonly #min: number;
  #width: number;
  readonly #shortestMs = new Map<StartKind, number>();

  constructor(options: StartWidthOptions) {
    this.#o = options;
    this.#min = 8 * Math.min(options.cpus, options.usableCpus);
    this.#width = this.#min;
  }

  get width(): number {
    return this.#width;
  }

  /** A start begins. Call the result when it has succeeded; `isFull` is true if others wait for its slot. */
  started(kind: StartKind): (isFull: boolean) => void {
    const { clock, idleMs, cpus } = this.#o;
    const since = clock.monotonic();
    const idleBefore = idleMs();
    return (isFull) => {
      const ms = msSince(clock, since);
      const shortestMs = Math.min(ms, this.#shortestMs.get(kind) ?? ms);
      this.#shortestMs.set(kind, shortestMs);
      if (ms > slowed * shortestMs) this.#width = Math.max(this.#min, this.#width - 1);
      if (!isFull || ms > unhurried * shortestMs || idleBefore === undefined) return;
      const idle = (idleMs() ?? idleBefore) - idleBefore;
      if (idle >= minIdle * cpus * ms) this.#width = Math.min(maxWidth, this.#width + 1);
    };
  }
}
