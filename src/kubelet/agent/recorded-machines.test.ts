import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { formatCpuSet, noCpus, parseCpuSet } from "../../lib/model/cpu-set.ts";
import { maskOf, nodesOf } from "../../lib/model/numa-mask.ts";
import type { TopologyHint, TopologyHints } from "../../lib/model/topology.ts";
import { cpuHints } from "../resources/cpu/cpu-hints.ts";
import {
  cpuFixture,
  machine,
  machineNumaNodes,
  recordedMachineNames,
} from "../resources/cpu/machine-fixtures.ts";
import { staticPolicyOptions } from "../resources/cpu/policy-options.ts";
import { chooseCpus } from "../resources/cpu/static-policy.ts";
import { type AligningPolicy, mergeHints } from "../resources/topology/merge-hints.ts";

/** NUMA nodes as "0+1", "any" for no preference; preferred ones with a star. */
function shown({ numaNodes, preferred }: TopologyHint): string {
  return `${numaNodes === undefined ? "any" : nodesOf(numaNodes).join("+")}${preferred ? "*" : ""}`;
}

function hint(text: string): TopologyHint {
  return { numaNodes: maskOf(text.replace("*", "").split("+").map(Number)), preferred: text.endsWith("*") };
}

function policyOf(name: string, options: string) {
  const configured = options.split(",").filter(Boolean);
  return {
    topology: machine(name),
    options: staticPolicyOptions(Object.fromEntries(configured.map((option) => [option, "true"])), {
      enabled: () => true,
    }),
    reserved: noCpus,
  };
}

const hintCases = cpuFixture<[machine: string, count: number, hints: string][]>("recorded/hints.json");

test("the NUMA nodes that have enough CPUs on each machine are those of the reference", () => {
  for (const [name, count, expected] of hintCases) {
    const { topology } = policyOf(name, "");
    const request = { count, available: topology.all, reusable: noCpus, alignBySocket: false };
    assert.equal(cpuHints(topology, request).map(shown).join(" "), expected, `${count} on ${name}`);
  }
});

/** `others` are the hints of another resource; the affinity is "-" if the pod is rejected. */
type Aligned = readonly [
  machine: string,
  policy: AligningPolicy,
  closest: boolean,
  options: string,
  available: string,
  count: number,
  others: string,
  affinity: string,
  cpus: string,
];

const aligned = cpuFixture<Aligned[]>("recorded/aligned-cpus.json");

/** The affinity of the container, and its CPUs. */
function align([name, policy, preferClosest, options, available, count, others]: Aligned): [string, string] {
  const statics = policyOf(name, options);
  const { topology, options: o } = statics;
  const free = available === "all" ? topology.all : parseCpuSet(available);
  const request = { count, available: free, reusable: noCpus, alignBySocket: o.alignBySocket };
  const hints: TopologyHints[] = [new Map([["cpu", cpuHints(topology, request)]])];
  if (others !== "") hints.push(new Map([["other", others.split(" ").map(hint)]]));
  const merged = mergeHints(hints, { policy, numaNodes: machineNumaNodes(name), preferClosest });
  if (!merged.admitted) return ["-", ""];
  const affinity = merged.hint.numaNodes;
  return [shown(merged.hint), formatCpuSet(chooseCpus(statics, { count, available: free, affinity }))];
}

describe("the NUMA nodes and CPUs of a container on each machine are those of the reference", () => {
  for (const name of recordedMachineNames)
    test(`a container on ${name} is aligned in the same way`, () => {
      const rows = aligned.filter(([of]) => of === name);
      assert.ok(rows.length > 0);
      for (const row of rows) assert.deepEqual(align(row), row.slice(-2), JSON.stringify(row));
    });
});

test("recorded machines have 1, 2, 4 and 8 NUMA nodes, with one and with several CPUs in a core", () => {
  const kinds = recordedMachineNames.map((name) => {
    const topology = machine(name);
    return `${topology.count("numaNode")} ${topology.all.size > topology.count("core") ? "SMT" : "no SMT"}`;
  });
  const expected = [1, 2, 4, 8].flatMap((nodes) => [`${nodes} SMT`, `${nodes} no SMT`]);
  assert.deepEqual(new Set(kinds), new Set(expected));
  const rows = [...cpuFixture<unknown[]>("recorded/taken-cpus.json"), ...aligned, ...hintCases];
  assert.ok(rows.length >= 200, `${rows.length} rows`);
});
