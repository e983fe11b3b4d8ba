import assert from "node:assert/strict";
import { Duplex, PassThrough } from "node:stream";
import { test } from "node:test";
import { applyBackpressure } from "./backpressure.ts";
import { SpdyConnection } from "./spdy/connection.ts";
import { controlFrame, frameTypes } from "./spdy/frames.ts";

test("a source is resumed when all destinations that it waits for have drained", () => {
  const [source, a, b] = [new PassThrough(), new PassThrough(), new PassThrough()];
  source.resume();
  for (const destination of [a, b, a]) applyBackpressure(source, destination);
  a.emit("drain");
  assert.ok(source.isPaused());
  // It has not drained again since.
  applyBackpressure(source, a);
  b.emit("close");
  assert.ok(source.isPaused());
  a.emit("drain");
  assert.ok(!source.isPaused());
  assert.deepEqual([a.listenerCount("drain"), b.listenerCount("drain")], [0, 0]);
});

test("a runtime that sends SPDY pings and does not read the replies has to wait", async () => {
  const socket = new Duplex({ highWaterMark: 1024, read() {}, write() {} });
  const connection = new SpdyConnection(socket);
  connection.start(Buffer.alloc(0));
  const ping = controlFrame(frameTypes.ping, 0, Buffer.of(0, 0, 0, 2));
  for (let i = 0; i < 10_000; i++) socket.push(ping);
  for (let i = 0; i < 10; i++) await new Promise((resolve) => setImmediate(resolve));
  assert.ok(socket.writableLength < 4 * 1024, `${socket.writableLength} bytes of replies wait`);
  connection.close();
  socket.destroy();
});
