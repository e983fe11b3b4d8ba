import { ConcurrencyGate } from "../../../lib/base/gate.ts";
import type { Pod } from "../../../lib/model/pod.ts";
import type { ResourceAllocator } from "../../../lib/model/topology.ts";

/** The locks of allocators, always taken in the same order: pods cannot block one another. */
export class AllocatorLocks {
  readonly #gates = new Map<ResourceAllocator, ConcurrencyGate>();

  /** Runs the work while it holds the locks of all of these allocators. Rejects if the signal aborts before. */
  async run<T>(
    pod: Pod,
    allocators: readonly ResourceAllocator[],
    work: () => Promise<T>,
    { signal, onWait }: { signal: AbortSignal; onWait: (allocator: ResourceAllocator) => void },
  ): Promise<T> {
    const [first, ...rest] = allocators;
    if (!first) return work();
    const withRest = () => this.run(pod, rest, work, { signal, onWait });
    if (!first.lock) {
      const gate = this.#gateOf(first);
      if (gate.running > 0) onWait(first);
      return gate.run(withRest, { signal });
    }
    onWait(first);
    const release = await first.lock(pod, signal);
    try {
      return await withRest();
    } finally {
      release();
    }
  }

  #gateOf(allocator: ResourceAllocator): ConcurrencyGate {
    const gate = this.#gates.get(allocator) ?? new ConcurrencyGate(1);
    this.#gates.set(allocator, gate);
    return gate;
  }
}
