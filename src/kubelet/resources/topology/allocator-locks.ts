import { ConcurrencyLimiter } from "../../../lib/base/concurrency-limiter.ts";
import type { Pod } from "../../../lib/model/pod.ts";
import type { ResourceAllocator } from "../../../lib/model/topology.ts";

/** Releases the locks of some allocators before the work is complete. */
export type Unlock = (allocators: readonly ResourceAllocator[]) => void;

/** The locks of allocators, always taken in the same order, so that pods cannot deadlock. */
export class AllocatorLocks {
  readonly #limiters = new Map<ResourceAllocator, ConcurrencyLimiter>();

  /** Runs the work while it holds the locks of all of these allocators. Rejects if the signal is aborted while it waits for one. */
  async run<T>(
    pod: Pod,
    allocators: readonly ResourceAllocator[],
    work: (unlock: Unlock) => Promise<T>,
    { signal, onWait }: { signal: AbortSignal; onWait: (allocator: ResourceAllocator) => void },
  ): Promise<T> {
    const held = new Map<ResourceAllocator, () => void>();
    const unlock: Unlock = (some) => {
      for (const allocator of some) {
        held.get(allocator)?.();
        held.delete(allocator);
      }
    };
    try {
      for (const allocator of allocators) {
        const limiter = allocator.lock ? undefined : this.#limiterOf(allocator);
        if (!limiter || limiter.running > 0) onWait(allocator);
        held.set(
          allocator,
          (await (limiter ? enter(limiter, signal) : allocator.lock?.(pod, signal))) ?? (() => {}),
        );
      }
      return await work(unlock);
    } finally {
      unlock([...held.keys()]);
    }
  }

  #limiterOf(allocator: ResourceAllocator): ConcurrencyLimiter {
    const limiter = this.#limiters.get(allocator) ?? new ConcurrencyLimiter(1);
    this.#limiters.set(allocator, limiter);
    return limiter;
  }
}

/** Resolves to a function that releases the limiter. */
function enter(limiter: ConcurrencyLimiter, signal: AbortSignal): Promise<() => void> {
  return new Promise((resolve, reject) => {
    limiter.run(() => new Promise<void>(resolve), { signal }).catch(reject);
  });
}
