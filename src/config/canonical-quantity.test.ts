import assert from "node:assert/strict";
import { test } from "node:test";
import { canonicalQuantity } from "./canonical-quantity.ts";

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
