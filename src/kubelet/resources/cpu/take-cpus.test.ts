import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { formatCpuSet, parseCpuSet } from "../../../lib/model/cpu-set.ts";
import { cpuFixture, machine } from "./machine-fixtures.ts";
import { staticPolicyOptions } from "./policy-options.ts";
import { chooseCpus } from "./static-policy.ts";

type Case = readonly [machine: string, options: string, available: string, count: number, expected: string];

const cases = ["taken-cpus.json", "recorded/taken-cpus.json"].flatMap((file) => cpuFixture<Case[]>(file));

function choose(name: string, options: string, available: string, count: number, affinity?: bigint): string {
  const configured = Object.fromEntries(
    options
      .split(",")
      .filter(Boolean)
      .map((option) => [option, "true"]),
  );
  const topology = machine(name);
  const policy = {
    topology,
    options: staticPolicyOptions(configured, { enabled: () => true }),
    reserved: new Set<number>(),
  };
  const free = available === "all" ? topology.all : parseCpuSet(available);
  return formatCpuSet(chooseCpus(policy, { count, available: free, affinity }));
}

describe("the CPUs that are chosen on each machine are those of the reference", () => {
  for (const name of new Set(cases.map(([of]) => of)))
    test(`a container on ${name} gets the same CPUs`, () => {
      for (const [of, options, available, count, expected] of cases)
        if (of === name)
          assert.equal(
            choose(of, options, available, count),
            expected,
            `${count} of ${available}, ${options}`,
          );
    });
});

/** Written manually from the documented rules. */
const rules: Readonly<Record<string, readonly Case[]>> = {
  "whole sockets and NUMA nodes are taken first": [
    ["xeon-4x24", "", "all", 48, "0-23,96-119"],
    ["xeon-4x24", "", "1-191", 48, "24-47,120-143"],
    ["xeon-2x28-snc", "", "all", 56, "0-27,56-83"],
    ["xeon-2x28-snc", "", "all", 28, "0-13,56-69"],
    ["xeon-2x28-snc", "", "all", 84, "0-41,56-97"],
    ["epyc-2x64-nps4", "", "all", 128, "0-63,128-191"],
    ["epyc-2x64-nps4", "", "all", 32, "0-15,128-143"],
    ["power9-2x20", "", "all", 80, "0-79"],
    ["power9-2x20", "", "4-159", 80, "80-159"],
  ],
  "whole cores come before single CPUs": [
    ["core-4", "", "all", 2, "0,4"],
    ["core-4", "", "1-7", 2, "1,5"],
    ["core-4", "", "0-3,6", 2, "2,6"],
    ["core-4", "", "all", 3, "0-1,4"],
    ["power9-2x20", "", "all", 4, "0-3"],
    ["altra-80", "", "all", 3, "0-2"],
  ],
  "single CPUs come from the core, NUMA node and socket with the fewest free ones": [
    ["core-4", "", "1,3,5-7", 1, "6"],
    ["xeon-2x20", "", "all", 1, "0"],
    ["xeon-2x20", "", "1-79", 1, "40"],
    ["xeon-4x24", "", "0-95,97-191", 1, "0"],
    ["xeon-2x28-snc", "", "0-111", 1, "0"],
    ["qemu-8", "", "2-7", 1, "2"],
  ],
  "CPUs are spread over cores if configured": [
    ["core-4", "distribute-cpus-across-cores", "all", 2, "0-1"],
    ["core-4", "distribute-cpus-across-cores", "all", 5, "0-4"],
    ["xeon-4x24", "distribute-cpus-across-cores", "all", 3, "0-2"],
    ["xeon-2x20", "distribute-cpus-across-cores", "all", 3, "0,2,4"],
    ["power9-2x20", "distribute-cpus-across-cores", "all", 2, "0-1"],
  ],
  "CPUs of as few caches as possible are taken if preferred": [
    ["epyc-24", "prefer-align-cpus-by-uncorecache", "all", 6, "0-2,24-26"],
    ["epyc-24", "prefer-align-cpus-by-uncorecache", "1-23,25-47", 6, "3-5,27-29"],
    ["epyc-24", "prefer-align-cpus-by-uncorecache", "1-23,25-47", 4, "1-2,25-26"],
    ["epyc-24", "prefer-align-cpus-by-uncorecache", "1-23,25-47", 10, "1-5,25-29"],
    ["epyc-24", "prefer-align-cpus-by-uncorecache", "all", 3, "0-1,24"],
    ["epyc-96-nosmt", "prefer-align-cpus-by-uncorecache", "all", 8, "0-7"],
    ["epyc-96-nosmt", "prefer-align-cpus-by-uncorecache", "4-95", 8, "8-15"],
    ["epyc-96-nosmt", "prefer-align-cpus-by-uncorecache", "4-95", 4, "4-7"],
    ["epyc-96-nosmt", "", "4-95", 8, "4-11"],
  ],
  "CPUs are divided evenly among NUMA nodes if configured": [
    [
      "xeon-2x20",
      "distribute-cpus-across-numa",
      "all",
      40,
      "0,2,4,6,8,10,12,14,16,18,20,22,24,26,28,30,32,34,36,38,40,42,44,46,48,50,52,54,56,58,60,62,64,66,68,70,72,74,76,78",
    ],
    ["xeon-2x28-snc", "distribute-cpus-across-numa", "all", 40, "0-9,14-23,56-65,70-79"],
    ["xeon-4x24", "distribute-cpus-across-numa", "all", 96, "0-47,96-143"],
    ["epyc-32-4", "distribute-cpus-across-numa", "all", 20, "0-4,8-12,32-36,40-44"],
    ["core-4", "distribute-cpus-across-numa", "all", 2, "0,4"],
  ],
};

for (const [rule, rows] of Object.entries(rules))
  test(rule, () => {
    for (const [name, options, available, count, expected] of rows)
      assert.equal(choose(name, options, available, count), expected, `${count} of ${available} on ${name}`);
  });

test("CPUs of the NUMA nodes that the topology manager chose come first", () => {
  assert.equal(choose("xeon-4x24", "", "all", 2, 0b0100n), "48,144");
  assert.equal(choose("xeon-4x24", "", "all", 50, 0b0100n), "0,48-71,96,144-167");
  assert.equal(choose("xeon-2x28-snc", "", "all", 30, 0b0100n), "28-42,84-98");
  assert.equal(choose("xeon-2x28-snc", "", "28-29,42-55,98-111", 2, 0b0100n), "28-29");
});

test("by socket, the other NUMA nodes of the socket count as chosen too", () => {
  assert.equal(choose("xeon-2x28-snc", "align-by-socket", "28-29,42-55,98-111", 2, 0b0100n), "42,98");
  assert.equal(choose("xeon-2x28-snc", "align-by-socket", "0-29,42-111", 2, 0b0001n), "0,56");
});

test("too many CPUs are rejected with the numbers", () => {
  assert.throws(() => choose("core-4", "", "0,2,4,6", 5), {
    code: "UnexpectedAdmissionError",
    message: "not enough cpus available to satisfy request: requested=5, available=4",
  });
});
