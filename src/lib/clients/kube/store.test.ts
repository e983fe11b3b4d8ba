import assert from "node:assert/strict";
import { test } from "node:test";
import { isOlderVersion, Store, type Stored } from "./store.ts";

/** "a@1:5" is the object a with UID 1 in version 5. */
function entry(text: string): Stored<string> {
  const [name, uid, resourceVersion] = text.split(/[@:]/) as [string, string, string];
  return { version: { namespace: "ns", name, uid, resourceVersion }, object: text };
}

function storeOf(...objects: string[]): Store<string> {
  const store = new Store<string>();
  store.replace(objects.map(entry), []);
  return store;
}

const added = (object: string) => ({ type: "added", key: `ns/${object[0]}`, object });
const updated = (oldObject: string, object: string) => ({
  type: "updated",
  key: `ns/${object[0]}`,
  object,
  oldObject,
});
const deleted = (object: string) => ({ type: "deleted", key: `ns/${object[0]}`, object });

const replacements = [
  {
    rule: "a first list is all additions",
    before: [],
    after: ["a@1:1", "b@2:2"],
    reported: [added("a@1:1"), added("b@2:2")],
  },
  { rule: "an equal list is not a change", before: ["a@1:1"], after: ["a@1:1"], reported: [] },
  {
    rule: "another version is an update",
    before: ["a@1:1"],
    after: ["a@1:3"],
    reported: [updated("a@1:1", "a@1:3")],
  },
  {
    rule: "a missing object was deleted",
    before: ["a@1:1", "b@2:2"],
    after: ["b@2:2"],
    reported: [deleted("a@1:1")],
  },
  {
    rule: "another UID with the same name is a deletion and an addition",
    before: ["a@1:1"],
    after: ["a@2:2"],
    reported: [deleted("a@1:1"), added("a@2:2")],
  },
  {
    rule: "an older version is accepted: a list is authoritative",
    before: ["a@1:9"],
    after: ["a@1:3"],
    reported: [updated("a@1:9", "a@1:3")],
  },
  {
    rule: "deletions are reported before additions",
    before: ["a@1:1"],
    after: ["b@2:2"],
    reported: [deleted("a@1:1"), added("b@2:2")],
  },
  {
    rule: "an object that can no longer be decoded keeps its last version",
    before: ["a@1:1"],
    after: [],
    unreadable: ["a@1:2"],
    reported: [],
    left: ["a@1:1"],
  },
  {
    rule: "an object that cannot be decoded does not keep another object of its name",
    before: ["a@1:1"],
    after: [],
    unreadable: ["a@2:2"],
    reported: [deleted("a@1:1")],
    left: [],
  },
];

for (const { rule, before, after, unreadable = [], reported, left = after } of replacements)
  test(`replace: ${rule}`, () => {
    const store = storeOf(...before);
    const changes = store.replace(
      after.map(entry),
      unreadable.map((u) => entry(u).version),
    );
    assert.deepEqual(changes, reported);
    assert.deepEqual(store.list(), left);
  });

const puts = [
  { rule: "a new object is added", before: [], put: "a@1:1", reported: [added("a@1:1")] },
  {
    rule: "a newer version is an update",
    before: ["a@1:9"],
    put: "a@1:10",
    reported: [updated("a@1:9", "a@1:10")],
  },
  { rule: "the same version is not a change", before: ["a@1:9"], put: "a@1:9", reported: [] },
  { rule: "an older version is not a change", before: ["a@1:10"], put: "a@1:9", reported: [] },
  {
    rule: "another UID is another object",
    before: ["a@1:1"],
    put: "a@2:2",
    reported: [deleted("a@1:1"), added("a@2:2")],
  },
  {
    rule: "versions that are not numbers are used in order of arrival",
    before: ["a@1:y"],
    put: "a@1:x",
    reported: [updated("a@1:y", "a@1:x")],
  },
];

for (const { rule, before, put, reported } of puts)
  test(`put: ${rule}`, () => {
    const store = storeOf(...before);
    assert.deepEqual(store.put(entry(put)), reported);
  });

const removals = [
  {
    rule: "reports the final state of the object",
    remove: "a@1:6",
    last: "end",
    reported: [deleted("a@1:5")].map((d) => ({ ...d, object: "end" })),
  },
  {
    rule: "reports the last known state of the object if its final state cannot be read",
    remove: "a@1:6",
    last: undefined,
    reported: [deleted("a@1:5")],
  },
  { rule: "an older deletion is that of a previous object", remove: "a@0:4", last: "end", reported: [] },
  { rule: "the deletion of an unknown object is ignored", remove: "b@1:6", last: "end", reported: [] },
];

for (const { rule, remove, last, reported } of removals)
  test(`remove: ${rule}`, () => {
    assert.deepEqual(storeOf("a@1:5").remove(entry(remove).version, last), reported);
  });

test("objects are found by namespace and name, cluster-scoped ones by name", () => {
  const store = new Store<string>();
  store.put({ version: { namespace: "", name: "node", uid: "1", resourceVersion: "1" }, object: "the node" });
  store.put(entry("a@1:1"));
  assert.equal(store.get("", "node"), "the node");
  assert.equal(store.get("ns", "a"), "a@1:1");
  assert.equal(store.get("other", "a"), undefined);
  assert.equal(store.size, 2);
});

test("the same version remains the same object", () => {
  const store = new Store<{ text: string }>();
  const version = { namespace: "ns", name: "a", uid: "1", resourceVersion: "1" };
  const object = { text: "a" };
  store.replace([{ version, object }], []);
  store.replace([{ version, object: { text: "a" } }], []);
  assert.equal(store.get("ns", "a"), object);
});

const orders: [string, string, boolean][] = [
  ["9", "10", true],
  ["10", "9", false],
  ["10", "10", false],
  ["99999999999999999998", "99999999999999999999", true],
  ["a", "b", false],
  ["1", "b", false],
  ["", "1", false],
  ["0", "1", false],
];

for (const [a, b, older] of orders)
  test(`version "${a}" is ${older ? "" : "not known to be "}older than "${b}"`, () => {
    assert.equal(isOlderVersion(a, b), older);
  });
