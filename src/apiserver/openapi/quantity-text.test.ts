import assert from "node:assert/strict";
import { test } from "node:test";
import { assertGrowth } from "../../../test/growth.ts";
import { quantityError } from "./scalar-check.ts";

const syntaxError =
  "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";
const rows: [text: string, error: string | undefined][] = [
  ["1", undefined],
  ["", syntaxError],
  ["1x", syntaxError],
  ["1.2.3", syntaxError],
  ["Ki", "unable to parse numeric part of quantity"],
  [".", "unable to parse numeric part of quantity"],
  ["1KiKi", "unable to parse quantity's suffix"],
  ["1-5", "unable to parse quantity's suffix"],
];
for (const [text, error] of rows)
  test(`"${text}" ${error === undefined ? "is a quantity" : `is rejected: ${error}`}`, () =>
    assert.equal(quantityError(text), error));

test("a long text is checked in linear time", () =>
  assertGrowth(1, 1000, (size) => () => quantityError(`${"1".repeat(size)}x`)));
