import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import { FieldSet } from "./field-set.ts";
import type { Json, JsonObject } from "./json-value.ts";
import { pathText } from "./path-element.ts";
import { schemaFor } from "./schema.ts";
import { compareObjects } from "./typed-compare.ts";
import { interleave, mergeApplied } from "./typed-merge.ts";
import { removePaths } from "./typed-remove.ts";
import { fieldSetOf } from "./typed-set.ts";

const { root } = schemaFor("v1", "Pod");

describe("the fields of an object", () => {
  const table: [string, JsonObject, JsonObject][] = [
    [
      "leaves are in the set, structs are not",
      { spec: { nodeName: "n" } },
      { "f:spec": { "f:nodeName": {} } },
    ],
    [
      "entries of a map",
      { metadata: { labels: { a: "1" } } },
      { "f:metadata": { "f:labels": { "f:a": {} } } },
    ],
    [
      "an item and its fields",
      { spec: { containers: [{ name: "a" }] } },
      { "f:spec": { "f:containers": { 'k:{"name":"a"}': { ".": {}, "f:name": {} } } } },
    ],
    [
      "a key that is omitted has its default",
      { spec: { containers: [{ name: "a", ports: [{ containerPort: 80 }] }] } },
      {
        "f:spec": {
          "f:containers": {
            'k:{"name":"a"}': {
              ".": {},
              "f:name": {},
              "f:ports": { 'k:{"containerPort":80,"protocol":"TCP"}': { ".": {}, "f:containerPort": {} } },
            },
          },
        },
      },
    ],
    [
      "values of a set",
      { metadata: { finalizers: ["x"] } },
      { "f:metadata": { "f:finalizers": { 'v:"x"': {} } } },
    ],
    [
      "an atomic list is one value",
      { spec: { tolerations: [{ key: "a" }] } },
      { "f:spec": { "f:tolerations": {} } },
    ],
    [
      "an atomic map is one value",
      { spec: { nodeSelector: { a: "1" } } },
      { "f:spec": { "f:nodeSelector": {} } },
    ],
    [
      "an atomic item is one value",
      { metadata: { ownerReferences: [{ uid: "1", name: "n" }] } },
      { "f:metadata": { "f:ownerReferences": { 'k:{"uid":"1"}': {} } } },
    ],
    [
      "an empty object is a leaf",
      { spec: { securityContext: {} } },
      { "f:spec": { "f:securityContext": {} } },
    ],
    [
      "an empty associative list contributes no fields",
      { spec: { containers: [], nodeName: "n" } },
      { "f:spec": { "f:nodeName": {} } },
    ],
  ];
  for (const [rule, object, fields] of table)
    test(rule, () => {
      assert.deepEqual(fieldSetOf(object, root).toJson(), fields);
      assert.deepEqual(FieldSet.fromJson(fields).toJson(), fields);
    });
});

test("paths are shown as conflicts show them", () => {
  const path = ["f:spec", "f:containers", 'k:{"containerPort":80,"protocol":"TCP"}', 'v:"x"', "f:image"];
  assert.equal(pathText(path), '.spec.containers[containerPort=80,protocol="TCP"][="x"].image');
});

test("invalid fieldsV1 is rejected", () => {
  const wrong: Json[] = [[], { x: {} }, { "f:a": 1 }];
  for (const json of wrong) assert.throws(() => FieldSet.fromJson(json));
});

describe("the order of a merged list", () => {
  const table: [live: string, applied: string, merged: string][] = [
    ["ab", "ab", "ab"],
    ["ab", "ba", "ba"],
    ["abc", "b", "abc"],
    ["ab", "cb", "acb"],
    ["xayb", "ba", "xyba"],
    ["", "ab", "ab"],
    ["ab", "", "ab"],
    ["abc", "ca", "bca"],
  ];
  for (const [live, applied, merged] of table)
    test(`${live || "nothing"} with ${applied || "nothing"} is ${merged}`, () => {
      const positions = interleave([...live], [...applied]);
      assert.equal(
        positions.map((position) => ("live" in position ? live[position.live] : position.applied)).join(""),
        merged,
      );
    });

  test("has no duplicates, and the applied items in their order", () => {
    const letters = fc.uniqueArray(fc.constantFrom(..."abcdefg"), { maxLength: 7 });
    fc.assert(
      fc.property(letters, letters, (live, applied) => {
        const out = interleave(live, applied).map((position) =>
          "live" in position ? live[position.live]! : position.applied,
        );
        assert.deepEqual(new Set(out), new Set([...live, ...applied]));
        assert.equal(out.length, new Set(out).size);
        assert.deepEqual(
          out.filter((one) => applied.includes(one)),
          applied,
        );
        const only = live.filter((one) => !applied.includes(one));
        assert.deepEqual(
          out.filter((one) => only.includes(one)),
          only,
        );
      }),
      { numRuns: 500 },
    );
  });
});

const word = fc.constantFrom("a", "b", "c");
const anyPod = fc
  .record({
    metadata: fc.record({ labels: fc.dictionary(word, word), finalizers: fc.uniqueArray(word) }),
    spec: fc.record({
      containers: fc.uniqueArray(fc.record({ name: word, image: word, args: fc.array(word) }), {
        selector: ({ name }) => name,
      }),
    }),
  })
  .map((pod) => JSON.parse(JSON.stringify(pod)) as JsonObject);

test("set operations are those of sets of paths", () => {
  fc.assert(
    fc.property(anyPod, anyPod, (one, two) => {
      const [a, b] = [fieldSetOf(one, root), fieldSetOf(two, root)];
      const text = (set: FieldSet) => new Set([...set.paths()].map(pathText));
      const [inA, inB] = [text(a), text(b)];
      assert.deepEqual(text(a.union(b)), new Set([...inA, ...inB]));
      assert.deepEqual(text(a.intersection(b)), new Set([...inA].filter((path) => inB.has(path))));
      assert.deepEqual(text(a.difference(b)), new Set([...inA].filter((path) => !inB.has(path))));
      for (const path of b.paths()) assert.equal(a.has(path), inA.has(pathText(path)));
    }),
    { numRuns: 200 },
  );
});

test("applied fields are in the merged object, and remain when all others are removed", () => {
  fc.assert(
    fc.property(anyPod, anyPod, (one, two) => {
      const same = compareObjects(one, structuredClone(one), root);
      assert.ok(same.added.empty && same.modified.empty && same.removed.empty);
      const merged = mergeApplied(one, two, root);
      const rest = compareObjects(two, merged, root);
      assert.ok(rest.modified.empty && rest.removed.empty, "the merged object has all applied fields");
      const left = fieldSetOf(merged, root).difference(fieldSetOf(two, root));
      const reduced = removePaths(merged, left, root);
      const back = compareObjects(two, reduced, root);
      assert.ok(
        back.added.empty && back.modified.empty,
        "after removal of all other fields, only the applied ones remain",
      );
    }),
    { numRuns: 300 },
  );
});
