import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { formatCpuSet, isSameCpuSet, parseCpuSet } from "./cpu-set.ts";

test("a list of CPUs is written as the kernel writes it", () => {
  const lists: [string, string][] = [
    ["", ""],
    ["0", "0"],
    ["3,1,2", "1-3"],
    ["0-1,4,6-8", "0-1,4,6-8"],
    ["5-5", "5"],
    ["0,1,2,10-12,11", "0-2,10-12"],
  ];
  for (const [text, expected] of lists) assert.equal(formatCpuSet(parseCpuSet(text)), expected, text);
});

test("text that is not a list of CPUs is rejected with the part that is wrong", () => {
  const texts: [string, RegExp][] = [
    ["a", /"a" is not a CPU or a range of CPUs/],
    ["0,", /"" is not a CPU/],
    ["1.3", /"1.3" is not a CPU/],
    ["-1", /"-1" is not a CPU/],
    ["0-99999999", /"0-99999999" is not a CPU/],
    ["0-2,5-3", /invalid range "5-3" \(5 > 3\)/],
  ];
  for (const [text, message] of texts) assert.throws(() => parseCpuSet(text), message, text);
});

test("each CPU is added once, however many ranges contain it", (t) => {
  const add = t.mock.method(Set.prototype, "add");
  const cpus = parseCpuSet("9,0-99,0-99,50-120,0-3");
  assert.equal(add.mock.callCount(), 121);
  assert.equal(formatCpuSet(cpus), "0-120");
});

test("every set survives being written and read", () => {
  fc.assert(
    fc.property(fc.uniqueArray(fc.nat(300)), (cpus) => {
      assert.ok(isSameCpuSet(parseCpuSet(formatCpuSet(cpus)), new Set(cpus)));
    }),
  );
});
