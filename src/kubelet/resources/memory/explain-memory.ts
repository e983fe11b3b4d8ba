import { maskOf, maskText } from "../../../lib/model/numa-mask.ts";
import { formatQuantity } from "../../../lib/model/quantity-form.ts";
import type { MachineMemory } from "./machine-memory.ts";
import type { MemoryRequests } from "./memory-requests.ts";

/** "memory: 4Gi requested, free 1Gi of 8Gi on NUMA node 0, 2Gi of 8Gi on NUMA node 1 (used together: 0-1)" */
export function memoryText(requests: MemoryRequests, machine: MachineMemory): string {
  return [...requests]
    .map(([resource, bytes]) => {
      const nodes = [...machine].map(([id, { tables, group }]) => {
        const { free = 0n, allocatable = 0n } = tables.get(resource) ?? {};
        const together = group.length > 1 ? ` (used together: ${maskText(maskOf(group))})` : "";
        return `${quantity(free)} of ${quantity(allocatable)} on NUMA node ${id}${together}`;
      });
      return `${resource}: ${quantity(bytes)} requested, free ${nodes.join(", ")}`;
    })
    .join("; ");
}

function quantity(bytes: bigint): string {
  return formatQuantity(bytes * 1_000_000_000n, "binary");
}
