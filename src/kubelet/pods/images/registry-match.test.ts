import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import { assertGrowth } from "../../../../test/growth.ts";
import { registryMatches } from "./registry-match.ts";

const labels: [pattern: string, label: string, matches: boolean][] = [
  ["[a-c]", "b", true],
  ["[c-a]", "b", false],
  ["[^a-c]x", "dx", true],
  ["[a-]", "a", false],
  ["[-a]", "a", false],
  ["[]a]", "a", false],
  ["[^]", "^", false],
  ["[a", "a", false],
  ["[\\]]", "]", true],
  ["[*]", "*", true],
  ["\\*", "*", true],
  ["\\*", "a", false],
  ["a\\", "a", false],
  ["a*[", "b", false],
  ["?", "😀", true],
  ["a*b*c", "aXbXbXc", true],
  ["a*b*c", "aXcXb", false],
  ["**", "", true],
];

describe("wildcards of a label", () => {
  for (const [pattern, label, expected] of labels)
    test(`${pattern} ${expected ? "matches" : "does not match"} "${label}"`, () =>
      assert.equal(registryMatches(pattern, `${label}/app`), expected));

  test("match exactly what trying all possibilities finds", () => {
    const part = fc.constantFrom("*", "?", "a", "b", "[ab]", "[^a]", "[a-b]", "\\*", "\\a", "\\");
    const label = fc.string({ unit: fc.constantFrom("a", "b", "c", "*"), maxLength: 8 });
    fc.assert(
      fc.property(fc.array(part, { maxLength: 8 }), label, (parts, text) =>
        assert.equal(registryMatches(parts.join(""), `${text}/app`), tryAll(parts.join(""), text)),
      ),
    );
  });

  test("are matched in time bounded by the product of both lengths", () => {
    assertGrowth(1, 1, (size) => {
      const pattern = "a*".repeat(size);
      return () => registryMatches(`${pattern}b`, `${"a".repeat(32)}/app`);
    });
  });

  test("are matched in time that does not depend on the length of a label that is too long", () => {
    assertGrowth(1, 1, (size) => {
      const [pattern, label] = ["a*".repeat(size), "a".repeat(size)];
      return () => registryMatches(`${pattern}b`, `${label}/app`);
    });
  });
});

test("an address in brackets is read in linear time", () =>
  assertGrowth(1, 1000, (size) => () => registryMatches(`[${":".repeat(size)}`, "r.io/app")));

/** A match by trying all lengths of each "*". */
function tryAll(pattern: string, text: string): boolean {
  const tokens = pattern.match(/\[\^?(?:[ab](?:-b)?)+\]|\\.|[^[\\]/g) ?? [];
  if (tokens.join("") !== pattern) return false;
  const from = (token: number, position: number): boolean => {
    const expected = tokens[token];
    if (expected === undefined) return position === text.length;
    if (expected === "*")
      return from(token + 1, position) || (position < text.length && from(token, position + 1));
    const actual = text[position];
    if (actual === undefined) return false;
    const same =
      expected === "?" ||
      (expected.startsWith("[")
        ? new RegExp(`^${expected}$`).test(actual)
        : expected.replace(/^\\/, "") === actual);
    return same && from(token + 1, position + 1);
  };
  return from(0, 0);
}
