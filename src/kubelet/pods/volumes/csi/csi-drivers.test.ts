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

/** An API server with one driver object, to which a watch can be told more. */
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
  it("are waited for, followed, and forgotten", async () => {
    const transport = server();
    const abort = new AbortController();
    const drivers = new CsiDriverObjects({ transport, clock: new FakeClock(), logger: silentLogger });
    const changes: string[] = [];
    drivers.onChange((name) => void changes.push(name));
    await drivers.start(abort.signal);
    const asked = drivers.get("a", abort.signal);
    const hasty = new AbortController();
    const givenUp = assert.rejects(drivers.get("a", hasty.signal), { name: "AbortError" });
    hasty.abort();
    await givenUp;
    transport.list.resolve();
    assert.deepEqual(await asked, { attachRequired: false });
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

describe("the count of volumes that a driver takes", () => {
  it("is asked for again as often as its object wants it, while it is registered", async () => {
    const clock = new FakeClock();
    const drivers = new DriverStore();
    const period: { seconds: number | undefined } = { seconds: 60 };
    let asked = 0;
    const client = {
      nodeInfo: async () => ({ nodeId: "n", maxVolumes: BigInt(++asked), topology: {} }),
      close() {},
    };
    const told: bigint[] = [];
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
        update: async (_driver, { maxVolumes }) => void told.push(maxVolumes),
      },
      clock,
      logger: silentLogger,
    });
    const abort = new AbortController();
    updates.start(abort.signal);
    updates.changed("d");
    await clock.advance(60_000);
    assert.deepEqual(told, [], "not registered");
    drivers.set("d", { endpoint: "/d", version: [1], client: client as never });
    updates.changed("d");
    await clock.advance(120_000);
    assert.deepEqual(told, [1n, 2n]);
    period.seconds = undefined;
    updates.changed("d");
    await clock.advance(120_000);
    assert.deepEqual(told, [1n, 2n]);
    assert.equal(clock.pending, 0);
    abort.abort();
  });
});
