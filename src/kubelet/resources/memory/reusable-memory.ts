import { maskOf, type NumaMask } from "../../../lib/model/numa-mask.ts";
import { type MemoryBlock, smaller } from "./machine-memory.ts";

/**
 * The memory of init containers of one pod, which later containers of the pod use again: an init container completes before the next
 * container starts. By NUMA nodes and resource, in bytes.
 */
export class ReusableMemory {
  readonly #bytes = new Map<string, bigint>();

  of(nodes: NumaMask, resource: string): bigint {
    return this.#bytes.get(keyOf(nodes, resource)) ?? 0n;
  }

  /** An init container has these blocks. */
  offer(blocks: readonly MemoryBlock[]): void {
    for (const { nodes, resource, bytes } of blocks)
      if (bytes > this.of(maskOf(nodes), resource)) this.#bytes.set(keyOf(maskOf(nodes), resource), bytes);
  }

  /** A container that keeps running has these blocks. */
  use(blocks: readonly MemoryBlock[]): void {
    for (const { nodes, resource, bytes } of blocks) {
      const left = this.of(maskOf(nodes), resource) - bytes;
      this.#bytes.set(keyOf(maskOf(nodes), resource), left > 0n ? left : 0n);
    }
  }
}

function keyOf(nodes: NumaMask, resource: string): string {
  return `${nodes} ${resource}`;
}

/** The blocks of an earlier init container, less what a later container uses of them, and what that one still needs from others. */
export function reuseBlocks(
  earlier: readonly MemoryBlock[],
  needed: readonly MemoryBlock[],
): { left: MemoryBlock[]; needed: MemoryBlock[] } {
  let rest = [...needed];
  const left = earlier.map((block) => {
    let { bytes } = block;
    rest = rest.map((need) => {
      if (need.resource !== block.resource || maskOf(need.nodes) !== maskOf(block.nodes)) return need;
      const used = smaller(need.bytes, bytes);
      bytes -= used;
      return { ...need, bytes: need.bytes - used };
    });
    return { ...block, bytes };
  });
  return { left, needed: rest };
}
