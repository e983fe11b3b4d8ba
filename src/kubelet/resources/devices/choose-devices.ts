import type { Device } from "./device.ts";

export interface ChoiceInput {
  readonly count: number;
  /** Devices of init containers that have completed when this container starts: they are taken first. */
  readonly reusable: readonly string[];
  /** Healthy devices that no container has. */
  readonly available: readonly string[];
  readonly devices: ReadonlyMap<string, Device>;
  /** Bit n stands for NUMA node n; undefined for any node. */
  readonly affinity: bigint | undefined;
}

/** A GetPreferredAllocation call. Its response is only a preference: anything that is not offered is ignored. */
export interface PreferenceQuery {
  readonly kind: "query";
  readonly offered: readonly string[];
  readonly mustInclude: readonly string[];
  choose(preferred: readonly string[]): string[];
}

export type Choice =
  | { readonly kind: "chosen"; readonly devices: readonly string[] }
  | { readonly kind: "unavailable"; readonly needed: number; readonly available: number }
  | PreferenceQuery;

/** Which devices a container gets: first devices that it can reuse, then devices of its NUMA nodes, then others. */
export function chooseDevices(input: ChoiceInput): Choice {
  const { count, available } = input;
  const taken = input.reusable.slice(0, count);
  const missing = count - taken.length;
  if (missing === 0) return { kind: "chosen", devices: taken };
  if (available.length < missing)
    return { kind: "unavailable", needed: missing, available: available.length };
  const { aligned, unaligned, noAffinity } = byAffinity(input);
  if (missing < aligned.length) return query(taken, aligned, [aligned], count);
  const start = [...taken, ...aligned];
  if (start.length === count) return { kind: "chosen", devices: start };
  return query(start, available, [unaligned, noAffinity], count);
}

function query(
  mustInclude: readonly string[],
  from: readonly string[],
  fallback: readonly (readonly string[])[],
  count: number,
): PreferenceQuery {
  return {
    kind: "query",
    offered: [...new Set([...from, ...mustInclude])],
    mustInclude,
    choose(preferred) {
      const offered = new Set(from);
      const order = [...mustInclude, ...preferred.filter((id) => offered.has(id)), ...fallback.flat()];
      return [...new Set(order)].slice(0, count);
    },
  };
}

interface Groups {
  /** On the NUMA nodes of the affinity. */
  readonly aligned: string[];
  readonly unaligned: string[];
  /** Without NUMA nodes, or all if there is no affinity. */
  readonly noAffinity: string[];
}

function byAffinity({ available, devices, affinity }: ChoiceInput): Groups {
  const groups: Groups = { aligned: [], unaligned: [], noAffinity: [] };
  if (affinity === undefined || !hasTopology(devices)) return { ...groups, noAffinity: [...available] };
  for (const id of available) {
    const nodes = devices.get(id)?.numaNodes ?? [];
    if (nodes.length === 0) groups.noAffinity.push(id);
    else if (nodes.some((node) => isIn(affinity, node))) groups.aligned.push(id);
    else groups.unaligned.push(id);
  }
  return groups;
}

/** True if any device has NUMA nodes. Alignment then matters for the resource. */
export function hasTopology(devices: ReadonlyMap<string, Device>): boolean {
  return [...devices.values()].some(({ numaNodes }) => numaNodes.length > 0);
}

export function isIn(mask: bigint, node: number): boolean {
  return node >= 0 && ((mask >> BigInt(node)) & 1n) === 1n;
}
