import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { isNarrower, type NumaMask, nodeCount, nodesOf } from "../../../lib/model/numa-mask.ts";
import type { TopologyHint, TopologyHints } from "../../../lib/model/topology.ts";
import { type MergeOptions, mergeHints } from "./merge-hints.ts";

const numRuns = Number(process.env.PROPERTY_RUNS ?? 500);

const cases = fc
  .record({
    count: fc.integer({ min: 1, max: 4 }),
    policy: fc.constantFrom("best-effort", "restricted", "single-numa-node"),
    preferClosest: fc.boolean(),
    distances: fc.array(fc.integer({ min: 10, max: 13 }), { minLength: 16, maxLength: 16 }),
    resources: fc.array(
      fc.option(
        fc.array(
          fc.record({
            mask: fc.option(fc.integer({ min: 1, max: 15 }), { freq: 8 }),
            preferred: fc.boolean(),
          }),
          { maxLength: 5 },
        ),
        { freq: 6 },
      ),
      { maxLength: 4 },
    ),
  })
  .map(({ count, policy, preferClosest, distances, resources }) => {
    const all = (1n << BigInt(count)) - 1n;
    const numaNodes = Array.from({ length: count }, (_, id) => ({
      id,
      distances: distances.slice(id * 4, id * 4 + count),
    }));
    const hints: TopologyHints = new Map(
      resources.map((list, i) => [
        `r${i}`,
        list?.flatMap(({ mask, preferred }) => {
          if (mask === null) return { numaNodes: undefined, preferred };
          const nodes = BigInt(mask) & all;
          return nodes === 0n ? [] : { numaNodes: nodes, preferred };
        }),
      ]),
    );
    return { all, hints, options: { policy, preferClosest, numaNodes } satisfies MergeOptions };
  });

/** Every combination of one hint for each resource, compared with the best one so far. */
function exhaustive(hints: TopologyHints, all: NumaMask, o: MergeOptions): TopologyHint {
  const isSingle = o.policy === "single-numa-node";
  const lists = [...hints.values()]
    .map((list) => (!list ? [any(true)] : list.length === 0 ? [any(false)] : list))
    .map((list) => (isSingle ? list.filter((h) => h.preferred && nodeCount(h.numaNodes ?? 1n) === 1) : list));
  const needed = Math.max(
    0,
    ...lists.map((list) => {
      const counts = list.flatMap((h) => (h.numaNodes === undefined ? [] : [nodeCount(h.numaNodes)]));
      return counts.length > 0 ? Math.min(...counts) : 0;
    }),
  );
  let best: { nodes: NumaMask; preferred: boolean } | undefined;
  const isBetterMask = (a: NumaMask, b: NumaMask) => {
    if (isSingle || !o.preferClosest || nodeCount(a) !== nodeCount(b)) return isNarrower(a, b);
    const [x, y] = [average(a, o), average(b, o)];
    return x === y ? a < b : x < y;
  };
  const replaces = (next: { nodes: NumaMask; preferred: boolean }) => {
    if (!best) return true;
    if (best.preferred !== next.preferred) return next.preferred;
    if (best.preferred) return isBetterMask(next.nodes, best.nodes);
    const [now, then] = [nodeCount(best.nodes), nodeCount(next.nodes)];
    if (now > needed) return isBetterMask(next.nodes, best.nodes);
    if (then > needed) return false;
    return now === then ? isBetterMask(next.nodes, best.nodes) : then > now;
  };
  const visit = (index: number, chosen: readonly TopologyHint[]) => {
    const list = lists[index];
    if (list) for (const hint of list) visit(index + 1, [...chosen, hint]);
    else {
      const masks = chosen.flatMap((h) => h.numaNodes ?? []);
      const nodes = masks.reduce((a, b) => a & b, all);
      const preferred = chosen.every((h) => h.preferred) && new Set(masks).size <= 1;
      if (nodes !== 0n && replaces({ nodes, preferred })) best = { nodes, preferred };
    }
  };
  visit(0, []);
  const { nodes, preferred } = best ?? { nodes: all, preferred: false };
  return { numaNodes: isSingle && nodes === all ? undefined : nodes, preferred };
}

const any = (preferred: boolean): TopologyHint => ({ numaNodes: undefined, preferred });

function average(mask: NumaMask, o: MergeOptions): number {
  const nodes = nodesOf(mask);
  const distances = nodes.flatMap((a) => nodes.map((b) => o.numaNodes[a]?.distances[b] ?? 0));
  return distances.reduce((a, b) => a + b, 0) / distances.length;
}

test("the merged hint is the best of all combinations", () => {
  fc.assert(
    fc.property(cases, ({ all, hints, options }) => {
      assert.deepEqual(mergeHints([hints], options).hint, exhaustive(hints, all, options));
    }),
    { numRuns },
  );
});

test("restricted and single-numa-node admit nothing that is not aligned", () => {
  fc.assert(
    fc.property(cases, ({ hints, options }) => {
      const { hint, admitted } = mergeHints([hints], options);
      if (options.policy === "best-effort") return assert.ok(admitted);
      assert.equal(admitted, hint.preferred);
      if (!admitted) return;
      for (const list of hints.values())
        assert.ok(
          list === undefined ||
            list.some(
              (h) =>
                h.preferred &&
                (h.numaNodes === undefined || hint.numaNodes === undefined || h.numaNodes === hint.numaNodes),
            ),
          "each resource has a preferred hint for exactly these nodes",
        );
      if (options.policy === "single-numa-node" && hint.numaNodes !== undefined)
        assert.equal(nodeCount(hint.numaNodes), 1);
    }),
    { numRuns },
  );
});

test("eight NUMA nodes and four resources that fit anywhere do not take a combinatorial time", () => {
  const numaNodes = Array.from({ length: 8 }, (_, id) => ({ id, distances: [] }));
  const everywhere = Array.from({ length: 255 }, (_, i) => ({
    numaNodes: BigInt(i + 1),
    preferred: nodeCount(BigInt(i + 1)) === 3,
  }));
  const hints = new Map(["cpu", "memory", "hugepages-2Mi", "gpu"].map((name) => [name, everywhere]));
  const { hint } = mergeHints([hints], { policy: "restricted", numaNodes, preferClosest: false });
  assert.deepEqual(hint, { numaNodes: 0b111n, preferred: true });
});
