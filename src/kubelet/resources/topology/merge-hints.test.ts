import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { isNarrower, maskOf, nodeCount } from "../../../lib/model/numa-mask.ts";
import type { TopologyHint, TopologyHints } from "../../../lib/model/topology.ts";
import { type AligningPolicy, type MergeOptions, mergeHints } from "./merge-hints.ts";

/** A hint by its nodes, lowest first: "0" and "01" are preferred, "0!" and "01!" are not; "*" and "*!" are any node. */
function hint(text: string): TopologyHint {
  const preferred = !text.endsWith("!");
  const nodes = text.replace("!", "");
  return { numaNodes: nodes === "*" ? undefined : maskOf([...nodes].map(Number)), preferred };
}

/** The hints of a resource, separated by spaces; "?" for no preference, "" if no node can serve it. */
function resource(text: string): TopologyHint[] | undefined {
  if (text === "?") return undefined;
  return text.split(" ").filter(Boolean).map(hint);
}

function hintsOf(resources: readonly string[]): TopologyHints[] {
  return [new Map(resources.map((text, index) => [`r${index}`, resource(text)]))];
}

function shown({ numaNodes, preferred }: TopologyHint): string {
  const nodes = numaNodes === undefined ? "*" : [...numaNodes.toString(2)].reverse();
  const text = nodes === "*" ? nodes : nodes.flatMap((bit, node) => (bit === "1" ? [node] : [])).join("");
  return preferred ? text : `${text}!`;
}

function nodes(count: number, distances?: readonly (readonly number[])[]): MergeOptions["numaNodes"] {
  return Array.from({ length: count }, (_, id) => ({
    id,
    distances: distances?.[id] ?? Array.from({ length: count }, (_, to) => (to === id ? 10 : 20)),
  }));
}

/** [the rule, the hints of each resource, and the results of best-effort, restricted and single-numa-node; "-" if the pod is rejected]. */
type Row = readonly [string, readonly string[], bestEffort: string, restricted: string, single: string];

const twoNodes: readonly Row[] = [
  ["no resource allows all nodes", [], "01", "01", "*"],
  ["no preference allows all nodes", ["?"], "01", "01", "*"],
  ["no preference of several resources allows all nodes", ["?", "?", "?"], "01", "01", "*"],
  ["a resource that cannot be served is aligned with nothing", [""], "01!", "-", "-"],
  ["one of two that cannot be served is aligned with nothing", ["?", ""], "01!", "-", "-"],
  ["a resource that cannot be served makes the node of another not preferred", ["", "0"], "0!", "-", "-"],
  ["a hint of any node is as good as no preference", ["*"], "01", "01", "*"],
  ["a hint of any node that is not preferred is not aligned", ["*!"], "01!", "-", "-"],
  ["one preferred node is used", ["0"], "0", "0", "0"],
  ["the other preferred node is used", ["1"], "1", "1", "1"],
  ["the lower of two preferred nodes is used", ["0 1"], "0", "0", "0"],
  ["the order of hints does not matter", ["1 0"], "0", "0", "0"],
  ["a node that is not preferred is used if there is no other", ["0!"], "0!", "-", "-"],
  ["a preferred node is used rather than a lower one that is not", ["0! 1"], "1", "1", "1"],
  ["a resource without preference follows the other", ["?", "1"], "1", "1", "1"],
  ["the same preferred node is used", ["0", "0"], "0", "0", "0"],
  ["different preferred nodes have none in common", ["0", "1"], "01!", "-", "-"],
  ["the node in common is used", ["0 1", "1"], "1", "1", "1"],
  ["the node in common is used in any order", ["1", "0 1"], "1", "1", "1"],
  ["the lowest node in common is used", ["0 1", "0 1"], "0", "0", "0"],
  ["all nodes are used if both resources need them", ["01", "01"], "01", "01", "-"],
  ["one node is preferred by one, all by the other", ["0", "01"], "0!", "-", "-"],
  ["a larger set that is not preferred is narrowed down", ["0", "01!"], "0!", "-", "-"],
  ["a preferred single node wins over a larger set", ["0 01!", "0 01!"], "0", "0", "0"],
  ["a larger set of one includes the only node of the other", ["0 1 01!", "1 01!"], "1", "1", "1"],
  ["without a preferred node in common the lowest overlap is used", ["0 01!", "1 01!"], "0!", "-", "-"],
  ["nodes that are not preferred remain so", ["0! 1!", "0! 1!"], "0!", "-", "-"],
  ["preferred and not preferred on the same node is not preferred", ["0", "0!"], "0!", "-", "-"],
  ["three resources on one node are aligned", ["0 1", "1 01!", "1"], "1", "1", "1"],
  ["one of three on another node is not aligned", ["0", "0", "1"], "01!", "-", "-"],
  ["any node, one node and no preference are aligned", ["*", "1", "?"], "1", "1", "1"],
  ["two preferred sets of which one is shared", ["01", "0 01"], "01", "01", "-"],
];

const fourNodes: readonly Row[] = [
  ["no preference allows all nodes", ["?"], "0123", "0123", "*"],
  ["the narrowest preferred set is used", ["012 23 1"], "1", "1", "1"],
  ["the lowest of preferred pairs is used", ["23 12 13"], "12", "12", "-"],
  ["preferred pairs in common are used", ["01 23", "12 23"], "23", "23", "-"],
  ["pairs that share one node only are not preferred", ["01", "12"], "1!", "-", "-"],
  ["as many nodes as the largest resource needs at least, if not preferred", ["0!", "01!"], "0!", "-", "-"],
  ["two nodes are used if one resource needs two", ["0! 01! 0123!", "01! 0123!"], "01!", "-", "-"],
  ["two nodes rather than three if two are needed", ["012! 01!", "012! 01!"], "01!", "-", "-"],
  ["fewer nodes than needed, but as many as possible", ["03!", "0123! 012!"], "03!", "-", "-"],
  ["more nodes than needed only if there is no other", ["0123!"], "0123!", "-", "-"],
  ["the lowest set of the needed size", ["23! 12! 01!", "?"], "01!", "-", "-"],
  ["one of several resources decides how many nodes are needed", ["*!", "013!"], "013!", "-", "-"],
  ["a preferred larger set wins over a smaller one that is not", ["0! 123"], "123", "123", "-"],
  ["disjoint pairs have no node in common", ["01", "23"], "0123!", "-", "-"],
  ["a single node of many is aligned", ["0 1 2 3", "2 3", "3 0"], "3", "3", "3"],
  ["no single node is common to three", ["0 1", "1 2", "2 0"], "0123!", "-", "-"],
  ["sets that contain the node of another resource", ["0 1 2 3", "01 23"], "0!", "-", "-"],
];

const policies: readonly AligningPolicy[] = ["best-effort", "restricted", "single-numa-node"];

for (const [count, rows] of [
  [2, twoNodes],
  [4, fourNodes],
] as const)
  describe(`${count} NUMA nodes`, () => {
    for (const [rule, resources, ...results] of rows)
      for (const [index, policy] of policies.entries())
        test(`${policy}: ${rule}`, () => {
          const merged = mergeHints(hintsOf(resources), {
            policy,
            numaNodes: nodes(count),
            preferClosest: false,
          });
          assert.equal(merged.admitted ? shown(merged.hint) : "-", results[index]);
        });
  });

describe("prefer-closest-numa-nodes", () => {
  // Nodes 0 and 3 are close to each other, as are 1 and 2.
  const distances = [
    [10, 30, 30, 11],
    [30, 10, 12, 30],
    [30, 12, 10, 30],
    [11, 30, 30, 10],
  ];
  const rows: readonly [string, readonly string[], string][] = [
    ["the closest pair is used", ["01 03 12 23"], "03"],
    ["the closest pair of those that are not preferred is used", ["01! 12! 13!"], "12!"],
    ["one node is used rather than a close pair", ["03 1"], "1"],
    ["the lower pair is used at equal distance", ["01 02"], "01"],
    ["a preferred pair is used rather than a closer one that is not", ["01 03!"], "01"],
    ["fewer nodes are better than close ones", ["012! 03!", "012! 03!"], "03!"],
  ];
  for (const policy of ["best-effort", "restricted"] as const)
    for (const [rule, resources, expected] of rows)
      test(`${policy}: ${rule}`, () => {
        const merged = mergeHints(hintsOf(resources), {
          policy,
          preferClosest: true,
          numaNodes: nodes(4, distances),
        });
        assert.equal(shown(merged.hint), expected);
      });
  test("without the option the lower pair is used", () => {
    const options = { policy: "best-effort", numaNodes: nodes(4, distances), preferClosest: false } as const;
    assert.equal(shown(mergeHints(hintsOf(["01 03 12 23"]), options).hint), "01");
  });
  test("single-numa-node is not affected", () => {
    const options = { policy: "single-numa-node", numaNodes: nodes(4, distances) } as const;
    for (const preferClosest of [false, true])
      assert.equal(shown(mergeHints(hintsOf(["1 2 3"]), { ...options, preferClosest }).hint), "1");
  });
});

test("on a machine with one NUMA node single-numa-node leaves the choice to the hint providers", () => {
  const options = { policy: "single-numa-node", numaNodes: nodes(1), preferClosest: false } as const;
  assert.deepEqual(mergeHints(hintsOf(["0"]), options), {
    hint: { numaNodes: undefined, preferred: true },
    admitted: true,
  });
});

test("hints of several hint providers count as those of one", () => {
  const [both] = hintsOf(["0 1", "1 01!"]);
  const separate = [...(both ?? [])].map((entry) => new Map([entry]));
  for (const policy of policies) {
    const options = { policy, numaNodes: nodes(2), preferClosest: false };
    assert.deepEqual(mergeHints(separate, options), mergeHints([both ?? new Map()], options));
  }
});

test("a hint provider without hints has no preference", () => {
  const options = { policy: "restricted", numaNodes: nodes(2), preferClosest: false } as const;
  assert.equal(shown(mergeHints([new Map(), ...hintsOf(["1"])], options).hint), "1");
});

test("a mask has fewer nodes, or lower ones, if it is narrower", () => {
  const sorted = ["0", "1", "2", "01", "02", "12", "012"].map((text) => hint(text).numaNodes ?? 0n);
  for (const [i, a] of sorted.entries())
    for (const [j, b] of sorted.entries()) assert.equal(isNarrower(a, b), i < j, `${a} ${b}`);
  assert.equal(nodeCount(0b1011n), 3);
});
