/** A set of NUMA nodes: bit n stands for node n. */
export type NumaMask = bigint;

export function maskOf(nodes: Iterable<number>): NumaMask {
  let mask = 0n;
  for (const node of nodes) mask |= 1n << BigInt(node);
  return mask;
}

/** The nodes of the set, lowest first. */
export function nodesOf(mask: NumaMask): number[] {
  const nodes: number[] = [];
  for (let rest = mask, node = 0; rest > 0n; rest >>= 1n, node++) if (rest & 1n) nodes.push(node);
  return nodes;
}

export function nodeCount(mask: NumaMask): number {
  let count = 0;
  for (let rest = mask; rest > 0n; rest &= rest - 1n) count++;
  return count;
}

/** Fewer nodes, or as many with lower numbers. */
export function isNarrower(a: NumaMask, b: NumaMask): boolean {
  const [countA, countB] = [nodeCount(a), nodeCount(b)];
  return countA === countB ? a < b : countA < countB;
}

/** All nonempty sets of these nodes, which are sorted: smaller sets first. */
export function* masksOf(nodes: readonly number[]): Generator<NumaMask> {
  for (let size = 1; size <= nodes.length; size++) yield* ofSize(nodes, size, 0n);
}

function* ofSize(nodes: readonly number[], size: number, chosen: NumaMask): Generator<NumaMask> {
  if (size === 0) {
    yield chosen;
    return;
  }
  for (const [index, node] of nodes.entries())
    yield* ofSize(nodes.slice(index + 1), size - 1, chosen | (1n << BigInt(node)));
}

/** "0-1,3", as in the kernel's lists of nodes. */
export function maskText(mask: NumaMask): string {
  const ranges: [number, number][] = [];
  for (const node of nodesOf(mask)) {
    const last = ranges.at(-1);
    if (last && last[1] === node - 1) last[1] = node;
    else ranges.push([node, node]);
  }
  return ranges.map(([first, last]) => (first === last ? `${first}` : `${first}-${last}`)).join(",");
}
