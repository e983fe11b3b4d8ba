import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { describe, it } from "node:test";
import { FakeClock, settle } from "../../lib/base/fake-clock.ts";
import { silentLogger } from "../../lib/base/logger.ts";
import { wallTime } from "../../lib/base/time.ts";
import { FakeApiError, FakeLeaseApi } from "./fake-node-api.ts";
import { renewedLease } from "./lease.ts";
import { LeaseManager, type LeaseOptions } from "./lease-manager.ts";
import { apiMicroTime, type Lease } from "./node-types.ts";

const second = 1000;
const observedUrl = new URL("../../../test/fixtures/observed/lease.json", import.meta.url);
const observed = JSON.parse(readFileSync(observedUrl, "utf8")) as Lease;
const nodeUid = "a028296b-8c6f-4c09-b53d-0e3c298558b8";

function world(changes: Partial<LeaseOptions> = {}) {
  const clock = new FakeClock();
  const api = new FakeLeaseApi();
  const stop = new AbortController();
  const manager = new LeaseManager({
    api,
    nodeName: "bench-node",
    durationSeconds: 40,
    nodeUid: async () => nodeUid,
    clock,
    random: () => 0,
    logger: silentLogger,
    ...changes,
  });
  return {
    clock,
    api,
    manager,
    start: async () => {
      await manager.start(stop.signal);
      await settle();
    },
    end: async () => {
      stop.abort();
      await manager.done;
    },
    renewedAt: () => api.lease?.spec.renewTime,
  };
}

describe("the lease of a node", () => {
  it("equals the recorded one, except for fields of the API server", async () => {
    const w = world();
    await w.start();
    const { uid: _u, resourceVersion: _v, ...metadata } = w.api.lease!.metadata;
    const { uid, resourceVersion, creationTimestamp, ...wanted } = { ...observed.metadata } as Record<
      string,
      unknown
    >;
    assert.ok(uid && resourceVersion && creationTimestamp);
    assert.deepEqual(
      { ...w.api.lease, metadata, spec: { ...w.api.lease?.spec, renewTime: observed.spec.renewTime } },
      { ...observed, metadata: wanted },
    );
    assert.match(w.renewedAt()!, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/);
    await w.end();
  });

  it("is renewed each quarter of its duration, by one request", async () => {
    const w = world();
    await w.start();
    await w.clock.advance(40 * second);
    assert.deepEqual(w.api.calls, ["GET", "POST", "PUT", "PUT", "PUT", "PUT"]);
    assert.equal(w.renewedAt(), apiMicroTime(w.clock.wall()));
    await w.end();
  });

  it("that exists is renewed with the configured duration", async () => {
    const w = world();
    w.api.put({ ...observed, spec: { holderIdentity: "x", leaseDurationSeconds: 10, renewTime: "old" } });
    await w.start();
    assert.deepEqual(w.api.calls, ["GET", "PUT"]);
    assert.deepEqual(w.api.lease?.spec, {
      holderIdentity: "bench-node",
      leaseDurationSeconds: 40,
      renewTime: apiMicroTime(w.clock.wall()),
    });
    await w.end();
  });

  it("is not created before its owner node exists", async () => {
    let uid: string | undefined;
    const w = world({
      nodeUid: async () => {
        if (!uid) throw new FakeApiError(404, "not found");
        return uid;
      },
    });
    await w.start();
    assert.deepEqual(w.api.calls, ["GET"]);
    uid = "u1";
    await w.clock.advance(10 * second);
    assert.equal(w.api.lease?.metadata.ownerReferences?.[0]?.uid, "u1");
    await w.end();
  });

  it("that was deleted is created again", async () => {
    const w = world();
    await w.start();
    w.api.lease = undefined;
    await w.clock.advance(10 * second);
    assert.deepEqual(w.api.calls.slice(2), ["PUT", "GET", "POST"]);
    assert.ok(w.api.lease);
    await w.end();
  });

  it("that another client wrote is read again and renewed", async () => {
    const w = world();
    await w.start();
    w.api.put({ ...w.api.lease!, metadata: { ...w.api.lease!.metadata, ownerReferences: [] } });
    await w.clock.advance(10 * second);
    assert.deepEqual(w.api.calls.slice(2), ["PUT", "GET", "PUT"]);
    assert.equal(w.renewedAt(), apiMicroTime(w.clock.wall()));
    assert.equal(w.api.lease?.metadata.ownerReferences?.[0]?.uid, nodeUid);
    await w.end();
  });

  it("is renewed within 4 seconds after an outage of a minute, without a burst of requests meanwhile", async () => {
    let suspected = 0;
    const w = world({ onRepeatedFailure: () => suspected++ });
    await w.start();
    w.api.fault = () => {
      throw new Error("connection forbidden");
    };
    await w.clock.advance(60 * second);
    assert.ok(w.api.calls.length < 40, `${w.api.calls.length} calls`);
    assert.equal(suspected, 4);
    w.api.fault = undefined;
    const back = w.clock.wall();
    await w.clock.advance(4 * second);
    assert.ok(wallTime(w.renewedAt()!) >= back);
    await w.end();
  });

  it("is not renewed after the agent stopped", async () => {
    const w = world();
    await w.start();
    await w.end();
    const calls = w.api.calls.length;
    await w.clock.advance(60 * second);
    assert.equal(w.api.calls.length, calls);
  });
});

describe("renewing a lease", () => {
  const settings = { nodeName: "n", durationSeconds: 40 };
  const owned = observed.metadata.ownerReferences;
  const owners: [string, Lease["metadata"]["ownerReferences"], string | undefined, string | undefined][] = [
    ["an owner stays", owned, "other", nodeUid],
    ["a missing owner is added", undefined, "u", "u"],
    ["an owner that is not known is not invented", undefined, undefined, undefined],
  ];
  for (const [rule, ownerReferences, uid, wanted] of owners)
    it(rule, () => {
      const lease = { ...observed, metadata: { ...observed.metadata, ownerReferences } };
      assert.equal(
        renewedLease(lease, settings, uid, wallTime(0)).metadata.ownerReferences?.[0]?.uid,
        wanted,
      );
    });
});
