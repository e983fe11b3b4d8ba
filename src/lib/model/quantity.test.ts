import assert from "node:assert/strict";
import { test } from "node:test";
import { compareQuantities, parseQuantity, wholeUnits } from "./quantity.ts";

test("quantities are converted to whole units and to nano units, rounded away from zero", () => {
  const table: [string | number, bigint, bigint][] = [
    ["0", 0n, 0n],
    ["1", 1n, 1000_000_000n],
    [2, 2n, 2000_000_000n],
    ["100m", 1n, 100_000_000n],
    ["1500m", 2n, 1500_000_000n],
    ["0.5", 1n, 500_000_000n],
    [".5", 1n, 500_000_000n],
    ["64Mi", 67108864n, 67108864000_000_000n],
    ["1.5Gi", 1610612736n, 1610612736000_000_000n],
    ["1k", 1000n, 1000000_000_000n],
    ["1e3", 1000n, 1000000_000_000n],
    ["12E-1", 2n, 1200_000_000n],
    ["1E", 10n ** 18n, 10n ** 27n],
    ["100u", 1n, 100_000n],
    ["-1", -1n, -1_000_000_000n],
    ["8Ei", 2n ** 63n - 1n, (2n ** 63n - 1n) * 1_000_000_000n],
    ["1e300", 2n ** 63n - 1n, (2n ** 63n - 1n) * 1_000_000_000n],
    ["1e1002", 2n ** 63n - 1n, (2n ** 63n - 1n) * 1_000_000_000n],
    [`0.${"0".repeat(1002)}5e1003`, 5n, 5000_000_000n],
    ["1e-1002", 1n, 1n],
    [`5${"0".repeat(1002)}e-1002`, 5n, 5000_000_000n],
    ["0e99999999999999999999", 0n, 0n],
    ["1e99999999999999999999", 2n ** 63n - 1n, (2n ** 63n - 1n) * 1_000_000_000n],
    ["-1e-99999999999999999999", -1n, -1n],
    ["9007199254740988Ki", 9223372036854771712n, 9223372036854771712000_000_000n],
  ];
  for (const [text, whole, nano] of table) {
    assert.equal(wholeUnits(text), whole, `${text} in whole units`);
    assert.equal(parseQuantity(text), nano, `${text} in nano units`);
  }
});

test("text that is not a quantity is rejected", () => {
  for (const text of ["", "1QQ", "abc", "1 Mi", "1mi", "--1", "1.2.3", "0x10", "1Kib", "."])
    assert.equal(parseQuantity(text), undefined, text);
  assert.throws(() => wholeUnits("1QQ"), /"1QQ" is not a quantity/);
});

test("comparison ignores the notation", () => {
  assert.equal(compareQuantities("1Gi", "1024Mi"), 0);
  assert.equal(compareQuantities("999m", "1"), -1);
  assert.equal(compareQuantities("1G", "1M"), 1);
});
