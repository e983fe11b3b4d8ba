import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { StorageApi } from "../../../../../test/csi/storage-api.ts";
import { FakeClock, settle } from "../../../../lib/base/fake-clock.ts";
import type { CSIDriverSpec } from "../../../../lib/gen/kubernetes/storage.d.ts";
import { Attachments } from "./attachments.ts";
import { attachmentName } from "./names.ts";

const volume = { driver: "d", handle: "vol" };
const id = attachmentName("vol", "d", "n1");
const path = `/apis/storage.k8s.io/v1/volumeattachments/${id}`;
const never = new AbortController().signal;

function setUp(driver?: CSIDriverSpec) {
  const api = new StorageApi();
  const clock = new FakeClock();
  const exhausted: string[] = [];
  const objects = { get: async () => driver, known: () => driver, onChange: () => () => {} };
  const onExhausted = (name: string) => void exhausted.push(name);
  const attachments = new Attachments({ transport: api, nodeName: "n1", objects, clock, onExhausted });
  return { api, clock, attachments, exhausted };
}

describe("the wait for a volume to be attached", () => {
  it("ends when it is attached, and the attacher's metadata is passed to the driver", async () => {
    const { api, clock, attachments } = setUp();
    const wait = attachments.wait(volume, never);
    await clock.advance(500);
    api.put(path, { metadata: { name: id }, status: { attached: false } });
    await clock.advance(1000);
    api.put(path, {
      metadata: { name: id },
      status: { attached: true, attachmentMetadata: { device: "sdx" } },
    });
    await clock.advance(3000);
    await wait;
    assert.deepEqual(await attachments.publishContext(volume, never), { device: "sdx" });
  });

  it("is skipped for a driver with attachRequired: false", async () => {
    const { api, attachments } = setUp({ attachRequired: false });
    await attachments.wait(volume, never);
    assert.deepEqual(await attachments.publishContext(volume, never), {});
    assert.deepEqual(api.requests, []);
  });

  it("fails after about ten seconds with the reason", async () => {
    const { api, clock, attachments } = setUp();
    const missing = assert.rejects(attachments.wait(volume, never), {
      message: `volume vol has GET error for volume attachment ${id}: volumeattachments "${id}" not found`,
    });
    await clock.advance(10_000);
    await missing;
    api.put(path, { metadata: { name: id } });
    const waiting = assert.rejects(attachments.wait(volume, never), {
      message: `volume vol is not attached for volume attachment ${id}`,
    });
    await clock.advance(10_000);
    await waiting;
  });

  const ends: [string, object, object, RegExp][] = [
    ["the attacher's error", {}, { attachError: { message: "no more slots" } }, /^no more slots$/],
    [
      "an attachment that is being deleted",
      { deletionTimestamp: "t" },
      { attached: true },
      /^volume attachment is being deleted$/,
    ],
  ];
  for (const [rule, meta, status, message] of ends)
    it(`ends immediately with ${rule}`, async () => {
      const { api, attachments } = setUp();
      api.put(path, { metadata: { name: id, ...meta }, status });
      await assert.rejects(attachments.wait(volume, never), { message });
    });

  it("triggers an update of the driver's count when the limit is reached", async () => {
    const { api, attachments, exhausted } = setUp({ nodeAllocatableUpdatePeriodSeconds: 60 });
    api.put(path, { metadata: { name: id }, status: { attachError: { message: "full", errorCode: 8 } } });
    await assert.rejects(attachments.wait(volume, never), { message: "full" });
    assert.deepEqual(exhausted, ["d"]);
  });

  it("starts when the node status lists it as attached; the attacher's error takes precedence", async () => {
    const { api, attachments, exhausted } = setUp({ nodeAllocatableUpdatePeriodSeconds: 60 });
    const outOfCapacity = async () => {
      throw new Error("not attached according to node status");
    };
    await assert.rejects(attachments.wait(volume, never, outOfCapacity), {
      message: /according to node status/,
    });
    api.put(path, { metadata: { name: id }, status: { attached: true } });
    await assert.rejects(attachments.wait(volume, never, outOfCapacity), {
      message: /according to node status/,
    });
    api.put(path, { metadata: { name: id }, status: { attachError: { message: "full", errorCode: 8 } } });
    await assert.rejects(attachments.wait(volume, never, outOfCapacity), { message: "full" });
    assert.deepEqual(exhausted, ["d"]);
  });

  for (const [rule, driver, status, isExhausted] of [
    [
      "has reached its limit",
      { nodeAllocatableUpdatePeriodSeconds: 60 },
      { attachError: { errorCode: 8 } },
      true,
    ],
    [
      "has reached its limit, for a driver without count updates",
      {},
      { attachError: { errorCode: 8 } },
      false,
    ],
    [
      "failed for another reason",
      { nodeAllocatableUpdatePeriodSeconds: 60 },
      { attachError: { errorCode: 5 } },
      false,
    ],
    ["is not finished", { nodeAllocatableUpdatePeriodSeconds: 60 }, {}, false],
  ] as const)
    it(`an attach that ${rule} is ${isExhausted ? "" : "not "}exhausted`, async () => {
      const { api, attachments } = setUp(driver);
      assert.equal(await attachments.isExhausted(volume, never), false);
      api.put(path, { metadata: { name: id }, status });
      assert.equal(await attachments.isExhausted(volume, never), isExhausted);
    });

  it("can be aborted", async () => {
    const { attachments } = setUp();
    const abort = new AbortController();
    const wait = assert.rejects(attachments.wait(volume, abort.signal), { name: "AbortError" });
    await settle();
    abort.abort();
    await wait;
  });
});
