import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { ApiObject } from "../../storage/object.ts";
import { type Item, type KindOf, planCollection } from "./garbage-plan.ts";

const kindOf: KindOf = (_version, kind) =>
  kind === "Node"
    ? { resource: "nodes", namespaced: false }
    : kind === "Pod"
      ? { resource: "pods", namespaced: true }
      : undefined;

function pod(name: string, metadata: object = {}): Item {
  const object: ApiObject = { metadata: { name, namespace: "a", uid: `u-${name}`, ...metadata } };
  return { resource: "pods", object };
}
const node: Item = { resource: "nodes", object: { metadata: { name: "n", uid: "u-n" } } };
const owned = (kind: string, name: string, more: object = {}) => ({
  apiVersion: "v1",
  kind,
  name,
  uid: `u-${name}`,
  ...more,
});
const by = (...ownerReferences: object[]) => ({ ownerReferences });
const deleted = { deletionTimestamp: "2026-01-01T00:00:00Z" };

function steps(...items: Item[]): string[] {
  return planCollection(items, kindOf).map((step) =>
    step.do === "disown"
      ? `disown ${step.ref.name} of ${step.owners.join()}`
      : step.do === "release"
        ? `release ${step.ref.name} from ${step.finalizer}`
        : `delete ${step.ref.name}`,
  );
}

describe("objects whose owners are gone", () => {
  const cases: [string, Item[], string[]][] = [
    ["an object without owner references is kept", [pod("p")], []],
    ["an object whose owner exists is kept", [node, pod("p", by(owned("Node", "n")))], []],
    ["an object whose owner is gone is deleted", [pod("p", by(owned("Node", "n")))], ["delete p"]],
    [
      "an owner with another UID is a different object",
      [node, pod("p", by(owned("Node", "n", { uid: "old" })))],
      ["delete p"],
    ],
    [
      "an object in another namespace cannot be the owner",
      [pod("q", { namespace: "b" }), pod("p", by(owned("Pod", "q")))],
      ["delete p"],
    ],
    ["an owner of an unknown kind is assumed to exist", [pod("p", by(owned("ReplicaSet", "r")))], []],
    ["an object that is being deleted is skipped", [pod("p", { ...by(owned("Node", "n")), ...deleted })], []],
    [
      "references to missing owners are removed if other owners exist",
      [node, pod("p", by(owned("Node", "n"), owned("Pod", "q")))],
      ["disown p of u-q"],
    ],
  ];
  for (const [rule, items, expected] of cases) test(rule, () => assert.deepEqual(steps(...items), expected));
});

describe("owners with foreground or orphan finalizers", () => {
  const foreground = { ...deleted, finalizers: ["foregroundDeletion"] };
  const orphan = { ...deleted, finalizers: ["orphan"] };
  const blocking = by(owned("Pod", "o", { blockOwnerDeletion: true }));
  const cases: [string, Item[], string[]][] = [
    ["dependents are deleted first", [pod("o", foreground), pod("p", blocking)], ["delete p"]],
    [
      "the owner is kept until its dependents are gone",
      [pod("o", foreground), pod("p", { ...blocking, ...deleted })],
      [],
    ],
    [
      "the finalizer of an owner without dependents is removed",
      [pod("o", foreground)],
      ["release o from foregroundDeletion"],
    ],
    [
      "dependents without blockOwnerDeletion do not delay the deletion",
      [pod("o", foreground), pod("p", by(owned("Pod", "o")))],
      ["release o from foregroundDeletion"],
    ],
    [
      "references of orphans are removed first",
      [pod("o", orphan), pod("p", by(owned("Pod", "o")))],
      ["disown p of u-o"],
    ],
    ["then the finalizer of the owner is removed", [pod("o", orphan), pod("p")], ["release o from orphan"]],
  ];
  for (const [rule, items, expected] of cases) test(rule, () => assert.deepEqual(steps(...items), expected));
});
