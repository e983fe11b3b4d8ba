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
    ["what never had one stays", [pod("p")], []],
    ["what has one stays", [node, pod("p", by(owned("Node", "n")))], []],
    ["what had one goes", [pod("p", by(owned("Node", "n")))], ["delete p"]],
    [
      "an owner with another uid is another one",
      [node, pod("p", by(owned("Node", "n", { uid: "old" })))],
      ["delete p"],
    ],
    [
      "an owner of another namespace is none",
      [pod("q", { namespace: "b" }), pod("p", by(owned("Pod", "q")))],
      ["delete p"],
    ],
    ["an owner of a kind that is unknown here is not judged", [pod("p", by(owned("ReplicaSet", "r")))], []],
    ["what is being deleted is left alone", [pod("p", { ...by(owned("Node", "n")), ...deleted })], []],
    [
      "owners that are gone are forgotten if others are there",
      [node, pod("p", by(owned("Node", "n"), owned("Pod", "q")))],
      ["disown p of u-q"],
    ],
  ];
  for (const [what, items, wanted] of cases) test(what, () => assert.deepEqual(steps(...items), wanted));
});

describe("owners that wait for their dependents", () => {
  const foreground = { ...deleted, finalizers: ["foregroundDeletion"] };
  const orphan = { ...deleted, finalizers: ["orphan"] };
  const blocking = by(owned("Pod", "o", { blockOwnerDeletion: true }));
  const cases: [string, Item[], string[]][] = [
    ["dependents go first", [pod("o", foreground), pod("p", blocking)], ["delete p"]],
    ["and are waited for", [pod("o", foreground), pod("p", { ...blocking, ...deleted })], []],
    ["then the owner goes", [pod("o", foreground)], ["release o from foregroundDeletion"]],
    [
      "those that do not block are not waited for",
      [pod("o", foreground), pod("p", by(owned("Pod", "o")))],
      ["release o from foregroundDeletion"],
    ],
    [
      "orphans forget their owner first",
      [pod("o", orphan), pod("p", by(owned("Pod", "o")))],
      ["disown p of u-o"],
    ],
    ["and then it goes", [pod("o", orphan), pod("p")], ["release o from orphan"]],
  ];
  for (const [what, items, wanted] of cases) test(what, () => assert.deepEqual(steps(...items), wanted));
});
