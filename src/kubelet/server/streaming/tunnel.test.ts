import assert from "node:assert/strict";
import type { Socket } from "node:net";
import { Duplex } from "node:stream";
import { test } from "node:test";
import { systemClock } from "../../../lib/base/clock.ts";
import { clientFrame } from "./fake-client.ts";
import { tunnel } from "./tunnel.ts";

/** One side of a connection whose other side accepts data on demand. */
function pausedSocket() {
  const received: Buffer[] = [];
  let take = () => {};
  const socket = Object.assign(
    new Duplex({
      highWaterMark: 1,
      read() {},
      write(chunk, _, done) {
        received.push(chunk);
        take = done;
      },
    }),
    { bytesRead: 0, destroySoon: () => socket.destroy() },
  ) as unknown as Socket;
  return { socket, received, take: () => take() };
}

test("many messages to a runtime that does not read: the client is paused once, and all arrive", async () => {
  const [client, runtime] = [pausedSocket(), pausedSocket()];
  const ending = new AbortController();
  const { signal } = ending;
  const nothing = Buffer.alloc(0);
  const over = tunnel({
    client: { socket: client.socket, head: nothing },
    runtime: { socket: runtime.socket, head: nothing },
    idleMs: 0,
    clock: systemClock,
    signal,
  });
  const messages = [...Array(100).keys()].map((i) => `${i},`);
  client.socket.push(Buffer.concat(messages.map((text) => clientFrame(0x82, Buffer.from(text)))));
  const turn = () => new Promise((resolve) => setImmediate(resolve));
  while (runtime.received.length === 0) await turn();
  assert.equal(runtime.socket.listenerCount("drain"), 1);
  assert.ok(client.socket.isPaused());
  while (runtime.received.length < messages.length) {
    runtime.take();
    await turn();
  }
  runtime.take();
  while (client.socket.isPaused()) await turn();
  assert.equal(Buffer.concat(runtime.received).toString(), messages.join(""));
  ending.abort();
  for (const side of [client, runtime]) side.socket.destroy();
  await over;
});
