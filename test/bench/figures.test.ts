import assert from "node:assert/strict";
import { test } from "node:test";
import { chart } from "./chart.ts";
import { type Column, figureKeys, type Measured, rowsOf } from "./figures.ts";
import { overTarget, table, withUnit } from "./table.ts";

const column = (name: string, ...turns: Measured[]): Column => ({ name, isFloor: name === "runtime", turns });
const floor = column("runtime", { onePod: 0.4, deleteAll: 4 }, { onePod: 0.2 }, { onePod: 0.3 });
const ours = column("kubelet-ts", { onePod: 0.3, burstRequests: 301, idleCpu: 0.1 }, { onePod: 0.5 });
const columns = [floor, ours];
const rowOf = (key: string, pods = 60) => rowsOf(columns, pods).find((row) => row.key === key)!;

test("every figure has a row, with the median and the range of its rounds", () => {
  assert.deepEqual(
    rowsOf(columns, 60).map(({ key }) => key),
    figureKeys,
  );
  const { cells } = rowOf("onePod");
  assert.deepEqual([cells[0]?.median, cells[0]?.least, cells[0]?.most], [0.3, 0.2, 0.4]);
  assert.deepEqual(rowOf("deleteAll").cells[1], undefined);
});

test("the target of one pod is a multiple of the runtime floor of the same run", () => {
  assert.equal(rowOf("onePod").target, 1.25 * 0.3);
  assert.equal(rowsOf([ours], 60).find(({ key }) => key === "onePod")?.target, undefined);
});

test("targets of a burst of 60 pods are not applied to other bursts", () => {
  assert.equal(rowOf("burstRequests").target, 300);
  assert.equal(rowOf("burstRequests", 110).target, undefined);
  assert.equal(rowOf("idleCpu", 110).target, 0.3);
});

for (const [value, unit, expected] of [
  [0.4123, "s", "0.41 s"],
  [12.34, "MiB", "12.3 MiB"],
  [123.4, "MiB", "123 MiB"],
  [298.5, "", "299"],
  [0.055, "%", "0.06 %"],
] as const)
  test(`${value} with the unit "${unit}" is printed as ${expected}`, () =>
    assert.equal(withUnit(value, unit), expected));

test("the table has a column for the floor, each kubelet and the target, and marks what is over it", () => {
  const rows = rowsOf(columns, 60);
  const lines = table(rows, columns).split("\n");
  assert.match(lines[0]!, /^\s+runtime\s+kubelet-ts\s+target$/);
  assert.match(lines[1]!, /^one pod.*0\.30 s \(0\.20–0\.40\)\s+0\.40 s \(0\.30–0\.50\) !\s+≤ 0\.38 s$/);
  assert.equal(lines.length, figureKeys.length + 1);
  assert.deepEqual(overTarget(rows, columns), [
    "! over the target, kubelet-ts: one pod, create to Ready, p50; burst, API requests",
  ]);
});

test("the floor is never over a target", () => {
  const slow = [column("runtime", { killedToRunning: 9 }), column("kubelet-ts", { killedToRunning: 0.1 })];
  assert.deepEqual(overTarget(rowsOf(slow, 60), slow), []);
});

test("the chart has a bar for each median, the longest fills its row, and the target is a line", () => {
  const svg = chart(rowsOf(columns, 60), columns, "2 cores");
  // One pod of the floor and of the kubelet, delete all of the floor, and the requests; the legend has two squares.
  assert.equal(svg.match(/<rect x="230" y="(?!6")\d+" width="[\d.]+" height="10"/g)?.length, 4);
  assert.equal(svg.match(/<path class="target"/g)?.length, 1 + 3);
  const onePod = /one pod.*?width="([\d.]+)".*?width="([\d.]+)"/.exec(svg)!;
  assert.deepEqual([Number(onePod[1]), Number(onePod[2])], [325.5, 434]);
});

test("the line of the target does not cross a value", () => {
  const near = [column("kubelet-ts", { burstRequests: 290 }), column("reference", { burstRequests: 540 })];
  const svg = chart(rowsOf(near, 60), near, "2 cores");
  const line = Number(/<path class="target" d="M([\d.]+) (?!4v14)/.exec(svg)?.[1]);
  const value = Number(/x="([\d.]+)" y="\d+">290</.exec(svg)?.[1]);
  assert.ok(value > line, `the value is at ${value}, the line at ${line}`);
});

test("the chart is well-formed, small and without a background of its own", () => {
  const named = [floor, column('a<b>&"c"', { onePod: 1 })];
  const svg = chart(rowsOf(named, 60), named, 'a & "b" <c>');
  assert.ok(svg.includes("a&#60;b&#62;&#38;&#34;c&#34;"), svg);
  const tags = [...svg.matchAll(/<(\/?)(\w+)[^<>]*?(\/?)>/g)];
  const open: string[] = [];
  for (const [, end, name, empty] of tags) {
    if (end) assert.equal(open.pop(), name);
    else if (!empty) open.push(name!);
  }
  assert.deepEqual(open, []);
  assert.doesNotMatch(svg.replace(/<[^<>]*>/g, ""), /[<>]|&(?!#)/);
  assert.ok(svg.length < 10_000, `${svg.length} bytes`);
  assert.match(svg, /prefers-color-scheme:dark/);
  assert.doesNotMatch(svg, /NaN|undefined|Infinity/);
});

test("a long caption is broken between its parts", () => {
  const parts = Array.from({ length: 6 }, (_, i) => `part ${i} ${"x".repeat(30)}`);
  const svg = chart(rowsOf(columns, 60), columns, parts.join("; "));
  const lines = [...svg.matchAll(/<text class="small" x="0" y="([\d.]+)">([^<]*)</g)];
  assert.equal(lines.length, 2);
  assert.equal(lines.map(([, , text]) => text).join("; "), parts.join("; "));
  const height = Number(/height="(\d+)"/.exec(svg)?.[1]);
  assert.ok(Number(lines[1]![1]) < height && Number(lines[0]![1]) < Number(lines[1]![1]));
});
