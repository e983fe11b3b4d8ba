import type { TopologyHint } from "../../../lib/model/topology.ts";
import { isIn } from "./choose-devices.ts";
import type { Device } from "./device.ts";

export interface HintInput {
  readonly count: number;
  readonly devices: ReadonlyMap<string, Device>;
  readonly available: ReadonlySet<string>;
  /** Devices of init containers that the container takes over: all of them belong to a hint. */
  readonly reusable: ReadonlySet<string>;
  /** The NUMA nodes of the machine. */
  readonly numaNodes: readonly number[];
}

/** All sets of NUMA nodes that have enough devices; the smallest that could ever have enough are preferred. */
export function deviceHints({ count, devices, available, reusable, numaNodes }: HintInput): TopologyHint[] {
  const withDevices = new Set([...devices.values()].flatMap((device) => device.numaNodes));
  const known = numaNodes.filter((node) => withDevices.has(node));
  const nodes = known.length > 0 ? known : numaNodes;
  let smallest = nodes.length;
  const masks: { mask: bigint; size: number }[] = [];
  for (const { mask, size } of subsets(nodes)) {
    const inMask = (device: Device | undefined) =>
      device?.numaNodes.some((node) => isIn(mask, node)) ?? false;
    const inAll = [...devices.values()].filter(inMask).length;
    if (inAll >= count) smallest = Math.min(smallest, size);
    const reused = [...reusable].flatMap((id) => devices.get(id) ?? []).filter((d) => d.numaNodes.length > 0);
    if (!reused.every(inMask)) continue;
    const free = [...available].filter((id) => !reusable.has(id) && inMask(devices.get(id)));
    if (reused.length + free.length >= count) masks.push({ mask, size });
  }
  return masks.map(({ mask, size }) => ({ numaNodes: mask, preferred: size === smallest }));
}

/** All sets with at least one node, smaller ones first. */
function subsets(nodes: readonly number[]): { mask: bigint; size: number }[] {
  let sets: { mask: bigint; size: number }[] = [{ mask: 0n, size: 0 }];
  for (const node of nodes)
    sets = [
      ...sets,
      ...sets.map(({ mask, size }) => ({ mask: mask | (1n << BigInt(node)), size: size + 1 })),
    ];
  return sets.filter(({ size }) => size > 0).sort((a, b) => a.size - b.size || (a.mask < b.mask ? -1 : 1));
}
