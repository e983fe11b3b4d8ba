import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import { assertGrowth } from "../../../test/growth.ts";
import { cloneJson, isObject, type Json, type JsonObject, jsonEqual, ownValue } from "./json-value.ts";
import type { Rule } from "./rule.ts";
import { fieldRule, schemaFor } from "./schema.ts";
import { strategicMergePatch } from "./strategic-merge.ts";

const pod = schemaFor("v1", "Pod");

type Case = [rule: string, original: JsonObject, patch: JsonObject, expected: JsonObject];

const containers: Case[] = [
  [
    "an item is found by its key and merged",
    { containers: [{ name: "a", image: "1", tty: true }] },
    { containers: [{ name: "a", image: "2" }] },
    { containers: [{ name: "a", image: "2", tty: true }] },
  ],
  [
    "a new item comes in the order of the patch",
    { containers: [{ name: "c" }] },
    { containers: [{ name: "d" }, { name: "c", image: "2" }] },
    { containers: [{ name: "d" }, { name: "c", image: "2" }] },
  ],
  [
    "items that the patch does not name keep their place",
    { containers: [{ name: "a" }, { name: "b" }, { name: "c" }] },
    { containers: [{ name: "c", image: "2" }] },
    { containers: [{ name: "a" }, { name: "b" }, { name: "c", image: "2" }] },
  ],
  [
    "$patch: delete removes an item",
    { containers: [{ name: "a" }, { name: "b" }] },
    { containers: [{ name: "a", $patch: "delete" }] },
    { containers: [{ name: "b" }] },
  ],
  [
    "$patch: replace replaces the whole list",
    { containers: [{ name: "a" }, { name: "b" }] },
    { containers: [{ name: "c" }, { $patch: "replace" }] },
    { containers: [{ name: "c" }] },
  ],
  [
    "lists in items merge by their own keys",
    { containers: [{ name: "a", env: [{ name: "X", value: "1" }] }] },
    { containers: [{ name: "a", env: [{ name: "Y", value: "2" }] }] },
    {
      containers: [
        {
          name: "a",
          env: [
            { name: "Y", value: "2" },
            { name: "X", value: "1" },
          ],
        },
      ],
    },
  ],
  [
    "ports merge by containerPort alone",
    { containers: [{ name: "a", ports: [{ containerPort: 80, protocol: "TCP" }] }] },
    { containers: [{ name: "a", ports: [{ containerPort: 80, protocol: "UDP" }] }] },
    { containers: [{ name: "a", ports: [{ containerPort: 80, protocol: "UDP" }] }] },
  ],
  [
    "null removes a field of an item",
    { containers: [{ name: "a", image: "1" }] },
    { containers: [{ name: "a", image: null }] },
    { containers: [{ name: "a" }] },
  ],
  [
    "args are replaced",
    { containers: [{ name: "a", args: ["1", "2"] }] },
    { containers: [{ name: "a", args: ["3"] }] },
    { containers: [{ name: "a", args: ["3"] }] },
  ],
  [
    "$setElementOrder orders all",
    { containers: [{ name: "a" }, { name: "b" }] },
    {
      "$setElementOrder/containers": [{ name: "b" }, { name: "a" }],
      containers: [{ name: "b", image: "2" }],
    },
    { containers: [{ name: "b", image: "2" }, { name: "a" }] },
  ],
  [
    "$setElementOrder works without a change",
    { containers: [{ name: "a" }, { name: "b" }] },
    { "$setElementOrder/containers": [{ name: "b" }, { name: "a" }] },
    { containers: [{ name: "b" }, { name: "a" }] },
  ],
  [
    "an item that the order does not name stays before the item that followed it",
    { containers: [{ name: "x" }, { name: "a" }, { name: "y" }, { name: "b" }] },
    { "$setElementOrder/containers": [{ name: "a" }, { name: "b" }] },
    { containers: [{ name: "x" }, { name: "a" }, { name: "y" }, { name: "b" }] },
  ],
  [
    "$retainKeys removes fields that it does not name",
    { volumes: [{ name: "v", emptyDir: {} }] },
    { volumes: [{ name: "v", $retainKeys: ["name", "hostPath"], hostPath: { path: "/" } }] },
    { volumes: [{ name: "v", hostPath: { path: "/" } }] },
  ],
  [
    "$retainKeys does not remain in a new item",
    {},
    { volumes: [{ name: "v", $retainKeys: ["name", "emptyDir"], emptyDir: {} }] },
    { volumes: [{ name: "v", emptyDir: {} }] },
  ],
  [
    "tolerations are replaced",
    { tolerations: [{ key: "a" }] },
    { tolerations: [{ key: "b" }] },
    { tolerations: [{ key: "b" }] },
  ],
  [
    "a map merges even if it has one owner only",
    { nodeSelector: { a: "1" } },
    { nodeSelector: { b: "2" } },
    { nodeSelector: { a: "1", b: "2" } },
  ],
  [
    "$patch: replace of an object",
    { securityContext: { runAsUser: 1, fsGroup: 2 } },
    { securityContext: { $patch: "replace", runAsUser: 3 } },
    { securityContext: { runAsUser: 3 } },
  ],
  [
    "$patch: delete of an object leaves it empty",
    { securityContext: { runAsUser: 1 } },
    { securityContext: { $patch: "delete" } },
    { securityContext: {} },
  ],
  [
    "nulls in a new object are dropped",
    {},
    { securityContext: { runAsUser: 1, fsGroup: null } },
    { securityContext: { runAsUser: 1 } },
  ],
  [
    "constraints merge by topologyKey",
    { topologySpreadConstraints: [{ topologyKey: "z", maxSkew: 1 }] },
    { topologySpreadConstraints: [{ topologyKey: "z", maxSkew: 2 }] },
    { topologySpreadConstraints: [{ topologyKey: "z", maxSkew: 2 }] },
  ],
];

describe("pod spec", () => {
  for (const [rule, original, patch, expected] of containers)
    test(rule, () => {
      const before = structuredClone([original, patch]);
      assert.deepEqual(strategicMergePatch({ spec: original }, { spec: patch }, pod), { spec: expected });
      assert.deepEqual([original, patch], before, "inputs are not modified");
    });
});

const others: [rule: string, kind: string, original: JsonObject, patch: JsonObject, expected: JsonObject][] =
  [
    [
      "finalizers are added to",
      "Pod",
      { metadata: { finalizers: ["a", "b"] } },
      { metadata: { finalizers: ["c", "b"] } },
      { metadata: { finalizers: ["c", "a", "b"] } },
    ],
    [
      "$deleteFromPrimitiveList removes values",
      "Pod",
      { metadata: { finalizers: ["a", "b"] } },
      { metadata: { "$deleteFromPrimitiveList/finalizers": ["a"] } },
      { metadata: { finalizers: ["b"] } },
    ],
    [
      "a patch may remove one value and add another",
      "Pod",
      { metadata: { finalizers: ["a", "b"] } },
      {
        metadata: {
          "$deleteFromPrimitiveList/finalizers": ["a"],
          "$setElementOrder/finalizers": ["c", "b"],
          finalizers: ["c"],
        },
      },
      { metadata: { finalizers: ["c", "b"] } },
    ],
    [
      "labels merge",
      "Pod",
      { metadata: { labels: { a: "1", b: "2" } } },
      { metadata: { labels: { a: null, c: "3" } } },
      { metadata: { labels: { b: "2", c: "3" } } },
    ],
    [
      "owners are found by uid",
      "Pod",
      { metadata: { ownerReferences: [{ uid: "1", name: "a" }] } },
      { metadata: { ownerReferences: [{ uid: "1", $patch: "delete" }] } },
      { metadata: { ownerReferences: [] } },
    ],
    [
      "conditions merge by type",
      "Node",
      { status: { conditions: [{ type: "Ready", status: "True" }] } },
      { status: { conditions: [{ type: "Ready", status: "False" }] } },
      { status: { conditions: [{ type: "Ready", status: "False" }] } },
    ],
    [
      "host addresses merge though they have one owner",
      "Pod",
      { status: { hostIPs: [{ ip: "1" }] } },
      { status: { hostIPs: [{ ip: "2" }] } },
      { status: { hostIPs: [{ ip: "2" }, { ip: "1" }] } },
    ],
    [
      "taints are replaced",
      "Node",
      { spec: { taints: [{ key: "a" }] } },
      { spec: { taints: [{ key: "b" }] } },
      { spec: { taints: [{ key: "b" }] } },
    ],
    [
      "service ports merge by port",
      "Service",
      { spec: { ports: [{ port: 80, name: "x" }] } },
      { spec: { ports: [{ port: 80, name: "y" }, { port: 81 }] } },
      { spec: { ports: [{ port: 80, name: "y" }, { port: 81 }] } },
    ],
    [
      "secrets of an account merge by name",
      "ServiceAccount",
      { secrets: [{ name: "a" }] },
      { secrets: [{ name: "b" }] },
      { secrets: [{ name: "b" }, { name: "a" }] },
    ],
  ];

describe("other types", () => {
  for (const [rule, kind, original, patch, expected] of others)
    test(rule, () => assert.deepEqual(strategicMergePatch(original, patch, schemaFor("v1", kind)), expected));
});

describe("rejections", () => {
  const live = { spec: { containers: [{ name: "a" }], volumes: [{ name: "v" }] } };
  const table: [JsonObject, string][] = [
    [{ containers: [{ image: "z" }] }, "map: map[image:z] does not contain declared merge key: name"],
    [
      { containers: [{ $patch: "delete", image: "z" }] },
      "map: map[$patch:delete image:z] does not contain declared merge key: name",
    ],
    [{ containers: [{ $patch: "merge", name: "a" }] }, "merging lists cannot yet be specified in the patch"],
    [{ $patch: "grow" }, "unknown patch type: grow in map: map[$patch:grow]"],
    [{ containers: ["a"] }, "list element types are not identical: [map[name:a] a]"],
    [{ containers: [["a"]] }, "lists of lists are not supported"],
    [{ containers: [null] }, "null is no element of a list"],
    [{ volumes: [{ name: "v", $retainKeys: ["name"], emptyDir: {} }] }, "invalid patch format of retainKeys"],
    [{ "$setElementOrder/containers": "a" }, "invalid patch format of setElementOrder list"],
    [{ "$deleteFromPrimitiveList/x": "a" }, "invalid patch format of primitive list"],
    [
      { "$setElementOrder/containers": [{ name: "b" }], containers: [{ name: "a" }] },
      "The order in patch list:\n[map[name:a]]\n doesn't match $setElementOrder list:\n[map[name:b]]\n",
    ],
  ];
  for (const [patch, message] of table)
    test(message, () =>
      assert.throws(() => strategicMergePatch(live, { spec: patch }, pod), { code: "BadRequest", message }),
    );
});

/** The patch that a client sends to turn `from` into `to`. */
function difference(from: JsonObject, to: JsonObject, rule: Rule): JsonObject {
  const out: JsonObject = {};
  for (const key of new Set([...Object.keys(from), ...Object.keys(to)])) {
    const [before, after] = [ownValue(from, key), ownValue(to, key)];
    const below = fieldRule(rule, key);
    if (jsonEqual(before, after)) continue;
    if (after === undefined) out[key] = null;
    else if (isObject(before) && isObject(after)) out[key] = difference(before, after, below);
    else if (
      below.kind === "list" &&
      below.patch.strategy === "merge" &&
      Array.isArray(before) &&
      Array.isArray(after)
    )
      listDifference(out, key, before, after, below.patch.key, below.items);
    else out[key] = after;
  }
  return out;
}

function listDifference(
  out: JsonObject,
  field: string,
  from: Json[],
  to: Json[],
  key: string,
  items: Rule,
): void {
  if (to.length > 0)
    out[`$setElementOrder/${field}`] =
      key === "" ? to : to.map((item) => ({ [key]: (item as JsonObject)[key]! }));
  if (key === "") {
    out[`$deleteFromPrimitiveList/${field}`] = from.filter((item) => !to.includes(item));
    out[field] = to.filter((item) => !from.includes(item));
    return;
  }
  const find = (list: Json[], id: Json) => (list as JsonObject[]).find((item) => item[key] === id);
  const changed = (to as JsonObject[]).map((item) => {
    const before = find(from, item[key]!);
    return before ? { ...difference(before, item, items), [key]: item[key]! } : item;
  });
  const gone = (from as JsonObject[])
    .filter((item) => !find(to, item[key]!))
    .map((item) => ({ [key]: item[key]!, $patch: "delete" }));
  out[field] = [...changed, ...gone];
}

const word = fc.constantFrom("a", "b", "c", "d");
const some = <T>(fields: Record<string, fc.Arbitrary<unknown>>, required: string[]) =>
  fc.record(fields, { requiredKeys: required }) as fc.Arbitrary<T>;
const listBy = (key: string, item: fc.Arbitrary<JsonObject>) =>
  fc.uniqueArray(item, { selector: (one) => one[key], maxLength: 4 });
const container = some<JsonObject>(
  {
    name: word,
    image: word,
    env: listBy("name", some({ name: word, value: word }, ["name"])),
    args: fc.array(word, { maxLength: 2 }),
    resources: some({ limits: fc.dictionary(word, word) }, []),
  },
  ["name"],
);
const anyPod = some<JsonObject>(
  {
    metadata: some({ labels: fc.dictionary(word, word), finalizers: fc.uniqueArray(word) }, []),
    spec: some(
      {
        containers: listBy("name", container),
        volumes: listBy("name", some({ name: word, emptyDir: some({ medium: word }, []) }, ["name"])),
        tolerations: fc.array(some({ key: word }, []), { maxLength: 2 }),
      },
      ["containers"],
    ),
    status: some({ conditions: listBy("type", some({ type: word, status: word }, ["type"])) }, []),
  },
  ["metadata", "spec"],
).map(cloneJson); // records of the generator have no prototype

test("the diff of two pods, sent as a patch, turns one into the other", () => {
  fc.assert(
    fc.property(anyPod, anyPod, (from, to) => {
      const patch = difference(from, to, pod.root);
      assert.deepEqual(strategicMergePatch(from, patch, pod), to);
    }),
    { numRuns: 500 },
  );
});

describe("the time of a patch is proportional to its size", () => {
  const named = (size: number, from = 0, more: JsonObject = {}) =>
    Array.from({ length: size }, (_, i) => ({ name: `c${i + from}`, ...more }));
  const names = (size: number) => Array.from({ length: size }, (_, i) => `f${i}`);
  const fields = (size: number): JsonObject => Object.fromEntries(names(size).map((name) => [name, 0]));
  const rows: [rule: string, original: (size: number) => JsonObject, patch: (size: number) => JsonObject][] =
    [
      ["items are added", () => ({ containers: [{ name: "x" }] }), (size) => ({ containers: named(size) })],
      [
        "items are changed",
        (size) => ({ containers: named(size) }),
        (size) => ({ containers: named(size, 0, { image: "1" }) }),
      ],
      [
        "items are deleted",
        (size) => ({ containers: named(size) }),
        (size) => ({ containers: named(size, 0, { $patch: "delete" }) }),
      ],
      [
        "fields are retained",
        (size) => fields(size),
        (size) => ({ $retainKeys: names(size), ...fields(size) }),
      ],
      [
        "values are removed",
        (size) => ({ values: names(size) }),
        (size) => ({ "$deleteFromPrimitiveList/values": names(size).map((name) => `no-${name}`) }),
      ],
      [
        "items are ordered",
        (size) => ({ containers: named(size) }),
        (size) => ({ "$setElementOrder/containers": named(size).toReversed() }),
      ],
    ];
  for (const [rule, original, patch] of rows)
    test(rule, () =>
      assertGrowth(1, 100, (size) => {
        const [object, change] = [{ spec: original(size) }, { spec: patch(size) }];
        return () => strategicMergePatch(object, change, pod);
      }),
    );
});
