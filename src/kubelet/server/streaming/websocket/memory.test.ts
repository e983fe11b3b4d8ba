import assert from "node:assert/strict";
import { Duplex } from "node:stream";
import { test } from "node:test";
import { memoryOf } from "../../../../lib/base/fixtures.ts";
import { clientFrame } from "../fake-client.ts";
import { WebSocketConnection } from "./connection.ts";
import { FrameReader } from "./frames.ts";

const count = 100_000;

for (const [what, bytes, chunkSize] of [
  ["a message in fragments of one byte", fragments(), 7],
  ["a message that arrives byte by byte", clientFrame(0x82, Buffer.alloc(count)).subarray(0, -1), 1],
] as const)
  test(`${what} takes memory in proportion to its length`, () => {
    const grown = memoryOf(() => {
      const reader = new FrameReader(2 * count);
      for (let at = 0; at < bytes.length; at += chunkSize)
        // A copy, as from a socket: a view of `bytes` would use no memory.
        assert.deepEqual(reader.push(Buffer.from(bytes.subarray(at, at + chunkSize))), []);
      return reader;
    });
    assert.ok(grown < 10 * count, `${grown} bytes for ${count}`);
  });

/** The first of them starts a message, the last does not end it. */
function fragments(): Buffer {
  return Buffer.concat(
    Array.from({ length: count }, (_, i) => clientFrame(i === 0 ? 2 : 0, Buffer.of(i % 256))),
  );
}

test("a client that does not read the pongs has to wait, and gets all of them when it reads", async () => {
  const written: Buffer[] = [];
  let next = () => {};
  const socket = new Duplex({
    highWaterMark: 1024,
    read() {},
    write(chunk, _, done) {
      written.push(chunk);
      next = done;
    },
  });
  const connection = new WebSocketConnection(socket, { message: () => {}, end: () => {} });
  connection.start(Buffer.alloc(0));
  const pings = 1000;
  for (let i = 0; i < pings; i++) socket.push(clientFrame(0x89, Buffer.alloc(125, i % 256)));
  const turn = () => new Promise((resolve) => setImmediate(resolve));
  while (!socket.isPaused()) await turn();
  for (let i = 0; i < 10; i++) await turn();
  assert.ok(socket.writableLength < 4 * 1024, `${socket.writableLength} bytes of pongs wait`);
  const all = pings * 127;
  while (Buffer.concat(written).length < all) {
    next();
    await turn();
  }
  assert.equal(Buffer.concat(written).length, all);
  socket.destroy();
});
