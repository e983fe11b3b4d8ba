import assert from "node:assert/strict";
import { test } from "node:test";
import type { Component } from "./component.ts";
import { FakeClock, settle } from "./fake-clock.ts";
import { Lifecycle } from "./lifecycle.ts";
import { type Logger, silentLogger } from "./logger.ts";

function setUp() {
  const clock = new FakeClock();
  const log: string[] = [];
  const logs: string[] = [];
  const logLine = (message: string, fields?: Record<string, unknown>) =>
    void logs.push(`${message}: ${fields?.component}`);
  const logger: Logger = { ...silentLogger, warn: logLine, error: logLine };
  const component = (
    name: string,
    options: { endsAfterMs?: number; startFails?: boolean; endsWith?: Error } = {},
  ): Component => {
    const ended = Promise.withResolvers<void>();
    return {
      name,
      done: ended.promise,
      async start(signal) {
        log.push(`start ${name}`);
        signal.addEventListener("abort", () => {
          log.push(`abort ${name}`);
          const end = () => {
            log.push(`end ${name}`);
            if (options.endsWith) ended.reject(options.endsWith);
            else ended.resolve();
          };
          if (options.endsAfterMs) clock.after(options.endsAfterMs, end);
          else end();
        });
        if (options.startFails) throw new Error(`${name} cannot start`);
      },
    };
  };
  const stopping = new AbortController();
  return {
    clock,
    log,
    logs,
    component,
    stopping,
    lifecycle: new Lifecycle(clock, logger, stopping.signal),
  };
}

test("components stop in reverse order, each when the one after it has ended", async () => {
  const { clock, log, component, lifecycle } = setUp();
  for (const one of [
    component("a"),
    component("b", { endsAfterMs: 50 }),
    component("c", { endsAfterMs: 100 }),
  ])
    await lifecycle.start(one);
  assert.deepEqual(
    lifecycle.components.map((c) => c.name),
    ["a", "b", "c"],
  );
  log.length = 0;
  const stopped = lifecycle.stop(1000);
  await settle();
  assert.deepEqual(log, ["abort c"]);
  await clock.advance(100);
  assert.deepEqual(log, ["abort c", "end c", "abort b"]);
  await clock.advance(50);
  await stopped;
  assert.deepEqual(log, ["abort c", "end c", "abort b", "end b", "abort a", "end a"]);
  assert.equal(clock.pending, 0);
  assert.deepEqual(lifecycle.components, []);
});

test("a component that does not stop is named in the log, and the others are still stopped", async () => {
  const { clock, log, logs, component, lifecycle } = setUp();
  for (const one of [component("a"), component("stuck", { endsAfterMs: 60_000 }), component("c")])
    await lifecycle.start(one);
  const stopped = lifecycle.stop(1000);
  await clock.advance(1000);
  await stopped;
  assert.deepEqual(logs, ["Component did not stop in time: stuck"]);
  assert.ok(log.indexOf("abort a") > log.indexOf("abort stuck"));
  assert.ok(log.includes("end a"));
});

test("components that hang leave time for the others to stop, in order, and all stop within the deadline", async () => {
  const { clock, log, logs, component, lifecycle } = setUp();
  for (const one of [
    component("a", { endsAfterMs: 50 }),
    component("stuck", { endsAfterMs: 60_000 }),
    component("b", { endsAfterMs: 50 }),
    component("hung", { endsAfterMs: 60_000 }),
  ])
    await lifecycle.start(one);
  log.length = 0;
  const stopped = lifecycle.stop(1000);
  await clock.advance(1000);
  await stopped;
  assert.deepEqual(logs, ["Component did not stop in time: hung", "Component did not stop in time: stuck"]);
  assert.deepEqual(log, ["abort hung", "abort b", "end b", "abort stuck", "abort a", "end a"]);
});

test("a component that fails is logged, and delays no other", async () => {
  const { logs, log, component, lifecycle } = setUp();
  for (const one of [component("a"), component("bad", { endsWith: new Error("oh") })])
    await lifecycle.start(one);
  await lifecycle.stop(1000);
  assert.deepEqual(logs, ["Component failed: bad"]);
  assert.ok(log.includes("end a"));
});

test("a component that cannot start is stopped, and those before it can be stopped", async () => {
  const { log, component, lifecycle } = setUp();
  await lifecycle.start(component("a"));
  await assert.rejects(lifecycle.start(component("bad", { startFails: true })), /bad cannot start/);
  assert.ok(log.includes("abort bad"));
  await lifecycle.stop(1000);
  assert.ok(log.includes("end a"));
});

test("stopping aborts the start in progress and starts no more components; started ones run until they are stopped", async () => {
  const { log, component, lifecycle, stopping } = setUp();
  await lifecycle.start(component("a"));
  const waiting: Component = {
    name: "b",
    done: Promise.resolve(),
    start: (signal) =>
      new Promise((_, reject) => signal.addEventListener("abort", () => reject(new Error("aborted")))),
  };
  const aborted = assert.rejects(lifecycle.start(waiting), /aborted/);
  stopping.abort();
  await aborted;
  await assert.rejects(lifecycle.start(component("c")), { name: "AbortError" });
  assert.deepEqual(log, ["start a"]);
  await lifecycle.stop(1000);
  assert.deepEqual(log, ["start a", "abort a", "end a"]);
});
