import assert from "node:assert/strict";
import { test } from "node:test";
import { declaredNames, readSource } from "./source-names.mjs";

// "§" stands for "$".
const hidden = [
  ["comments", "a /* b { */ c // d\ne", "a           c     \ne", []],
  ["strings", `a("b{", 'c\\'')`, `a("  ", '   ')`, ["b{", "c\\'"]],
  ["text in template strings", "`a{ §{b} c` d", "`   §{b}  ` d", ["a{ ", " c"]],
  ["template strings in each other", "`§{a(`b§{{ c }}`)}`", "`§{a(` §{{ c }}`)}`", ["", "b", "", ""]],
  ["regular expressions", 'f(/["{/]/g, a / b / c)', "f(        , a / b / c)", []],
];
for (const [what, text, code, literals] of hidden) {
  test(`source names: ${what} are not code`, () => {
    const source = readSource(text.replaceAll("§", "$"));
    assert.equal(source.code, code.replaceAll("§", "$"));
    assert.deepEqual(source.literals, literals);
  });
}

const source = `
import { imported } from "x";
export class Worker<T extends { size: number }> implements Part {
  readonly name = "worker";
  readonly #queue: T[] = [];
  static make(): Worker<never> { return new Worker(); }
  get size(): number { return this.#queue.length; }
  async *all(): AsyncIterable<T> { for (const each of this.#queue) yield each; }
  #next<U>(from: U): void { used(from); }
}
interface Options { readonly limit?: number; onEnd(): void }
type Kind = "a" | { deep: { deeper: string } };
export function plan({ wanted }: { wanted: number }): void {}
const table = { planned: 1, run() {} };
`;

test("source names: classes, types, functions, constants and members are declared", () => {
  const { names } = declaredNames(readSource(source).code);
  const expected =
    "Worker name #queue make size all #next Options limit onEnd Kind deeper plan wanted table planned run";
  for (const name of expected.split(" ")) assert.ok(names.has(name), name);
});

test("source names: names that are only used are not declared", () => {
  const { names } = declaredNames(readSource("x.used.far; new Thing<Other>().go; return wanted + 1").code);
  for (const name of ["used", "far", "Thing", "Other", "go", "wanted"]) assert.ok(!names.has(name), name);
});

test("source names: each class and type has the members of its own", () => {
  const { members } = declaredNames(readSource(source).code);
  for (const name of ["name", "#queue", "make", "size", "all", "#next"])
    assert.ok(members.get("Worker").has(name), name);
  assert.ok(!members.get("Worker").has("onEnd"));
  assert.ok(members.get("Options").has("onEnd"));
  assert.ok(!members.get("Options").has("deep"));
  assert.ok(members.get("Kind").has("deeper"));
  assert.ok(!members.get("Kind").has("planned"));
});
