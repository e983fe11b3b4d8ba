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
const observedUrl = new URL("../../../test/fixtures/recorded/lease.json", import.meta.url);
const observed = JSON.parse(readFileSync(observedUrl, "utf8")) as Lease;
const nodeUid = "a028296b-8c6f-4c09-b53d-0e3c298558b8";

function setUp(changes: Partial<LeaseOptions> = {}) {
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
    const env = setUp();
    await env.start();
    const { uid: _u, resourceVersion: _v, ...metadata } = env.api.lease!.metadata;
    const { uid, resourceVersion, creationTimestamp, ...expected } = { ...observed.metadata } as Record<
      string,
      unknown
    >;
    assert.ok(uid && resourceVersion && creationTimestamp);
    assert.deepEqual(
      { ...env.api.lease, metadata, spec: { ...env.api.lease?.spec, renewTime: observed.spec.renewTime } },
      { ...observed, metadata: expected },
    );
    assert.match(env.renewedAt()!, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/);
    await env.end();
  });

  it("is renewed each quarter of its duration, by one request", async () => {
    const env = setUp();
    await env.start();
    await env.clock.advance(40 * second);
    assert.deepEqual(env.api.calls, ["GET", "POST", "PUT", "PUT", "PUT", "PUT"]);
    assert.equal(env.renewedAt(), apiMicroTime(env.clock.wall()));
    await env.end();
  });

  it("is renewed with the configured duration if it exists", async () => {
    const env = setUp();
    env.api.put({ ...observed, spec: { holderIdentity: "x", leaseDurationSeconds: 10, renewTime: "old" } });
    await env.start();
    assert.deepEqual(env.api.calls, ["GET", "PUT"]);
    assert.deepEqual(env.api.lease?.spec, {
      holderIdentity: "bench-node",
      leaseDurationSeconds: 40,
      renewTime: apiMicroTime(env.clock.wall()),
    });
    await env.end();
  });

  it("is not created before its owner node exists", async () => {
    let uid: string | undefined;
    const env = setUp({
      nodeUid: async () => {
        if (!uid) throw new FakeApiError(404, "not found");
        return uid;
      },
    });
    await env.start();
    assert.deepEqual(env.api.calls, ["GET"]);
    uid = "u1";
    await env.clock.advance(10 * second);
    assert.equal(env.api.lease?.metadata.ownerReferences?.[0]?.uid, "u1");
    await env.end();
  });

  it("is recreated after it was deleted", async () => {
    const env = setUp();
    await env.start();
    env.api.lease = undefined;
    await env.clock.advance(10 * second);
    assert.deepEqual(env.api.calls.slice(2), ["PUT", "GET", "POST"]);
    assert.ok(env.api.lease);
    await env.end();
  });

  it("is read again and renewed after a write of another client", async () => {
    const env = setUp();
    await env.start();
    env.api.put({ ...env.api.lease!, metadata: { ...env.api.lease!.metadata, ownerReferences: [] } });
    await env.clock.advance(10 * second);
    assert.deepEqual(env.api.calls.slice(2), ["PUT", "GET", "PUT"]);
    assert.equal(env.renewedAt(), apiMicroTime(env.clock.wall()));
    assert.equal(env.api.lease?.metadata.ownerReferences?.[0]?.uid, nodeUid);
    await env.end();
  });

  it("is renewed within 4 seconds after an outage of a minute, without a burst of requests in the meantime", async () => {
    let repeatedFailures = 0;
    const env = setUp({ onRepeatedFailure: () => repeatedFailures++ });
    await env.start();
    env.api.fault = () => {
      throw new Error("connection forbidden");
    };
    await env.clock.advance(60 * second);
    assert.ok(env.api.calls.length < 40, `${env.api.calls.length} calls`);
    assert.equal(repeatedFailures, 4);
    env.api.fault = undefined;
    const back = env.clock.wall();
    await env.clock.advance(4 * second);
    assert.ok(wallTime(env.renewedAt()!) >= back);
    await env.end();
  });

  it("is not renewed after the agent stopped", async () => {
    const env = setUp();
    await env.start();
    await env.end();
    const calls = env.api.calls.length;
    await env.clock.advance(60 * second);
    assert.equal(env.api.calls.length, calls);
  });
});

describe("renewing a lease", () => {
  const settings = { nodeName: "n", durationSeconds: 40 };
  const owned = observed.metadata.ownerReferences;
  const owners: [string, Lease["metadata"]["ownerReferences"], string | undefined, string | undefined][] = [
    ["an existing owner is kept", owned, "other", nodeUid],
    ["a missing owner is added", undefined, "u", "u"],
    ["no owner is added if the UID is unknown", undefined, undefined, undefined],
  ];
  for (const [rule, ownerReferences, uid, expected] of owners)
    it(rule, () => {
      const lease = { ...observed, metadata: { ...observed.metadata, ownerReferences } };
      assert.equal(
        renewedLease(lease, settings, uid, wallTime(0)).metadata.ownerReferences?.[0]?.uid,
        expected,
      );
    });
});
