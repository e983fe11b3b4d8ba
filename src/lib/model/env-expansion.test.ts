import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { assertGrowth } from "../../../test/growth.ts";
import { expandVariables } from "./env-expansion.ts";

const known: Record<string, string> = { A: "a", B: "$(A)", EMPTY: "", "x y": "odd" };
const expand = (text: string) =>
  expandVariables(text, (name) => (Object.hasOwn(known, name) ? known[name] : undefined), {
    name: "V",
  });

const rows: [rule: string, text: string, want: string][] = [
  ["a known name is replaced", "-$(A)-", "-a-"],
  ["an unknown name is kept", "$(MISSING)", "$(MISSING)"],
  ["an empty value is a value", "[$(EMPTY)]", "[]"],
  ["two dollars make one, and no variable", "$$(A)", "$(A)"],
  ["three dollars are a dollar and a variable", "$$$(A)", "$a"],
  ["four dollars are two", "$$$$(A)", "$$(A)"],
  ["values are not expanded again", "$(B)", "$(A)"],
  ["an unclosed parenthesis is kept", "$(A", "$(A"],
  ["a dollar before anything else is kept", "$A $[A] $", "$A $[A] $"],
  ["any text may be a name", "$(x y)", "odd"],
  ["the first closing parenthesis ends a name", "$(A))", "a)"],
  ["a name may not be empty and known", "$()", "$()"],
  ["all in one", "$(A)-$(MISSING)-$$(A)", "a-$(MISSING)-$(A)"],
];

describe("expandVariables", () => {
  for (const [rule, text, want] of rows) it(rule, () => assert.equal(expand(text), want));

  it("never throws, and leaves text without dollars alone", () => {
    fc.assert(
      fc.property(fc.string({ unit: fc.constantFrom("$", "(", ")", "A", "{", "é", "\n") }), (text) => {
        const result = expand(text);
        if (!text.includes("$")) assert.equal(result, text);
      }),
    );
  });
  it("a result that is too long is rejected before it exists", () => {
    const long = "x".repeat(1 << 20);
    assert.equal(expandVariables("$(L)$(L)", () => long, { name: "V" }).length, 2 << 20);
    const twice = "$(L)".repeat(1 << 18);
    assert.throws(() => expandVariables(twice, () => long, { name: "V" }), {
      message: "V expands to more than 2097152 bytes",
    });
  });
  it("parentheses that are not closed take linear time", () => {
    assertGrowth(1, 1000, (size) => () => expand(`)${"$(".repeat(size)}`));
  });
  it("doubling every dollar keeps any text unchanged", () => {
    fc.assert(fc.property(fc.string(), (text) => assert.equal(expand(text.replaceAll("$", "$$$$")), text)));
  });
});
