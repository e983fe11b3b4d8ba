import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { once } from "node:events";
import { readdirSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { after, afterEach, before, beforeEach, describe, it } from "node:test";
import { promisify } from "node:util";
import { systemClock } from "../../base/clock.ts";
import { FakeLogind, noBus, TestBus } from "./fake-logind.ts";
import { LogindClient } from "./logind-client.ts";

const run = promisify(execFile);

describe("logind on a bus", { skip: noBus }, () => {
  const bus = new TestBus();
  let logind: FakeLogind;
  let client: LogindClient;
  let events: string[];

  const until = async (isDone: () => boolean) => {
    for (const deadline = Date.now() + 60_000; !isDone(); ) {
      assert.ok(Date.now() < deadline, `${isDone}: ${events.join(", ")}`);
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
  };
  const connect = () =>
    new LogindClient({
      clock: systemClock,
      socketPath: bus.socketPath,
      onPrepareForShutdown: (isActive) => events.push(`shutdown ${isActive}`),
      onLost: () => events.push("lost"),
    });
  const descriptors = () => readdirSync("/proc/self/fd").length;

  before(() => bus.start());
  after(() => bus.remove());
  beforeEach(async () => {
    events = [];
    logind = new FakeLogind(bus.socketPath);
    await logind.start();
    client = connect();
  });
  afterEach(async () => {
    client.close();
    await logind.stop();
  });

  it("a lock is held until it is released, and leaves no descriptor behind", async () => {
    await client.inhibitDelayMs();
    const opened = descriptors();
    const lock = await client.inhibit("kubelet", "because");
    assert.deepEqual(logind.locks[0]?.args, ["shutdown", "kubelet", "because", "delay"]);
    assert.equal(logind.held, 1);
    lock.release();
    lock.release();
    await until(() => logind.held === 0);
    await until(() => descriptors() <= opened);
  });

  it("a lock survives the connection of its call, and that of the client", async () => {
    const lock = await client.inhibit("kubelet", "because");
    await client.inhibitDelayMs();
    client.close();
    const other = connect();
    const second = await other.inhibit("other", "too");
    other.close();
    assert.equal(logind.held, 2);
    lock.release();
    second.release();
    await until(() => logind.held === 0);
  });

  it("a lock is denied during a shutdown, with the message of logind", async () => {
    logind.isPreparing = true;
    assert.equal(await client.isPreparing(), true);
    await assert.rejects(
      client.inhibit("kubelet", "because"),
      /inhibition has been requested for is already running/,
    );
  });

  it("the delay is read in milliseconds, and logind is reloaded by its unit", async () => {
    logind.onReload = () => (logind.delayMs = 30_000);
    assert.equal(await client.inhibitDelayMs(), 5000);
    await client.reload();
    assert.equal(await client.inhibitDelayMs(), 30_000);
  });

  it("PrepareForShutdown signals, also of a cancellation, are received in order", async () => {
    await client.isPreparing();
    logind.prepare(true);
    logind.prepare(false);
    logind.prepare(true);
    await until(() => events.length === 3);
    assert.deepEqual(events, ["shutdown true", "shutdown false", "shutdown true"]);
  });

  it("signals that another user of the bus sends to the client directly are ignored", async () => {
    await client.isPreparing();
    const address = `unix:path=${bus.socketPath}`;
    const send = (path: string, signal: string, ...values: string[]) =>
      run("sh", [
        "-c",
        `for name in $(dbus-send --bus="$0" --print-reply=literal --dest=org.freedesktop.DBus / org.freedesktop.DBus.ListNames); do
          case $name in :*) dbus-send --bus="$0" --type=signal --dest=$name "$@";; esac
        done`,
        ...[address, path, signal, ...values],
      ]);
    const login1 = "org.freedesktop.login1";
    await send("/org/freedesktop/login1", `${login1}.Manager.PrepareForShutdown`, "boolean:true");
    await send(
      ...["/org/freedesktop/DBus", "org.freedesktop.DBus.NameOwnerChanged"],
      ...[`string:${login1}`, "string::1.1", "string::1.2"],
    );
    await client.isPreparing();
    logind.prepare(false);
    await until(() => events.length > 0);
    assert.deepEqual(events, ["shutdown false"]);
  });

  it("a logind that is restarted is reported, and works on the same connection", async () => {
    await client.isPreparing();
    await logind.stop();
    await until(() => events.includes("lost"));
    await assert.rejects(client.isPreparing());
    await logind.start();
    assert.equal(await client.isPreparing(), false);
    logind.prepare(true);
    await until(() => events.includes("shutdown true"));
  });

  it("a bus that is restarted is reported, and the next call reconnects", async () => {
    await client.isPreparing();
    await bus.stop();
    await until(() => events.includes("lost"));
    await assert.rejects(client.inhibit("kubelet", "because"), /connect .*bus/);
    await bus.start();
    await logind.start();
    const lock = await client.inhibit("kubelet", "because");
    assert.equal(logind.held, 1);
    lock.release();
    await until(() => logind.held === 0);
  });

  it("a call ends with its signal, if the bus does not respond", async () => {
    const silent = createServer(() => {});
    const socketPath = join(bus.dir, "silent");
    silent.listen(socketPath);
    await once(silent, "listening");
    const stop = new AbortController();
    const other = new LogindClient({
      clock: systemClock,
      socketPath,
      onPrepareForShutdown() {},
      onLost() {},
    });
    const failed = assert.rejects(other.inhibit("kubelet", "because", stop.signal), { name: "AbortError" });
    setImmediate(() => stop.abort());
    await failed;
    other.close();
    silent.close();
  });
});
