import { hugepagesName } from "../../../lib/model/resources.ts";
import type { NumaNode } from "../../../lib/model/topology.ts";

/** The memory of one kind on one NUMA node, in bytes. */
export interface MemoryTable {
  readonly total: bigint;
  readonly systemReserved: bigint;
  readonly allocatable: bigint;
  readonly reserved: bigint;
  readonly free: bigint;
}

export interface NodeMemory {
  /** How many blocks are allocated from the node: one for each kind of memory of a container. */
  readonly assignments: number;
  /** By resource: "memory", "hugepages-2Mi". */
  readonly tables: ReadonlyMap<string, MemoryTable>;
  /** The node and all that it is used together with: a node never serves both one-node and multi-node allocations. */
  readonly group: readonly number[];
}

/** By NUMA node. */
export type MachineMemory = ReadonlyMap<number, NodeMemory>;

/** Memory of one kind that a container has, anywhere on these NUMA nodes. */
export interface MemoryBlock {
  readonly nodes: readonly number[];
  readonly resource: string;
  readonly bytes: bigint;
}

/** By NUMA node and resource, in bytes. */
export type SystemReserved = ReadonlyMap<number, ReadonlyMap<string, bigint>>;

/** The memory of the machine with nothing allocated. Huge pages are not available as memory. */
export function unusedMemory(numaNodes: readonly NumaNode[], systemReserved: SystemReserved): MachineMemory {
  return new Map(
    numaNodes.map(({ id, memoryBytes, hugepages }) => {
      const reservedOf = (resource: string) => systemReserved.get(id)?.get(resource) ?? 0n;
      const pools = hugepages.map(({ pageBytes, pages }) => ({
        resource: hugepagesName(pageBytes),
        total: pageBytes * pages,
      }));
      const inPools = pools.reduce((sum, { total }) => sum + total, 0n);
      const tables = new Map(
        pools.map(({ resource, total }) => [resource, unusedTable(total, reservedOf(resource), 0n)]),
      );
      tables.set("memory", unusedTable(memoryBytes, reservedOf("memory"), inPools));
      return [id, { assignments: 0, tables, group: [id] }];
    }),
  );
}

function unusedTable(total: bigint, systemReserved: bigint, elsewhere: bigint): MemoryTable {
  const left = total - systemReserved - elsewhere;
  const allocatable = left > 0n ? left : 0n;
  return { total, systemReserved, allocatable, reserved: 0n, free: allocatable };
}

/** The machine after a block was allocated: its nodes are used as one group, lower ones first. `bytes` may be less than the block's. */
export function withBlock(
  machine: MachineMemory,
  { nodes, resource }: MemoryBlock,
  bytes: bigint,
): MachineMemory {
  let left = bytes;
  return changed(machine, nodes, (node) => {
    const table = node.tables.get(resource);
    const part = table ? smaller(left, table.free) : 0n;
    left -= part;
    return {
      assignments: node.assignments + 1,
      group: nodes,
      tables: table ? withReserved(node.tables, resource, table, part) : node.tables,
    };
  });
}

/** The machine after a block was released. */
export function withoutBlock(machine: MachineMemory, { nodes, resource, bytes }: MemoryBlock): MachineMemory {
  let left = bytes;
  return changed(machine, nodes, (node, id) => {
    const table = node.tables.get(resource);
    const part = table ? smaller(left, table.reserved) : 0n;
    left -= part;
    const assignments = node.assignments - 1;
    return {
      assignments,
      group: assignments === 0 ? [id] : node.group,
      tables: table ? withReserved(node.tables, resource, table, -part) : node.tables,
    };
  });
}

function changed(
  machine: MachineMemory,
  nodes: readonly number[],
  change: (node: NodeMemory, id: number) => NodeMemory,
): MachineMemory {
  const result = new Map(machine);
  for (const id of nodes) {
    const node = result.get(id);
    if (node) result.set(id, change(node, id));
  }
  return result;
}

function withReserved(
  tables: NodeMemory["tables"],
  resource: string,
  table: MemoryTable,
  bytes: bigint,
): NodeMemory["tables"] {
  return new Map(tables).set(resource, {
    ...table,
    reserved: table.reserved + bytes,
    free: table.free - bytes,
  });
}

export function smaller(a: bigint, b: bigint): bigint {
  if (a < b) return a;
  return b;
}

export function sameNodes(a: readonly number[], b: readonly number[]): boolean {
  return a.length === b.length && a.every((node) => b.includes(node));
}

/**
 * Whether both have the same sizes and the same amounts in use. Within a group only the sum of its nodes matters: which node of a group serves
 * a block depends on the order of allocations and releases.
 */
export function sameUse(a: MachineMemory, b: MachineMemory): boolean {
  if (a.size !== b.size) return false;
  return [...a].every(([id, nodeA]) => {
    const nodeB = b.get(id);
    if (!nodeB || nodeA.assignments !== nodeB.assignments || nodeA.tables.size !== nodeB.tables.size)
      return false;
    if (!sameNodes(nodeA.group, nodeB.group)) return false;
    return [...nodeA.tables].every(([resource, tableA]) => {
      const tableB = nodeB.tables.get(resource);
      return (
        tableB !== undefined &&
        tableA.total === tableB.total &&
        tableA.systemReserved === tableB.systemReserved &&
        tableA.allocatable === tableB.allocatable &&
        sumOf(a, nodeA.group, resource, "free") === sumOf(b, nodeA.group, resource, "free") &&
        sumOf(a, nodeA.group, resource, "reserved") === sumOf(b, nodeA.group, resource, "reserved")
      );
    });
  });
}

/** The sum over these nodes. A node that does not have the resource counts as 0. */
export function sumOf(
  machine: MachineMemory,
  nodes: readonly number[],
  resource: string,
  amount: "free" | "reserved" | "allocatable",
): bigint {
  return nodes.reduce((sum, id) => sum + (machine.get(id)?.tables.get(resource)?.[amount] ?? 0n), 0n);
}
