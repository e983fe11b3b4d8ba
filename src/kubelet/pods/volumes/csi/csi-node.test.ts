import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { StorageApi } from "../../../../../test/csi/storage-api.ts";
import { FakeClock, settle } from "../../../../lib/base/fake-clock.ts";
import { silentLogger } from "../../../../lib/base/logger.ts";
import { CsiNode } from "./csi-node.ts";
import { type CsiNodeObject, type NodeMeta, nodePatchFor, nodePatchWithout } from "./csi-node-plan.ts";

const node = "/api/v1/nodes/n1";
const own = "/apis/storage.k8s.io/v1/csinodes/n1";
const migrated = "storage.alpha.kubernetes.io/migrated-plugins";
const info = { nodeId: "id-1", maxVolumes: 0n, topology: {} };
const never = new AbortController().signal;

function setUp() {
  const api = new StorageApi();
  const clock = new FakeClock();
  const csiNode = new CsiNode({ transport: api, nodeName: "n1", clock, logger: silentLogger });
  const drivers = () => api.get<CsiNodeObject>(own)?.spec.drivers?.map(({ name }) => name);
  return { api, clock, csiNode, drivers };
}

describe("the CSINode object", () => {
  it("is created and owned by the node as soon as the node exists; until then it is unhealthy", async () => {
    const { api, clock, csiNode } = setUp();
    await csiNode.start(never);
    assert.deepEqual(csiNode.health(), { ok: false, reason: "CSINode is not yet initialized" });
    await clock.advance(5000);
    assert.match(
      JSON.stringify(csiNode.health()),
      /failed to initialize CSINode: .*nodes \\"n1\\" not found/,
    );
    api.put(node, { metadata: { name: "n1", uid: "u1" } });
    await clock.advance(5000);
    assert.deepEqual(csiNode.health(), { ok: true });
    const { metadata, spec } = api.get<CsiNodeObject>(own)!;
    assert.deepEqual(metadata.ownerReferences, [{ apiVersion: "v1", kind: "Node", name: "n1", uid: "u1" }]);
    assert.deepEqual(spec, { drivers: [] });
    assert.equal(
      metadata.annotations?.[migrated],
      "kubernetes.io/aws-ebs,kubernetes.io/azure-disk,kubernetes.io/azure-file,kubernetes.io/cinder,kubernetes.io/gce-pd,kubernetes.io/portworx-volume,kubernetes.io/vsphere-volume",
    );
  });

  it("waits for a node that is not registered yet with a back-off, without further attempts in between", async () => {
    const { api, clock, csiNode } = setUp();
    const nodeRequests = () => api.requests.filter((request) => request === `GET ${node}`).length;
    await csiNode.start(never);
    await settle();
    assert.equal(csiNode.attempted, true);
    assert.equal(nodeRequests(), 1);
    await clock.advance(700);
    assert.equal(nodeRequests(), 4);
  });

  for (const [rule, isWaiting] of [
    ["while it waits", true],
    ["during an attempt", false],
  ] as const)
    it(`is created immediately if the node is registered ${rule}`, async () => {
      const { api, csiNode } = setUp();
      await csiNode.start(never);
      if (isWaiting) await settle();
      while (api.requests.length === 0) await Promise.resolve();
      api.put(node, { metadata: { name: "n1", uid: "u1" } });
      csiNode.nodeExists();
      await settle();
      assert.deepEqual(csiNode.health(), { ok: true });
    });

  it("is replaced if it belongs to a previous node with the same name", async () => {
    const { api, clock, csiNode } = setUp();
    api.put(node, { metadata: { name: "n1", uid: "new" } });
    const ownerReferences = [{ kind: "Node", name: "n1", uid: "old", apiVersion: "v1" }];
    api.put(own, {
      metadata: { name: "n1", ownerReferences },
      spec: { drivers: [{ name: "x", nodeID: "y" }] },
    });
    const installed = csiNode.install("d", info, never);
    await clock.advance(1000);
    await installed;
    const { metadata, spec } = api.get<CsiNodeObject>(own)!;
    assert.equal(metadata.ownerReferences?.[0]?.uid, "new");
    assert.deepEqual(spec.drivers, [{ name: "d", nodeID: "id-1", topologyKeys: [] }]);
  });

  it("keeps other drivers, and is only written when something has changed", async () => {
    const { api, csiNode, drivers } = setUp();
    api.put(node, { metadata: { name: "n1", uid: "u1" } });
    await csiNode.install("a", info, never);
    await csiNode.install("b", info, never);
    assert.deepEqual(drivers(), ["a", "b"]);
    const before = api.requests.length;
    await csiNode.install("a", info, never);
    const writes = api.requests.slice(before).filter((request) => !request.startsWith("GET"));
    assert.deepEqual(writes, []);
    await csiNode.install("a", { ...info, maxVolumes: 3n }, never);
    assert.deepEqual(drivers(), ["b", "a"]);
    await csiNode.uninstall("b", never);
    assert.deepEqual(drivers(), ["a"]);
    const { annotations } = api.get<NodeMeta>(node)!.metadata;
    assert.equal(annotations?.["csi.volume.kubernetes.io/nodeid"], '{"a":"id-1"}');
  });

  it("an aborted update leaves the queue and does not block the next one", async () => {
    const { api, clock, csiNode, drivers } = setUp();
    api.put(node, { metadata: { name: "n1", uid: "u1" } });
    const request = api.request.bind(api);
    const free = Promise.withResolvers<void>();
    api.request = async (call) => {
      await free.promise;
      return request(call);
    };
    const stop = new AbortController();
    await csiNode.start(stop.signal);
    const abort = new AbortController();
    const aborted = csiNode.install("aborted", info, abort.signal);
    const stays = csiNode.install("stays", info, never);
    abort.abort();
    await assert.rejects(aborted, { name: "AbortError" });
    free.resolve();
    await stays;
    await clock.advance(0);
    assert.deepEqual(drivers(), ["stays"]);
    stop.abort();
    await csiNode.done;
  });

  it("is tried four times, and then fails with the causes", async () => {
    const { api, clock, csiNode } = setUp();
    api.failing = 500;
    const failed = assert.rejects(csiNode.install("a", info, never), {
      message:
        "error updating Node object with CSI driver node info: error updating node: timed out waiting for the condition; caused by: the server is failing",
    });
    await clock.advance(1000);
    await failed;
    assert.equal(api.requests.length, 4);
  });

  it("rejects a driver without a node ID", async () => {
    const { csiNode } = setUp();
    await assert.rejects(
      csiNode.install("a", { ...info, nodeId: "" }, never),
      /driverNodeID must not be empty/,
    );
    await settle();
  });
});

describe("the patch of the node", () => {
  const meta = (labels: Record<string, string>, ids?: string): NodeMeta => ({
    metadata: {
      name: "n1",
      uid: "u1",
      labels,
      ...(ids && { annotations: { "csi.volume.kubernetes.io/nodeid": ids } }),
    },
  });
  const zoned = { nodeId: "id", maxVolumes: 0n, topology: { zone: "z" } };

  it("contains node ID and topology, and is omitted if they are up to date", () => {
    assert.deepEqual(nodePatchFor(meta({}), "d", zoned), {
      metadata: { annotations: { "csi.volume.kubernetes.io/nodeid": '{"d":"id"}' }, labels: { zone: "z" } },
    });
    assert.equal(nodePatchFor(meta({ zone: "z" }, '{"d":"id"}'), "d", zoned), undefined);
  });
  it("is the same for names of properties that each object has", () => {
    const topology = { constructor: "z" };
    assert.deepEqual(nodePatchFor(meta({}), "toString", { ...zoned, topology }), {
      metadata: {
        annotations: { "csi.volume.kubernetes.io/nodeid": '{"toString":"id"}' },
        labels: { constructor: "z" },
      },
    });
    assert.equal(nodePatchWithout(meta({}, '{"d":"id"}'), "toString"), undefined);
  });
  it("fails if the node has another topology", () => {
    assert.throws(() => nodePatchFor(meta({ zone: "other" }), "d", zoned), {
      message:
        'detected topology value collision: driver reported "zone":"z" but existing label is "zone":"other"',
    });
  });
  it("removes the annotation with the last driver", () => {
    const key = "csi.volume.kubernetes.io/nodeid";
    assert.deepEqual(nodePatchWithout(meta({}, '{"d":"id"}'), "d"), {
      metadata: { annotations: { [key]: null } },
    });
    assert.deepEqual(nodePatchWithout(meta({}, '{"b":"2","d":"id"}'), "d"), {
      metadata: { annotations: { [key]: '{"b":"2"}' } },
    });
    assert.equal(nodePatchWithout(meta({}), "d"), undefined);
  });
});
