import assert from "node:assert/strict";
import { type ChildProcess, execFile, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { promisify } from "node:util";
import fc from "fast-check";
import { systemClock } from "../../base/clock.ts";
import { DBusConnection, DBusError } from "./connection.ts";
import { DBusClient, isDisconnected } from "./dbus-client.ts";
import { anyBody } from "./fixtures.ts";
import type { DBusValue } from "./value.ts";

const run = promisify(execFile);
const bus = {
  destination: "org.freedesktop.DBus",
  path: "/org/freedesktop/DBus",
  interface: "org.freedesktop.DBus",
};

/** Resolves when the next signal of a subscription has come. */
function signalQueue() {
  const received: (readonly DBusValue[])[] = [];
  let wake = () => {};
  return {
    onSignal: (body: readonly DBusValue[]) => {
      received.push(body);
      wake();
    },
    async next(): Promise<readonly DBusValue[]> {
      while (received.length === 0) await new Promise<void>((resolve) => (wake = resolve));
      return received.shift()!;
    },
  };
}

const missing = spawnSync("dbus-daemon", ["--version"]).status === 0 ? false : "dbus-daemon is not installed";

describe("with the message bus of the D-Bus project", { skip: missing }, () => {
  const dir = mkdtempSync(join(tmpdir(), "dbus-test-"));
  const socketPath = join(dir, "bus");
  const address = `unix:path=${socketPath}`;
  let daemon: ChildProcess;
  const clients: DBusClient[] = [];

  const startDaemon = async () => {
    rmSync(socketPath, { force: true });
    daemon = spawn(
      "dbus-daemon",
      ["--session", "--nofork", "--nopidfile", `--address=${address}`, "--print-address"],
      {
        stdio: ["ignore", "pipe", "ignore"],
      },
    );
    await once(daemon.stdout!, "data");
  };
  const stopDaemon = async () => {
    daemon.kill("SIGKILL");
    await once(daemon, "exit");
  };
  const client = (options: Partial<ConstructorParameters<typeof DBusClient>[0]> = {}) => {
    const created = new DBusClient({
      endpoints: [{ socketPath, kind: "bus" }],
      clock: systemClock,
      ...options,
    });
    clients.push(created);
    return created;
  };
  const send = (...args: string[]) => run("dbus-send", [`--bus=${address}`, ...args]);

  before(startDaemon);
  after(async () => {
    for (const one of clients) one.close();
    await stopDaemon();
    rmSync(dir, { recursive: true });
  });

  it("a call returns the values of its reply", async () => {
    const [names] = await client().call({ ...bus, member: "ListNames" });
    assert.ok((names as string[]).includes("org.freedesktop.DBus"));
  });

  it("an error has the name and the message of the callee", async () => {
    const call = client().call({ ...bus, member: "GetNameOwner", signature: "s", body: ["no.such.name"] });
    await assert.rejects(call, (error) => {
      assert.ok(error instanceof DBusError);
      assert.equal(error.errorName, "org.freedesktop.DBus.Error.NameHasNoOwner");
      assert.match(error.message, /no\.such\.name/);
      return true;
    });
  });

  it("the bus knows the user by the socket", async () => {
    const one = client();
    await one.call({ ...bus, member: "RequestName", signature: "su", body: ["a.user", 0] });
    const call = { ...bus, member: "GetConnectionUnixUser", signature: "s", body: ["a.user"] };
    assert.deepEqual(await one.call(call), [process.getuid!()]);
  });

  it("values that another implementation has written are read", async () => {
    const queue = signalQueue();
    const one = client({ signals: [{ match: { interface: "a.b", member: "C" }, onSignal: queue.onSignal }] });
    await one.call({ ...bus, member: "GetId" });
    await send("--type=signal", "/a", "a.b.Other", "string:not this one");
    await send(
      ...[
        "--type=signal",
        "/a",
        "a.b.C",
        "string:ä€",
        "int64:-5",
        "uint32:7",
        "byte:9",
        "boolean:true",
        "double:1.25",
      ],
      ...[
        "array:string:x,y",
        "dict:string:int32:k,1,l,2",
        "variant:objpath:/o/p",
        "array:byte:1,2",
        "int16:-3",
      ],
    );
    const dictionary = [
      ["k", 1],
      ["l", 2],
    ];
    assert.deepEqual(await queue.next(), [
      ...["ä€", -5n, 7, 9, true, 1.25, ["x", "y"], dictionary],
      ...[{ signature: "o", value: "/o/p" }, new Uint8Array([1, 2]), -3],
    ]);
  });

  it("the bus accepts and forwards every body that can be written", async () => {
    // The bus disconnects a client that marshals wrongly, and the reader closes a connection with a message that it rejects.
    const connection = await DBusConnection.open({
      socketPath,
      clock: systemClock,
      onSignal() {},
      onClose() {},
    });
    const [own] = await connection.call({ ...bus, member: "Hello" });
    await fc.assert(
      fc.asyncProperty(anyBody, async (body) => {
        const call = { destination: String(own), path: "/a", interface: "a.b", member: "C", ...body };
        await assert.rejects(connection.call(call), {
          errorName: "org.freedesktop.DBus.Error.UnknownMethod",
        });
      }),
      { numRuns: 200 },
    );
    assert.ok(connection.isOpen);
    connection.close();
  });

  it("after a restart of the bus the next call reconnects, with the same match rules", async () => {
    const queue = signalQueue();
    const lost: string[] = [];
    const one = client({
      signals: [{ match: { interface: "a.b", member: "C" }, onSignal: queue.onSignal }],
      onDisconnect: (error) => lost.push(error.message),
    });
    await one.call({ ...bus, member: "GetId" });
    daemon.kill("SIGSTOP");
    const hanging = assert.rejects(one.call({ ...bus, member: "ListNames" }), isDisconnected);
    await stopDaemon();
    await hanging;
    assert.equal(lost.length, 1);
    await assert.rejects(one.call({ ...bus, member: "GetId" }), /connect to D-Bus: .*bus: /);
    await startDaemon();
    await Promise.all([one.call({ ...bus, member: "GetId" }), one.call({ ...bus, member: "ListNames" })]);
    await send("--type=signal", "/a", "a.b.C", "string:again");
    assert.deepEqual(await queue.next(), ["again"]);
  });

  it("the first endpoint that works is used", async () => {
    const endpoints = [
      { socketPath: join(dir, "absent"), kind: "bus" },
      { socketPath, kind: "bus" },
    ] as const;
    assert.equal((await client({ endpoints }).call({ ...bus, member: "GetId" })).length, 1);
  });

  it("a call ends with its signal, and its reply is ignored", async () => {
    const one = client();
    await one.call({ ...bus, member: "GetId" });
    const abort = new AbortController();
    const call = one.call({ ...bus, member: "ListNames" }, { signal: abort.signal });
    abort.abort();
    await assert.rejects(call, { name: "AbortError" });
    await one.call({ ...bus, member: "GetId" });
  });

  it("a closed client rejects calls", async () => {
    const one = client();
    await one.call({ ...bus, member: "GetId" });
    one.close();
    await assert.rejects(one.call({ ...bus, member: "GetId" }), { name: "AbortError" });
  });
});
