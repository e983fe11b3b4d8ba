import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { echoServer } from "./fake-echo-server.ts";

/** The WebSocket client of Node.js (undici): it rejects invalid frames of the server. */

let server: Awaited<ReturnType<typeof echoServer>>;
before(async () => {
  server = await echoServer();
});
after(() => server.stop());

async function open(protocols: string[] = []) {
  const socket = new WebSocket(`ws://127.0.0.1:${server.port}`, protocols);
  socket.binaryType = "arraybuffer";
  const received: Buffer[] = [];
  const failures: string[] = [];
  let more = Promise.withResolvers<void>();
  socket.addEventListener("message", ({ data }) => {
    received.push(Buffer.from(data));
    more.resolve();
    more = Promise.withResolvers();
  });
  socket.addEventListener("error", () => void failures.push("error"));
  const closed = new Promise<{ code: number; wasClean: boolean }>((resolve) =>
    socket.addEventListener("close", ({ code, wasClean }) => resolve({ code, wasClean })),
  );
  await new Promise<void>((resolve, reject) => {
    socket.addEventListener("open", () => resolve());
    socket.addEventListener("error", () => reject(new Error("no connection")));
  });
  return {
    socket,
    closed,
    failures,
    received: async (count: number) => {
      while (received.length < count) await more.promise;
      return received;
    },
  };
}

describe("an independent client", { timeout: 60_000 }, () => {
  test("gets messages of every length back", async () => {
    const client = await open();
    const lengths = [0, 1, 2, 125, 126, 127, 128, 65_534, 65_535, 65_536, 65_537, 1 << 20];
    const sent = lengths.map((length) => Buffer.alloc(length, length % 251));
    for (const data of sent) client.socket.send(data);
    assert.deepEqual(await client.received(sent.length), sent);
    client.socket.close();
    assert.equal((await client.closed).wasClean, true);
  });

  test("gets text back, and 10,000 messages in order", async () => {
    const client = await open();
    const sent = [...Array(10_000).keys()].map((i) => `${i} κόσμε`);
    for (const text of sent) client.socket.send(text);
    const received = await client.received(sent.length);
    assert.deepEqual(received.map(String), sent);
    client.socket.close();
  });

  test("uses the protocol that the server has selected", async () => {
    const client = await open(["v5.channel.k8s.io", "v4.channel.k8s.io"]);
    assert.equal(client.socket.protocol, "v5.channel.k8s.io");
    client.socket.close();
  });

  for (const [code, expected] of [
    [undefined, 1005],
    [1000, 1000],
    [3000, 3000],
    [4999, 4999],
  ] as const)
    test(`closes with ${code ?? "no code"} and gets the same back`, async () => {
      const client = await open();
      client.socket.close(code, code && "done");
      assert.deepEqual(await client.closed, { code: expected, wasClean: true });
    });

  for (const code of [1000, 1002, 1009])
    test(`replies to a close of the server with ${code}`, async () => {
      const client = await open();
      server.last()?.close(code);
      assert.deepEqual(await client.closed, { code, wasClean: true });
    });

  test("accepts unsolicited pongs", async () => {
    const client = await open();
    server.last()?.sendPong();
    client.socket.send("after");
    assert.deepEqual((await client.received(1)).map(String), ["after"]);
    assert.deepEqual(client.failures, []);
    client.socket.close();
  });
});
