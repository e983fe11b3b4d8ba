import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { systemClock } from "../../base/clock.ts";
import { DBusClient } from "./dbus-client.ts";
import { decodeMessage, encodeMessage, type Message, MessageSplitter } from "./message.ts";

const busName = "org.freedesktop.DBus";
const name = "org.example.Service";

test("signals are accepted from an owner that replaces another while the bus replies who owns the name", async (t) => {
  const dir = mkdtempSync(join(tmpdir(), "dbus-client-"));
  t.after(() => rmSync(dir, { recursive: true }));
  const sockets: Socket[] = [];
  const bus = createServer((socket) => {
    sockets.push(socket);
    let splitter: MessageSplitter | undefined;
    socket.on("error", () => {});
    socket.on("data", (chunk) => {
      if (splitter) return receive(chunk);
      if (chunk.includes("AUTH")) return void socket.write("OK 0\r\n");
      splitter = new MessageSplitter();
      receive(chunk.subarray("BEGIN\r\n".length));
    });
    const receive = (chunk: Buffer) => {
      for (const bytes of splitter?.push(chunk) ?? []) {
        const call = decodeMessage(bytes);
        if (call) socket.write(Buffer.concat(responses(call)));
      }
    };
  });
  bus.listen(join(dir, "bus"));
  await once(bus, "listening");
  t.after(() => {
    for (const socket of sockets) socket.destroy();
    bus.close();
  });
  const received: unknown[] = [];
  const client = new DBusClient({
    endpoints: [{ socketPath: join(dir, "bus"), kind: "bus" }],
    clock: systemClock,
    signals: [{ match: { sender: name, member: "Changed" }, onSignal: (body) => received.push(...body) }],
  });
  t.after(() => client.close());
  await client.call({ path: "/", interface: "a.b", member: "SendSignals" });
  assert.deepEqual(received, ["from the new owner"]);
});

/** The messages that the bus sends for a call, all at once. */
function responses({ serial, member }: Message): Buffer[] {
  const reply = (text: string) =>
    encodeMessage({ kind: "return", serial: 1, replySerial: serial, signature: "s", body: [text] });
  const signal = (sender: string, type: string, called: string, ...body: string[]) =>
    encodeMessage({
      kind: "signal",
      serial: 2,
      path: "/",
      interface: type,
      member: called,
      sender,
      signature: "s".repeat(body.length),
      body,
    });
  if (member === "GetNameOwner")
    return [reply(":1.5"), signal(busName, busName, "NameOwnerChanged", name, ":1.5", ":1.9")];
  if (member !== "SendSignals") return [reply("")];
  const changed = (sender: string, text: string) => signal(sender, "a.b", "Changed", text);
  return [changed(":1.5", "from the old owner"), changed(":1.9", "from the new owner"), reply("")];
}
