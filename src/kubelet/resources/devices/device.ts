/** One device of a plugin. */
export interface Device {
  readonly id: string;
  readonly isHealthy: boolean;
  /** The NUMA nodes that it is attached to; empty if the plugin does not report any. */
  readonly numaNodes: readonly number[];
}

/** Stands for the NUMA node of devices that have none, in checkpoints too. */
const noNumaNode = -1;

/** Device IDs by NUMA node. A device that is attached to several nodes is listed with each. */
export type DevicesByNode = ReadonlyMap<number, readonly string[]>;

export function devicesByNode(
  ids: readonly string[],
  known: ReadonlyMap<string, Device>,
): Map<number, string[]> {
  const byNode = new Map<number, string[]>();
  for (const id of ids) {
    const nodes = known.get(id)?.numaNodes ?? [];
    for (const node of nodes.length > 0 ? nodes : [noNumaNode]) {
      const list = byNode.get(node);
      if (list) list.push(id);
      else byNode.set(node, [id]);
    }
  }
  return byNode;
}

/** Each ID once. */
export function idsOf(devices: DevicesByNode): Set<string> {
  return new Set([...devices.values()].flat());
}

/** The NUMA nodes of each device. */
export function nodesById(devices: DevicesByNode): Map<string, number[]> {
  const byId = new Map<string, number[]>();
  for (const [node, ids] of devices)
    for (const id of ids) {
      const nodes = byId.get(id) ?? [];
      byId.set(id, nodes);
      if (node !== noNumaNode) nodes.push(node);
    }
  return byId;
}
