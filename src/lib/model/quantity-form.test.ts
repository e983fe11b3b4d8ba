import assert from "node:assert/strict";
import { test } from "node:test";
import { canonicalQuantity, roundedToMilli } from "./quantity-form.ts";

test("each quantity has one canonical form", () => {
  for (const [text, canonical] of [
    ["0", "0"],
    ["0Mi", "0"],
    ["0.5", "500m"],
    ["1.5", "1500m"],
    ["1000m", "1"],
    ["1000000", "1M"],
    ["1024", "1024"],
    ["1024Ki", "1Mi"],
    ["1.5Gi", "1536Mi"],
    ["512Ki", "512Ki"],
    ["0.5Ki", "512"],
    ["1e3", "1e3"],
    ["1500e3", "1500e3"],
    [2, "2"],
    [0.1, "100m"],
    ["-1", "-1"],
    ["1n", "1n"],
    ["", undefined],
    ["1QQ", undefined],
    ["1 Gi", undefined],
  ] as const)
    assert.equal(canonicalQuantity(text), canonical, String(text));
});

test("resources are rounded up to thousandths", () => {
  for (const [text, rounded] of [
    ["1n", "1m"],
    ["1.0001", "1001m"],
    ["1", "1"],
    ["100m", "100m"],
  ] as const)
    assert.equal(roundedToMilli(text), rounded, text);
});

const table: [text: string | number, canonical: string | undefined][] = [
  ["0", "0"],
  ["0Gi", "0"],
  [0, "0"],
  ["1024Mi", "1Gi"],
  ["1.5Gi", "1536Mi"],
  ["100Mi", "100Mi"],
  ["1Ki", "1Ki"],
  ["512.5Ki", "524800"],
  ["0.5Ki", "512"],
  ["1000", "1k"],
  [1500, "1500"],
  ["0.5", "500m"],
  ["200m", "200m"],
  ["1e3", "1e3"],
  ["12e2", "1200"],
  ["-2048Ki", "-2Mi"],
  ["1QQ", undefined],
  ["", undefined],
];
for (const [text, canonical] of table) {
  test(`quantity ${JSON.stringify(text)} is written ${canonical}`, () => {
    assert.equal(canonicalQuantity(text), canonical);
    if (canonical !== undefined) assert.equal(canonicalQuantity(canonical), canonical);
  });
}
