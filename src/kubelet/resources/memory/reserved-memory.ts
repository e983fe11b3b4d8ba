import { KubeletError } from "../../../lib/base/errors.ts";
import { parseQuantity } from "../../../lib/model/quantity.ts";
import { formatQuantity } from "../../../lib/model/quantity-form.ts";
import type { NumaNode } from "../../../lib/model/topology.ts";
import type { SystemReserved } from "./machine-memory.ts";

/** The configuration field reservedMemory. */
export type MemoryReservations = readonly {
  readonly numaNode: number;
  readonly limits: Readonly<Record<string, string>>;
}[];

const unit = 1_000_000_000n;

/**
 * The memory of each NUMA node that is reserved for the system. Throws unless it is, altogether, what the node allocatable excludes: `reserved`, in nano units
 * by resource.
 */
export function systemReservedMemory(
  numaNodes: readonly NumaNode[],
  reserved: ReadonlyMap<string, bigint>,
  reservations: MemoryReservations,
): SystemReserved {
  const totals = new Map<string, bigint>();
  const byNode = new Map(numaNodes.map(({ id }) => [id, new Map<string, bigint>()]));
  for (const { numaNode, limits } of reservations) {
    const ofNode = byNode.get(numaNode);
    if (!ofNode)
      throw invalid(
        `the reserved memory configuration references a NUMA node ${numaNode} that does not exist on this machine`,
      );
    for (const [resource, text] of Object.entries(limits)) {
      const amount = parseQuantity(text) ?? 0n;
      totals.set(resource, (totals.get(resource) ?? 0n) + amount);
      ofNode.set(resource, amount / unit);
    }
  }
  const expected = new Map([...reserved].filter(([name]) => isMemory(name)));
  for (const resource of new Set([...expected.keys(), ...totals.keys()])) {
    const [total, value] = [totals.get(resource) ?? 0n, expected.get(resource) ?? 0n];
    if (total !== value)
      throw invalid(
        `the total amount ${shown(total)} of type "${resource}" is not equal to the value ${shown(value)} determined by Node Allocatable feature`,
      );
  }
  if ((totals.get("memory") ?? 0n) === 0n)
    throw invalid("[memorymanager] you should specify the system reserved memory");
  return byNode;
}

function isMemory(resource: string): boolean {
  return resource === "memory" || resource.startsWith("hugepages-");
}

function shown(nano: bigint): string {
  return `"${formatQuantity(nano, "binary")}"`;
}

function invalid(message: string): KubeletError {
  return new KubeletError("InvalidReservedMemory", message);
}
