import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { FakeClock, settle } from "../../../../lib/base/fake-clock.ts";
import { silentLogger } from "../../../../lib/base/logger.ts";
import { AllocatableUpdates } from "./allocatable-updates.ts";
import { CsiDriverObjects } from "./csi-drivers.ts";
import { DriverStore } from "./driver-store.ts";

const object = (name: string, resourceVersion: string, spec: object) => ({
  metadata: { name, uid: `uid-${name}`, resourceVersion },
  spec,
});

/** An API server with one CSIDriver object, and a watch that sends further events. */
function server() {
  const events: string[] = [];
  let wake = Promise.withResolvers<void>();
  const list = Promise.withResolvers<void>();
  return {
    list,
    send(type: string, sent: object) {
      events.push(`${JSON.stringify({ type, object: sent })}\n`);
      wake.resolve();
    },
    request: async () => {
      await list.promise;
      return {
        metadata: { resourceVersion: "1" },
        items: [object("a", "1", { attachRequired: false })],
      } as never;
    },
    stream: async ({ signal }: { signal: AbortSignal }) =>
      (async function* () {
        signal.addEventListener("abort", () => wake.resolve());
        while (!signal.aborted) {
          for (const line of events.splice(0)) yield Buffer.from(line);
          await wake.promise;
          wake = Promise.withResolvers();
        }
      })(),
  };
}

describe("CSIDriver objects", () => {
  it("are listed, watched, and removed when deleted", async () => {
    const transport = server();
    const abort = new AbortController();
    const drivers = new CsiDriverObjects({ transport, clock: new FakeClock(), logger: silentLogger });
    const changes: string[] = [];
    drivers.onChange((name) => void changes.push(name));
    await drivers.start(abort.signal);
    const spec = drivers.get("a", abort.signal);
    const abandoned = new AbortController();
    const aborted = assert.rejects(drivers.get("a", abandoned.signal), { name: "AbortError" });
    abandoned.abort();
    await aborted;
    transport.list.resolve();
    assert.deepEqual(await spec, { attachRequired: false });
    await settle(10);
    transport.send("ADDED", object("b", "2", { requiresRepublish: true }));
    await settle(10);
    assert.deepEqual(drivers.known("b"), { requiresRepublish: true });
    transport.send("DELETED", object("a", "3", {}));
    await settle(10);
    assert.equal(await drivers.get("a", abort.signal), undefined);
    assert.deepEqual(changes, ["a", "b", "a"]);
    abort.abort();
    await drivers.done;
  });
});

// parity: gate MutableCSINodeAllocatableCount=true as nodeAllocatableUpdatePeriodSeconds
describe("the allocatable count of a driver", () => {
  it("is updated with the period of its object, while the driver is registered", async () => {
    const clock = new FakeClock();
    const drivers = new DriverStore();
    const period: { seconds: number | undefined } = { seconds: 60 };
    let requests = 0;
    const client = {
      nodeInfo: async () => ({ nodeId: "n", maxVolumes: BigInt(++requests), topology: {} }),
      close() {},
    };
    const reported: bigint[] = [];
    const updates = new AllocatableUpdates({
      drivers,
      objects: {
        get: async () => ({}),
        known: () => ({ nodeAllocatableUpdatePeriodSeconds: period.seconds }),
        onChange: () => () => {},
      },
      node: {
        install: async () => {},
        uninstall: async () => {},
        update: async (_driver, { maxVolumes }) => void reported.push(maxVolumes),
      },
      clock,
      logger: silentLogger,
    });
    const abort = new AbortController();
    updates.start(abort.signal);
    updates.changed("d");
    await clock.advance(60_000);
    assert.deepEqual(reported, [], "not registered");
    drivers.set("d", { endpoint: "/d", version: [1], client: client as never });
    updates.changed("d");
    await clock.advance(120_000);
    assert.deepEqual(reported, [1n, 2n]);
    period.seconds = undefined;
    updates.changed("d");
    await clock.advance(120_000);
    assert.deepEqual(reported, [1n, 2n]);
    assert.equal(clock.pending, 0);
    abort.abort();
  });
});
