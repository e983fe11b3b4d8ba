import assert from "node:assert/strict";
import { test } from "node:test";
import { noCpus, parseCpuSet } from "../../../lib/model/cpu-set.ts";
import { cpuHints } from "./cpu-hints.ts";
import { machine } from "./machine-fixtures.ts";

/** NUMA nodes as "0+1"; preferred ones with a star. */
function hints(
  name: string,
  count: number,
  o: { available?: string; reusable?: string; socket?: boolean } = {},
): string {
  const topology = machine(name);
  const found = cpuHints(topology, {
    count,
    available: o.available === undefined ? topology.all : parseCpuSet(o.available),
    reusable: o.reusable === undefined ? noCpus : parseCpuSet(o.reusable),
    alignBySocket: o.socket ?? false,
  });
  const nodes = topology.ids("numaNode");
  return found
    .map(({ numaNodes = 0n, preferred }) => {
      const set = nodes.filter((node) => numaNodes & (1n << BigInt(node)));
      return `${set.join("+")}${preferred ? "*" : ""}`;
    })
    .join(" ");
}

test("every set of NUMA nodes with enough CPUs is a hint, the smallest possible ones are preferred", () => {
  const rows: [string, number, string][] = [
    ["vm-2", 1, "0*"],
    ["vm-2", 2, "0*"],
    ["vm-2", 3, ""],
    ["qemu-8", 8, "0*"],
    ["xeon-2x20", 1, "0* 1* 0+1"],
    ["xeon-2x20", 40, "0* 1* 0+1"],
    ["xeon-2x20", 41, "0+1*"],
    ["power9-2x20", 80, "0* 8* 0+8"],
    ["power9-2x20", 81, "0+8*"],
    ["xeon-2x28-snc", 28, "0* 1* 2* 3* 0+1 0+2 0+3 1+2 1+3 2+3 0+1+2 0+1+3 0+2+3 1+2+3 0+1+2+3"],
    ["xeon-2x28-snc", 29, "0+1* 0+2* 0+3* 1+2* 1+3* 2+3* 0+1+2 0+1+3 0+2+3 1+2+3 0+1+2+3"],
    ["xeon-2x28-snc", 85, "0+1+2+3*"],
  ];
  for (const [name, count, expected] of rows)
    assert.equal(hints(name, count), expected, `${count} on ${name}`);
  assert.equal(hints("epyc-2x64-nps4", 1).split(" ").length, 255);
});

test("a set is preferred for its size on an empty machine, even if others have too few free CPUs", () => {
  assert.equal(hints("xeon-2x20", 2, { available: "0,2,1" }), "0* 0+1");
  assert.equal(hints("xeon-2x20", 3, { available: "0,2,1" }), "0+1");
  assert.equal(hints("xeon-2x20", 4, { available: "0,2,1" }), "");
});

test("a set must contain all CPUs that the pod has already, and these count", () => {
  assert.equal(hints("xeon-2x20", 2, { available: "1,3,5", reusable: "0,40" }), "0* 0+1");
  assert.equal(hints("xeon-2x20", 3, { available: "1,3,5", reusable: "0,40" }), "0+1");
  assert.equal(hints("xeon-4x24", 2, { available: "24-30", reusable: "0,48" }), "0+2 0+1+2 0+2+3 0+1+2+3");
});

test("by socket, all sets within the fewest sockets are preferred", () => {
  assert.equal(
    hints("xeon-2x28-snc", 28, { socket: true }),
    "0* 1* 2* 3* 0+1* 0+2 0+3 1+2 1+3 2+3* 0+1+2 0+1+3 0+2+3 1+2+3 0+1+2+3",
  );
  assert.equal(hints("xeon-2x28-snc", 57, { socket: true }), "0+1+2* 0+1+3* 0+2+3* 1+2+3* 0+1+2+3*");
});
