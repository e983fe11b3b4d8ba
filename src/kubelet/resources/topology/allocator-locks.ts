import { ConcurrencyGate } from "../../../lib/base/gate.ts";
import type { Pod } from "../../../lib/model/pod.ts";
import type { ResourceAllocator } from "../../../lib/model/topology.ts";

/** Releases the locks of some allocators before the work is complete. */
export type Unlock = (allocators: readonly ResourceAllocator[]) => void;

/** The locks of allocators, always taken in the same order, so that pods cannot deadlock. */
export class AllocatorLocks {
  readonly #gates = new Map<ResourceAllocator, ConcurrencyGate>();

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
        const gate = allocator.lock ? undefined : this.#gateOf(allocator);
        if (!gate || gate.running > 0) onWait(allocator);
        held.set(
          allocator,
          (await (gate ? enter(gate, signal) : allocator.lock?.(pod, signal))) ?? (() => {}),
        );
      }
      return await work(unlock);
    } finally {
      unlock([...held.keys()]);
    }
  }

  #gateOf(allocator: ResourceAllocator): ConcurrencyGate {
    const gate = this.#gates.get(allocator) ?? new ConcurrencyGate(1);
    this.#gates.set(allocator, gate);
    return gate;
  }
}

/** Resolves to a function that releases the gate. */
function enter(gate: ConcurrencyGate, signal: AbortSignal): Promise<() => void> {
  return new Promise((resolve, reject) => {
    gate.run(() => new Promise<void>(resolve), { signal }).catch(reject);
  });
}
