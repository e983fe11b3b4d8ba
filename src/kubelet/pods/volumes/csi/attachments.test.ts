import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { StorageApi } from "../../../../../test/csi/storage-api.ts";
import { FakeClock, settle } from "../../../../lib/base/fake-clock.ts";
import { Attachments } from "./attachments.ts";
import type { CsiDriverSpec } from "./csi-drivers.ts";
import { attachmentName } from "./names.ts";

const volume = { driver: "d", handle: "vol" };
const id = attachmentName("vol", "d", "n1");
const path = `/apis/storage.k8s.io/v1/volumeattachments/${id}`;
const never = new AbortController().signal;

function bench(driver?: CsiDriverSpec) {
  const api = new StorageApi();
  const clock = new FakeClock();
  const exhausted: string[] = [];
  const objects = { get: async () => driver, known: () => driver, onChange: () => () => {} };
  const onExhausted = (name: string) => void exhausted.push(name);
  const attachments = new Attachments({ transport: api, nodeName: "n1", objects, clock, onExhausted });
  return { api, clock, attachments, exhausted };
}

describe("the wait for a volume to be attached", () => {
  it("ends when the attacher says so, and its words are handed to the driver", async () => {
    const { api, clock, attachments } = bench();
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

  it("is none for a driver that attaches nothing", async () => {
    const { api, attachments } = bench({ attachRequired: false });
    await attachments.wait(volume, never);
    assert.deepEqual(await attachments.publishContext(volume, never), {});
    assert.deepEqual(api.requests, []);
  });

  it("tells after about ten seconds what it waits for", async () => {
    const { api, clock, attachments } = bench();
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
    ["the attacher's own words", {}, { attachError: { message: "no more slots" } }, /^no more slots$/],
    [
      "an attachment that goes",
      { deletionTimestamp: "t" },
      { attached: true },
      /^volume attachment is being deleted$/,
    ],
  ];
  for (const [rule, meta, status, message] of ends)
    it(`ends at once with ${rule}`, async () => {
      const { api, attachments } = bench();
      api.put(path, { metadata: { name: id, ...meta }, status });
      await assert.rejects(attachments.wait(volume, never), { message });
    });

  it("has the driver's count looked at again when it was wrong", async () => {
    const { api, attachments, exhausted } = bench({ nodeAllocatableUpdatePeriodSeconds: 60 });
    api.put(path, { metadata: { name: id }, status: { attachError: { message: "full", errorCode: 8 } } });
    await assert.rejects(attachments.wait(volume, never), { message: "full" });
    assert.deepEqual(exhausted, ["d"]);
  });

  it("begins when the node's status says that it is attached; the attacher knows better why it does not", async () => {
    const { api, attachments, exhausted } = bench({ nodeAllocatableUpdatePeriodSeconds: 60 });
    const refused = async () => {
      throw new Error("not attached according to node status");
    };
    await assert.rejects(attachments.wait(volume, never, refused), { message: /according to node status/ });
    api.put(path, { metadata: { name: id }, status: { attached: true } });
    await assert.rejects(attachments.wait(volume, never, refused), { message: /according to node status/ });
    api.put(path, { metadata: { name: id }, status: { attachError: { message: "full", errorCode: 8 } } });
    await assert.rejects(attachments.wait(volume, never, refused), { message: "full" });
    assert.deepEqual(exhausted, ["d"]);
  });

  for (const [rule, driver, status, isExhausted] of [
    ["is full", { nodeAllocatableUpdatePeriodSeconds: 60 }, { attachError: { errorCode: 8 } }, true],
    ["is full, of a driver whose count does not change", {}, { attachError: { errorCode: 8 } }, false],
    [
      "failed otherwise",
      { nodeAllocatableUpdatePeriodSeconds: 60 },
      { attachError: { errorCode: 5 } },
      false,
    ],
    ["goes on", { nodeAllocatableUpdatePeriodSeconds: 60 }, {}, false],
  ] as const)
    it(`of a node that ${rule} ${isExhausted ? "is in vain" : "may be worth it"}`, async () => {
      const { api, attachments } = bench(driver);
      assert.equal(await attachments.isExhausted(volume, never), false);
      api.put(path, { metadata: { name: id }, status });
      assert.equal(await attachments.isExhausted(volume, never), isExhausted);
    });

  it("can be given up", async () => {
    const { attachments } = bench();
    const abort = new AbortController();
    const wait = assert.rejects(attachments.wait(volume, abort.signal), { name: "AbortError" });
    await settle();
    abort.abort();
    await wait;
  });
});
