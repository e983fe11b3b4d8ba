import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { FakeClock, settle } from "../../../lib/base/fake-clock.ts";
import { silentLogger } from "../../../lib/base/logger.ts";
import { SliceCleanup } from "./slice-cleanup.ts";

function setUp(fault: () => unknown = () => undefined) {
  const clock = new FakeClock();
  const deleted: string[] = [];
  const stop = new AbortController();
  const state = { isRegistered: true };
  const cleanup = new SliceCleanup({
    clock,
    logger: silentLogger,
    view: { node: () => (state.isRegistered ? {} : undefined) },
    api: {
      async deleteSlices(driver) {
        deleted.push(driver ?? "all");
        const error = fault();
        if (error !== undefined) throw error;
      },
    },
  });
  cleanup.start(stop.signal);
  return { clock, deleted, stop, state, cleanup };
}

describe("the ResourceSlices of the node", () => {
  it("are deleted at startup, once", async () => {
    const { clock, deleted } = setUp();
    await settle();
    await clock.advance(600_000);
    assert.deepEqual(deleted, ["all"]);
  });

  it("are deleted when a driver was gone for 30 s, not before", async () => {
    const { clock, deleted, cleanup } = setUp();
    await settle();
    cleanup.usable("d", false);
    await clock.advance(20_000);
    cleanup.usable("d", false);
    await clock.advance(9_999);
    assert.deepEqual(deleted, ["all"]);
    await clock.advance(1);
    assert.deepEqual(deleted, ["all", "d"]);
  });

  it("are kept if the driver is back in time", async () => {
    const { clock, deleted, cleanup } = setUp();
    await settle();
    cleanup.usable("d", false);
    await clock.advance(29_000);
    cleanup.usable("d", true);
    await clock.advance(100_000);
    assert.deepEqual(deleted, ["all"]);
    cleanup.usable("d", false);
    await clock.advance(30_000);
    assert.deepEqual(deleted, ["all", "d"]);
  });

  it("deleting is retried after 1, 2 and 4 s", async () => {
    let faults = 3;
    const { clock, deleted } = setUp(() => (faults-- > 0 ? new Error("unavailable") : undefined));
    await settle();
    await clock.advance(7_000);
    assert.deepEqual(deleted, ["all", "all", "all", "all"]);
    await clock.advance(600_000);
    assert.equal(deleted.length, 4);
  });

  it("an API server without the kind is not called again", async () => {
    const { clock, deleted } = setUp(() => Object.assign(new Error("not found"), { status: 404 }));
    await settle();
    await clock.advance(600_000);
    assert.deepEqual(deleted, ["all"]);
  });

  it("deleting waits until the node is registered", async () => {
    const { clock, deleted, state } = setUp();
    state.isRegistered = false;
    const other = setUp();
    other.state.isRegistered = false;
    await settle();
    await other.clock.advance(500);
    other.state.isRegistered = true;
    await other.clock.advance(5_000);
    assert.equal(other.deleted.length, 1);
    await clock.advance(5_000);
    assert.equal(deleted.length, 1, "it was registered at startup");
  });

  it("nothing is deleted after stop", async () => {
    const { clock, deleted, cleanup, stop } = setUp();
    await settle();
    cleanup.usable("d", false);
    stop.abort();
    await clock.advance(100_000);
    await cleanup.ended();
    assert.deepEqual(deleted, ["all"]);
  });
});
