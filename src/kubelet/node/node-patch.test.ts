import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { wallTime } from "../../lib/base/time.ts";
import { fakeInputs, fakeSettings } from "./fake-info.ts";
import { applyNodePatch, writable } from "./fake-node-api.ts";
import { initialNode } from "./node-object.ts";
import { changedFields, nodePatch } from "./node-patch.ts";
import { planStatus } from "./node-status.ts";
import type { NodeObject, NodeStatus } from "./node-types.ts";

const base = planStatus(initialNode(fakeSettings()), fakeInputs(), wallTime(0)).node;

describe("a patch of a node", () => {
  it("is undefined if nothing has changed", () =>
    assert.equal(nodePatch(base, structuredClone(base)), undefined));

  it("has the four conditions and their order for a heartbeat", () => {
    const later = planStatus(base, fakeInputs(), wallTime(10_000)).node;
    const types = ["MemoryPressure", "DiskPressure", "PIDPressure", "Ready"];
    assert.deepEqual(nodePatch(base, later), {
      status: {
        "$setElementOrder/conditions": types.map((type) => ({ type })),
        conditions: types.map((type) => ({ lastHeartbeatTime: "1970-01-01T00:00:10Z", type })),
      },
    });
  });

  it("is undefined if the API server returned null for the names of an image without any", () => {
    const images = [{ names: [], sizeBytes: 5 }];
    const stored = [{ names: null, sizeBytes: 5 }] as unknown as typeof images;
    const withImages = (list: typeof images) => ({ ...base, status: { ...base.status, images: list } });
    assert.equal(nodePatch(withImages(stored), withImages(images)), undefined);
    assert.deepEqual(changedFields(withImages(stored).status, withImages(images).status), {});
  });

  it("replaces addresses as a whole", () => {
    const addresses = { ...fakeInputs().addresses, defaultRouteIps: { ipv4: "192.0.2.77" } };
    const { node } = planStatus(base, fakeInputs({ addresses }), wallTime(0));
    assert.deepEqual(nodePatch(base, node), {
      status: {
        addresses: [
          { type: "InternalIP", address: "192.0.2.77" },
          { type: "Hostname", address: "bench-node" },
          { $patch: "replace" },
        ],
      },
    });
  });

  it("contains only fields that a node may write, regardless of what differs", () => {
    const other: NodeObject = {
      ...structuredClone(base),
      metadata: { ...base.metadata, uid: "u", resourceVersion: "7", labels: { a: "b" }, annotations: {} },
      spec: { taints: [{ key: "k", effect: "NoSchedule" }], providerID: "p", unschedulable: true },
    };
    const patch = nodePatch(base, other) as Record<string, Record<string, unknown>>;
    const paths = Object.entries(patch).flatMap(([top, value]) =>
      top === "metadata" ? Object.keys(value).map((key) => `${top}.${key}`) : [top],
    );
    assert.deepEqual(paths, ["metadata.labels", "metadata.annotations"]);
    assert.ok(paths.every((path) => (writable as readonly string[]).includes(path)));
  });

  it("applied by the API server results in the desired node", () => {
    const name = fc.constantFrom("a", "b", "c");
    const map = fc.dictionary(name, fc.constantFrom("0", "1", "2"));
    const condition = fc.record({
      status: fc.constantFrom("True", "False"),
      lastHeartbeatTime: fc.constantFrom("t1", "t2"),
      message: name,
    });
    const conditions = fc
      .uniqueArray(fc.tuple(fc.constantFrom("A", "B", "C", "Ready"), condition), {
        selector: ([type]) => type,
      })
      .map((list) => list.map(([type, rest]) => ({ type, ...rest })));
    const addresses = fc.array(
      fc.record({ type: fc.constantFrom("InternalIP", "Hostname"), address: name }),
      {
        maxLength: 3,
      },
    );
    const status = fc.record(
      {
        capacity: map,
        conditions,
        addresses,
        volumesInUse: fc.array(name, { minLength: 1, maxLength: 3 }),
        features: fc.record({ supplementalGroupsPolicy: fc.boolean() }),
        nodeInfo: fc.record({ bootID: name }),
      },
      { requiredKeys: ["capacity", "conditions", "addresses"] },
    );
    const node = fc.record({ labels: map, annotations: map, status }).map(
      ({ labels, annotations, status }) =>
        structuredClone({
          ...base,
          metadata: { name: "n", labels, annotations },
          status,
        }) as NodeObject,
    );
    fc.assert(
      fc.property(node, node, (a, b) => {
        const patch = nodePatch(a, b);
        assert.deepEqual(patch ? applyNodePatch(a, patch) : a, b);
      }),
      { numRuns: 300 },
    );
  });
});

const changes: [string, (status: NodeStatus) => void, boolean][] = [
  [
    "a heartbeat",
    (s) => (s.conditions = s.conditions!.map((c) => ({ ...c, lastHeartbeatTime: "later" }))),
    false,
  ],
  ["the order of conditions", (s) => s.conditions!.reverse(), false],
  ["another format of an amount", (s) => (s.capacity!.cpu = "2000m"), false],
  ["an empty list", (s) => (s.volumesInUse = []), false],
  ["a message", (s) => (s.conditions![3]!.message = "other"), true],
  ["an additional condition", (s) => s.conditions!.push({ ...s.conditions![0]!, type: "X" }), true],
  ["an amount", (s) => (s.allocatable!.cpu = "1"), true],
  ["an image", (s) => s.images!.pop(), true],
  ["the order of addresses", (s) => s.addresses!.reverse(), true],
  ["a volume", (s) => (s.volumesInUse = ["v"]), true],
];

describe("changes of a status", () => {
  for (const [what, change, isChange] of changes)
    it(`${what} is ${isChange ? "" : "no "}change`, () => {
      const status = structuredClone(base.status);
      change(status);
      assert.equal(Object.keys(changedFields(base.status, status)).length > 0, isChange);
      assert.equal(Object.keys(changedFields(status, base.status)).length > 0, isChange);
    });
});
