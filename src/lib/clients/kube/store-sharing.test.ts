import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { shareEqualParts } from "./store-sharing.ts";

test("equal parts are those of the previous version, changed ones are new", () => {
  const before = { spec: { a: [1, { b: "x" }] }, status: { list: [{ n: 1 }, { n: 2 }] } };
  const after = { spec: { a: [1, { b: "x" }] }, status: { list: [{ n: 1 }, { n: 3 }] } };
  const shared = shareEqualParts(before, after);
  assert.equal(shared.spec, before.spec);
  assert.equal(shared.status.list[0], before.status.list[0]);
  assert.notEqual(shared.status, before.status);
  assert.deepEqual(shared, { spec: { a: [1, { b: "x" }] }, status: { list: [{ n: 1 }, { n: 3 }] } });
});

test("an equal object is the previous version", () => {
  const before = { a: { b: [1, 2] } };
  assert.equal(shareEqualParts(before, { a: { b: [1, 2] } }), before);
});

test("the result equals the newer version and the previous one is unchanged, for any data", () => {
  fc.assert(
    fc.property(fc.jsonValue(), fc.jsonValue(), fc.jsonValue(), (a, b, common) => {
      const [before, after] = [
        { a, common, x: [a, common] },
        { a: b, common, x: [b, common] },
      ].map((version) => structuredClone(version));
      const [former, expected] = [structuredClone(before), structuredClone(after)];
      const shared = shareEqualParts(before, after);
      assert.deepEqual(shared, expected);
      assert.deepEqual(before, former);
      if (typeof common === "object") assert.equal(shared?.common, before?.common);
    }),
    { numRuns: 500 },
  );
});

const differences: [string, unknown, unknown][] = [
  ["an added field", { a: 1 }, { a: 1, b: 1 }],
  ["a removed field", { a: 1, b: 1 }, { a: 1 }],
  ["another field with no value", { a: undefined }, { b: undefined }],
  ["a removed item", [1, 2], [1]],
  ["an array and an object", { 0: 1 }, [1]],
  ["null and an object", null, {}],
];

for (const [rule, before, after] of differences)
  test(`${rule} is a difference`, () =>
    assert.deepEqual(shareEqualParts(before, structuredClone(after)), after));

test("data that is not plain, or frozen, is left unchanged", () => {
  const after = { map: new Map([["a", 1]]), frozen: Object.freeze({ x: { y: 1 } }) };
  const { map, frozen } = after;
  const shared = shareEqualParts({ map: new Map([["a", 1]]), frozen: { x: { y: 1 } } }, after);
  assert.equal(shared.map, map);
  assert.equal(shared.frozen, frozen);
});
