import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer, type Server, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, afterEach, beforeEach, describe, it } from "node:test";
import { systemClock } from "../../base/clock.ts";
import { FakeClock } from "../../base/fake-clock.ts";
import { DBusConnection } from "./connection.ts";
import { encodeMessage } from "./message.ts";

const call = { path: "/a", interface: "a.b", member: "C" };

describe("a peer that misbehaves", () => {
  const dir = mkdtempSync(join(tmpdir(), "dbus-connection-"));
  const socketPath = join(dir, "peer");
  let server: Server;
  let sockets: Socket[];
  let closed: Error[];
  /** The reaction of the peer to each chunk that it receives. */
  let onData: (socket: Socket, chunk: Buffer) => void;

  beforeEach(async () => {
    sockets = [];
    closed = [];
    server = createServer((socket) => {
      sockets.push(socket);
      socket.on("error", () => {}).on("data", (chunk) => onData(socket, chunk));
    });
    server.listen(socketPath);
    await once(server, "listening");
  });
  afterEach(async () => {
    for (const socket of sockets) socket.destroy();
    server.close();
    await once(server, "close");
  });
  after(() => rmSync(dir, { recursive: true }));

  const open = (clock = systemClock) =>
    DBusConnection.open({ socketPath, clock, onSignal() {}, onClose: (error) => closed.push(error) });
  /** Authenticates the client, and sends these bytes on its first call. */
  const sending = (bytes: Buffer) => {
    onData = (socket, chunk) => {
      if (chunk.includes("AUTH")) socket.write("OK 0\r\n");
      else if (!chunk.equals(Buffer.from("BEGIN\r\n"))) socket.write(bytes);
    };
  };

  for (const [title, response, problem] of [
    ["rejects the user", "REJECTED EXTERNAL\r\n", /user \d+ was rejected: REJECTED EXTERNAL/],
    ["sends no line", "x".repeat(20_000), /the response is not a line/],
    ["is another protocol", "HTTP/1.1 400 Bad Request\r\n\r\n", /was rejected: HTTP/],
  ] as const)
    it(`and ${title} fails the connection attempt`, async () => {
      onData = (socket) => void socket.write(response);
      await assert.rejects(open(), problem);
    });

  it("and closes during authentication fails the connection attempt", async () => {
    onData = (socket) => void socket.destroy();
    await assert.rejects(open(), { code: "DBusAuthentication" });
  });

  it("and never responds fails the connection attempt after 10 s", async () => {
    const clock = new FakeClock();
    const received = new Promise<void>((resolve) => (onData = () => resolve()));
    const failed = assert.rejects(open(clock), { code: "DBusAuthentication" });
    await received;
    await clock.advance(10_000);
    await failed;
  });

  it("with an invalid message is disconnected, once, and pending calls end", async () => {
    sending(Buffer.from("this is not a message of D-Bus"));
    const connection = await open();
    const calls = [connection.call(call), connection.call(call)];
    for (const one of calls) await assert.rejects(one, { code: "DBusDisconnected" });
    assert.equal(connection.isOpen, false);
    assert.equal(closed.length, 1);
    await assert.rejects(connection.call(call), { code: "DBusDisconnected" });
  });

  it("with replies to calls that were never sent is ignored", async () => {
    const reply = (replySerial: number) =>
      encodeMessage({ kind: "return", serial: 9, replySerial, signature: "s", body: ["x"] });
    sending(Buffer.concat([reply(77), reply(1), reply(1)]));
    const connection = await open();
    assert.deepEqual(await connection.call(call), ["x"]);
    connection.close();
  });

  it("and does not reply ends the call after its timeout, and the connection is kept", async () => {
    const clock = new FakeClock();
    sending(Buffer.alloc(0));
    const connection = await open(clock);
    const failed = assert.rejects(connection.call(call, { timeoutMs: 500 }), /C: no reply within 500 ms/);
    await clock.advance(500);
    await failed;
    assert.equal(connection.isOpen, true);
    connection.close();
  });
});
