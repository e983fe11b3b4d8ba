import assert from "node:assert/strict";
import { test } from "node:test";
import { FakeClock, settle } from "../../../lib/base/fake-clock.ts";
import { type Logger, silentLogger } from "../../../lib/base/logger.ts";
import type { PodUid } from "../../../lib/model/pod.ts";
import { SyncLoop } from "./sync-loop.ts";

const uid = "1" as PodUid;

async function setUp() {
  const clock = new FakeClock();
  const lags: number[] = [];
  const errors: unknown[] = [];
  const stop = new AbortController();
  const logger: Logger = { ...silentLogger, error: (message, fields) => errors.push({ message, ...fields }) };
  const loop = new SyncLoop({ clock, logger, onLag: (ms) => lags.push(ms) });
  const start = () => loop.start(stop.signal);
  return { clock, loop, lags, errors, stop, start };
}

test("a handler never runs within post, and the events it posts are handled after it", async () => {
  const { loop, start } = await setUp();
  const calls: string[] = [];
  loop.subscribe({
    housekeeping: {
      "source-synced": () => {
        calls.push("start");
        loop.post({ kind: "api-reconnected" });
        calls.push("end");
      },
      "runtime-synced": () => calls.push("synced"),
    },
    plugins: { "api-reconnected": () => calls.push("back") },
  });
  await start();
  loop.post({ kind: "source-synced", source: "file" });
  loop.post({ kind: "runtime-synced" });
  assert.deepEqual(calls, []);
  await Promise.resolve();
  assert.deepEqual(calls, ["start", "end", "synced", "back"]);
});

test("a caller that awaits a promise settled after a post continues after its handlers", async () => {
  const { loop, start } = await setUp();
  const calls: string[] = [];
  loop.subscribe({ plugins: { "api-reconnected": () => calls.push("handler") } });
  await start();
  const { promise, resolve } = Promise.withResolvers<void>();
  const waiting = promise.then(() => calls.push("continuation"));
  loop.post({ kind: "api-reconnected" });
  resolve();
  await waiting;
  assert.deepEqual(calls, ["handler", "continuation"]);
});

test("events posted before the start wait for it; none is handled after the stop", async () => {
  const { loop, start, stop } = await setUp();
  const calls: string[] = [];
  loop.subscribe({ plugins: { "api-reconnected": () => calls.push("back") } });
  loop.post({ kind: "api-reconnected" });
  await settle();
  assert.deepEqual(calls, []);
  await start();
  await settle();
  assert.deepEqual(calls, ["back"]);
  stop.abort();
  loop.post({ kind: "api-reconnected" });
  await settle();
  assert.deepEqual(calls, ["back"]);
});

test("an error affects one handler of one event, and is logged with both", async () => {
  const { loop, start, errors } = await setUp();
  const calls: string[] = [];
  loop.subscribe({
    nodeStatus: {
      "runtime-state": () => {
        throw new Error("an error");
      },
      "volumes-in-use": () => calls.push("node in use"),
      "csi-node-ready": () => {},
      "pressure-changed": () => {},
      "devices-changed": () => {},
      "shutdown-changed": () => {},
      "node-changed": () => {},
    },
    pleg: { "runtime-state": ({ state }) => calls.push(`pleg ${state}`), "oom-kill": () => {} },
  });
  await start();
  loop.post({ kind: "runtime-state", state: "up" });
  loop.post({ kind: "volumes-in-use" });
  await settle();
  assert.deepEqual(calls, ["pleg up", "node in use"]);
  assert.deepEqual(errors, [
    { message: "Failed to handle event", event: "runtime-state", handler: "nodeStatus", err: "an error" },
  ]);
});

test("events that cause each other endlessly do not starve I/O", async () => {
  const { loop, start, stop } = await setUp();
  loop.subscribe({ plugins: { "api-reconnected": () => loop.post({ kind: "api-reconnected" }) } });
  await start();
  loop.post({ kind: "api-reconnected" });
  await settle();
  stop.abort();
  await settle();
});

test("the lag of each tick, and of the event it posts, is measured", async () => {
  const { clock, lags, start } = await setUp();
  await start();
  await clock.advance(3000);
  assert.deepEqual(lags, [0, 0, 0, 0, 0, 0]);
});

test("the lag of an event is the time since it was posted", async () => {
  const { clock, loop, lags, start } = await setUp();
  loop.post({ kind: "runtime-observed", uid, what: "ContainerDied" });
  await clock.advance(700);
  await start();
  await settle();
  assert.deepEqual(lags, [700]);
});
