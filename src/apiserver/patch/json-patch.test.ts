import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import { jsonPatch } from "./json-patch.ts";
import { cloneJson, isObject, type Json, type JsonObject } from "./json-value.ts";

describe("operations", () => {
  const table: [string, JsonObject, Json[], JsonObject][] = [
    ["add sets a field", { a: 1 }, [{ op: "add", path: "/b", value: 2 }], { a: 1, b: 2 }],
    ["add replaces a field", { a: 1 }, [{ op: "add", path: "/a", value: 2 }], { a: 2 }],
    ["add inserts into a list", { a: [1, 3] }, [{ op: "add", path: "/a/1", value: 2 }], { a: [1, 2, 3] }],
    ["add appends at -", { a: [1] }, [{ op: "add", path: "/a/-", value: 2 }], { a: [1, 2] }],
    ["add at the length appends", { a: [1] }, [{ op: "add", path: "/a/1", value: 2 }], { a: [1, 2] }],
    ["add at -1 appends", { a: [1] }, [{ op: "add", path: "/a/-1", value: 2 }], { a: [1, 2] }],
    ["remove deletes a field", { a: 1, b: 2 }, [{ op: "remove", path: "/a" }], { b: 2 }],
    ["remove deletes an item", { a: [1, 2, 3] }, [{ op: "remove", path: "/a/1" }], { a: [1, 3] }],
    ["remove accepts a negative index", { a: [1, 2, 3] }, [{ op: "remove", path: "/a/-1" }], { a: [1, 2] }],
    ["replace sets an item", { a: [1, 2] }, [{ op: "replace", path: "/a/0", value: 9 }], { a: [9, 2] }],
    ["replace of a missing field sets it", {}, [{ op: "replace", path: "/a", value: 1 }], { a: 1 }],
    ["replace of the whole", { a: 1 }, [{ op: "replace", path: "", value: { b: 1 } }], { b: 1 }],
    ["move", { a: { b: 1 }, c: {} }, [{ op: "move", from: "/a/b", path: "/c/d" }], { a: {}, c: { d: 1 } }],
    ["copy is deep", { a: { b: 1 } }, copyThenChange(), { a: { b: 1 }, c: { b: 2 } }],
    ["~1 is a slash, ~0 a tilde", { "a/b~": 1 }, [{ op: "remove", path: "/a~1b~0" }], {}],
    ["~01 is ~1", { "~1": 1 }, [{ op: "remove", path: "/~01" }], {}],
    [
      "test of equal objects",
      { a: { b: [1] } },
      [{ op: "test", path: "/a", value: { b: [1] } }],
      { a: { b: [1] } },
    ],
    ["test of null for a missing field", { a: 1 }, [{ op: "test", path: "/b", value: null }], { a: 1 }],
    ["the empty name is a name", { "": 1 }, [{ op: "remove", path: "/" }], {}],
  ];
  for (const [rule, original, patch, expected] of table)
    test(rule, () => assert.deepEqual(jsonPatch(original, patch), expected));
});

function copyThenChange(): Json[] {
  return [
    { op: "copy", from: "/a", path: "/c" },
    { op: "replace", path: "/c/b", value: 2 },
  ];
}

describe("rejections have the usual messages", () => {
  const table: [Json, string][] = [
    [
      { op: "add", path: "/x/y", value: 1 },
      'add operation does not apply: doc is missing path: "/x/y": missing value',
    ],
    [
      { op: "add", path: "/l/9", value: 1 },
      "error in add for path: '/l/9': Unable to access invalid index: 9: invalid index referenced",
    ],
    [
      { op: "add", path: "/l/x", value: 1 },
      `error in add for path: '/l/x': value was not a proper array index: 'x': strconv.Atoi: parsing "x": invalid syntax`,
    ],
    [
      { op: "remove", path: "/x" },
      "error in remove for path: '/x': Unable to remove nonexistent key: x: missing value",
    ],
    [
      { op: "remove", path: "/l/5" },
      "error in remove for path: '/l/5': Unable to access invalid index: 5: invalid index referenced",
    ],
    [
      { op: "replace", path: "/x/y", value: 1 },
      "replace operation does not apply: doc is missing path: /x/y: missing value",
    ],
    [
      { op: "replace", path: "/l/5", value: 1 },
      "replace operation does not apply: doc is missing key: /l/5: missing value",
    ],
    [{ op: "test", path: "/a", value: 2 }, "testing value /a failed: test failed"],
    [
      { op: "test", path: "/x/y", value: 2 },
      "test operation does not apply: is missing path: /x/y: missing value",
    ],
    [
      { op: "move", from: "/x", path: "/b" },
      "error in move for path: 'x': Unable to remove nonexistent key: x: missing value",
    ],
    [
      { op: "copy", from: "/x/y", path: "/b" },
      "copy operation does not apply: doc is missing from path: /x/y: missing value",
    ],
    [{ op: "grow", path: "/b" }, "Unexpected kind: grow"],
    [
      { op: "add", path: "/a/b", value: 1 },
      'add operation does not apply: doc is missing path: "/a/b": missing value',
    ],
    [
      { op: "add", path: "/__proto__/x", value: 1 },
      'add operation does not apply: doc is missing path: "/__proto__/x": missing value',
    ],
    [
      { op: "remove", path: "/constructor" },
      "error in remove for path: '/constructor': Unable to remove nonexistent key: constructor: missing value",
    ],
    [{ op: "remove" }, "remove operation failed to decode path: operation missing path field: missing value"],
  ];
  for (const [operation, message] of table)
    test(message, () =>
      assert.throws(() => jsonPatch({ a: 1, l: [1, 2] }, [operation]), { code: "Invalid", message }),
    );
});

test("a patch is atomic: the original is unchanged when a later operation fails", () => {
  const original: JsonObject = { a: [1] };
  const patch = [
    { op: "add", path: "/a/-", value: 2 },
    { op: "test", path: "/a/0", value: 5 },
  ];
  assert.throws(() => jsonPatch(original, patch), { code: "Invalid" });
  assert.deepEqual(original, { a: [1] });
});

test("a patch that is not a list is a bad request, and one that is too long is too large", () => {
  assert.throws(() => jsonPatch({}, {}), { code: "BadRequest" });
  assert.throws(() => jsonPatch({}, ["x"]), { code: "BadRequest" });
  const many = Array.from({ length: 10_001 }, () => ({ op: "test", path: "/a", value: null }));
  assert.throws(() => jsonPatch({}, many), {
    code: "RequestEntityTooLarge",
    message: "The allowed maximum operations in a JSON patch is 10000, got 10001",
  });
});

describe("a patch is bounded", () => {
  test("values that are copied may have 3 MiB in total", () => {
    const double = Array.from({ length: 25 }, (_, i) => ({ op: "copy", from: "/a", path: `/a/${i}` }));
    assert.throws(() => jsonPatch({ a: { x: "0123456789" } }, double), {
      code: "Invalid",
      message:
        /^Unable to complete the copy, the accumulated size increase of copy is \d+, exceeding the limit 3145728$/,
    });
    const original = { a: "x".repeat(1 << 20) };
    const copy = (count: number): Json[] =>
      Array.from({ length: count }, (_, i) => ({ op: "copy", from: "/a", path: `/b${i}` }));
    assert.equal(Object.keys(jsonPatch(original, copy(2))).length, 3);
    assert.throws(() => jsonPatch(original, copy(3)), { code: "Invalid" });
  });

  const tooLong = {
    code: "RequestEntityTooLarge",
    message: "the operations of the JSON patch take too long",
  };
  const times = (count: number, operation: JsonObject): Json[] => Array(count).fill(operation);
  const list = (): JsonObject => ({ a: Array(1_000_000).fill(0) });
  const fields = (): JsonObject => ({
    a: Object.fromEntries(Array.from({ length: 5_000 }, (_, i) => [`k${i}`, 0])),
  });
  const rows: [rule: string, original: () => JsonObject, operation: JsonObject][] = [
    ["inserting at the start of a long list", list, { op: "add", path: "/a/0", value: 1 }],
    ["removing from the start of a long list", list, { op: "remove", path: "/a/1" }],
    ["moving within a long list", list, { op: "move", from: "/a/1", path: "/a/2" }],
  ];
  for (const [rule, original, operation] of rows)
    test(`${rule} is possible some times, and rejected thousands of times`, () => {
      jsonPatch(original(), times(50, operation));
      assert.throws(() => jsonPatch(original(), times(10_000, operation)), tooLong);
    });
  test("comparing objects with many fields is possible some times, and rejected a thousand times", () => {
    const same: JsonObject = { op: "test", path: "/a", value: fields().a! };
    jsonPatch(fields(), times(2, same));
    assert.throws(() => jsonPatch(fields(), times(1000, same)), tooLong);
  });
});

/** The same operations on a flat list of leaves: a document is the set of its paths. */
type Leaves = Map<string, Json>;

function leavesOf(value: Json, path = "", out: Leaves = new Map()): Leaves {
  if (isObject(value)) {
    out.set(path, {});
    for (const [key, item] of Object.entries(value)) leavesOf(item, `${path}/${key}`, out);
  } else out.set(path, value);
  return out;
}

test("add, remove, copy and move of fields do what they do on a flat list of paths", () => {
  const name = fc.constantFrom("a", "b", "c");
  const tree = fc.letrec<{ node: Json; object: JsonObject }>((tie) => ({
    object: fc.dictionary(name, tie("node"), { maxKeys: 3 }) as fc.Arbitrary<JsonObject>,
    node: fc.oneof({ maxDepth: 3 }, fc.integer({ min: 0, max: 3 }), tie("object")),
  }));
  const path = fc.array(name, { minLength: 1, maxLength: 3 }).map((steps) => `/${steps.join("/")}`);
  const operation = fc.record({
    op: fc.constantFrom("add", "remove", "copy", "move"),
    path,
    from: path,
    value: fc.integer(),
  });
  fc.assert(
    fc.property(tree.object, fc.array(operation, { maxLength: 5 }), (original, patch) => {
      let expected: Leaves | undefined = leavesOf(cloneJson(original));
      for (const step of patch) expected = expected && flat(expected, step);
      if (!expected) assert.throws(() => jsonPatch(original, patch), { code: "Invalid" });
      else {
        const actual = leavesOf(jsonPatch(original, patch));
        assert.deepEqual(Object.fromEntries(actual), Object.fromEntries(expected));
      }
    }),
    { numRuns: 1000 },
  );
});

interface Step {
  readonly op: string;
  readonly path: string;
  readonly from: string;
  readonly value: number;
}

function flat(leaves: Leaves, { op, path, from, value }: Step): Leaves | undefined {
  const out = new Map(leaves);
  const parent = (pointer: string) => pointer.slice(0, pointer.lastIndexOf("/"));
  const subtree = (pointer: string) =>
    [...out]
      .filter(([at]) => at === pointer || at.startsWith(`${pointer}/`))
      .map(([at, leaf]) => [at.slice(pointer.length), leaf] as const);
  const remove = (pointer: string) => {
    for (const [below] of subtree(pointer)) out.delete(pointer + below);
  };
  const isContainer = (pointer: string) => isObject(out.get(pointer));
  const put = (what: (readonly [string, Json])[]) => {
    if (!isContainer(parent(path))) return undefined;
    remove(path);
    for (const [below, leaf] of what) out.set(path + below, leaf);
    return out;
  };
  if (op === "add") return put([["", value]]);
  if (op === "remove") {
    if (!out.has(path)) return undefined;
    remove(path);
    return out;
  }
  if (!isContainer(parent(from))) return undefined;
  const source = subtree(from);
  if (op === "copy") return put(source.length > 0 ? source : [["", null]]);
  if (source.length === 0) return undefined;
  remove(from);
  return put(source);
}
