import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { wallTime } from "../../lib/base/time.ts";
import { fakeInputs, fakeSettings } from "./fake-info.ts";
import { initialNode } from "./node-object.ts";
import { nodePatch } from "./node-patch.ts";
import { planStatus } from "./node-status.ts";
import type { NodeObject } from "./node-types.ts";
import { reconcileNode } from "./reconcile.ts";

const initial = planStatus(initialNode(fakeSettings()), fakeInputs(), wallTime(0)).node;
const copy = (change: (node: NodeObject) => void): NodeObject => {
  const node = structuredClone(initial);
  change(node);
  return node;
};
const patchOf = (existing: NodeObject, from = initial, resetExtended = false) =>
  nodePatch(existing, reconcileNode(existing, from, { resetExtended }));

describe("an existing node", () => {
  it("is not changed if nothing differs", () => assert.equal(patchOf(initial), undefined));

  it("gets its default labels back, but no others", () => {
    const existing = copy((node) => {
      node.metadata.labels = { "kubernetes.io/hostname": "old", admin: "x" };
    });
    const planned = planStatus(
      initialNode(fakeSettings({ labels: { team: "a" } })),
      fakeInputs(),
      wallTime(0),
    ).node;
    const { "kubernetes.io/hostname": hostname, ...rest } = initial.metadata.labels!;
    assert.deepEqual(patchOf(existing, planned), {
      metadata: { labels: { "kubernetes.io/hostname": hostname, ...rest } },
    });
  });

  it("loses a label that is configured as empty", () => {
    const zone = "topology.kubernetes.io/zone";
    const existing = copy((node) => {
      node.metadata.labels![zone] = "a";
    });
    const planned = planStatus(
      initialNode(fakeSettings({ labels: { [zone]: "" } })),
      fakeInputs(),
      wallTime(0),
    ).node;
    assert.deepEqual(patchOf(existing, planned), { metadata: { labels: { [zone]: null } } });
  });

  it("keeps its taints, regardless of what is configured for registration", () => {
    const taints = [{ key: "new", effect: "NoSchedule" }];
    const planned = planStatus(initialNode(fakeSettings({ taints })), fakeInputs(), wallTime(0)).node;
    assert.equal(patchOf(initial, planned), undefined);
  });

  it("follows the attach-detach setting", () => {
    const off = planStatus(
      initialNode(fakeSettings({ controllerAttachDetach: false })),
      fakeInputs(),
      wallTime(0),
    ).node;
    const key = "volumes.kubernetes.io/controller-managed-attach-detach";
    assert.deepEqual(patchOf(initial, off), { metadata: { annotations: { [key]: null } } });
    assert.deepEqual(patchOf(off, initial), { metadata: { annotations: { [key]: "true" } } });
  });

  it("has no devices until their plugins are back", () => {
    const existing = copy((node) => {
      node.status.capacity!["v.example/gpu"] = node.status.allocatable!["v.example/gpu"] = "2";
    });
    assert.equal(patchOf(existing), undefined);
    const none = { "v.example/gpu": "0" };
    assert.deepEqual(patchOf(existing, initial, true), { status: { capacity: none, allocatable: none } });
  });

  it("has the huge page sizes of this machine and no others", () => {
    const existing = copy((node) => {
      for (const list of [node.status.capacity!, node.status.allocatable!]) {
        list["hugepages-16Gi"] = "16Gi";
        list["hugepages-2Mi"] = "2Mi";
        delete list["hugepages-1Gi"];
      }
    });
    const change = { "hugepages-16Gi": null, "hugepages-2Mi": "0", "hugepages-1Gi": "0" };
    assert.deepEqual(patchOf(existing), { status: { capacity: change, allocatable: change } });
  });

  it("gets all resources if it has none", () => {
    const existing = copy((node) => {
      node.status = {};
    });
    const { capacity, allocatable } = initial.status;
    assert.deepEqual(patchOf(existing), { status: { capacity, allocatable } });
  });
});
