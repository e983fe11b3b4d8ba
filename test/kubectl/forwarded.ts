import assert from "node:assert/strict";
import { createHash, type Hash } from "node:crypto";
import { connect, type Socket } from "node:net";
import { waitFor } from "../e2e/wait-for.ts";
import type { RunningKubectl } from "./kubectl.ts";

/**
 * Servers for the network of a pod: 8080 echoes, 8081 sends a mebibyte after it received something and ends, 8082
 * resets connections. busybox has no server that accepts many concurrent connections.
 */
export const servers = `
const { createServer } = require("node:net");
const serve = (port, on) => new Promise((up) =>
  createServer({ allowHalfOpen: true }, (s) => on(s.on("error", () => {}))).listen(port, "127.0.0.1", 511, up));
Promise.all([
  serve(8080, (s) => s.pipe(s)),
  serve(8081, (s) => s.once("data", () => s.end(Buffer.alloc(1 << 20, "x")))),
  serve(8082, (s) => s.once("data", () => s.resetAndDestroy())),
]).then(() => console.log("up"));
`;

/** Returns a function from ports of the pod to the local ports that are forwarded to them. */
export async function forwardedPorts(forward: RunningKubectl): Promise<(port: number) => number> {
  // Each port is printed separately; this is the last one.
  await forward.prints(/^Forwarding from 127\.0\.0\.1:\d+ -> 8099$/m);
  return (port) => {
    const found = new RegExp(`^Forwarding from 127\\.0\\.0\\.1:(\\d+) -> ${port}$`, "m").exec(forward.stdout);
    assert.ok(found, forward.stdout);
    return Number(found[1]);
  };
}

/** Opens a connection and ignores its errors. */
export function dial(port: number): Socket {
  return connect({ port, host: "127.0.0.1", allowHalfOpen: true }).on("error", () => {});
}

/** All data that is received until the other side ends. */
export async function received(socket: Socket): Promise<Buffer> {
  const parts: Buffer[] = [];
  socket.on("data", (chunk: Buffer) => parts.push(chunk));
  await new Promise((resolve) => socket.once("end", resolve).once("close", resolve));
  return Buffer.concat(parts);
}

/** Sends `bytes` bytes to the echo server and compares what it returns by checksum. */
export async function echoes(port: number, seed: number, bytes: number): Promise<void> {
  const socket = dial(port);
  const [sent, got] = [createHash("sha1"), createHash("sha1")];
  let back = 0;
  socket.on("data", (chunk: Buffer) => {
    got.update(chunk);
    back += chunk.length;
  });
  const closed = new Promise((resolve) => socket.once("close", resolve));
  await send(socket, seed, bytes, sent);
  await waitFor(() => assert.ok(back >= bytes || socket.closed, `${back} of ${bytes}`), 300_000);
  socket.destroy();
  await closed;
  assert.deepEqual([back, got.digest("hex")], [bytes, sent.digest("hex")]);
}

async function send(socket: Socket, seed: number, bytes: number, sum: Hash): Promise<void> {
  const block = createHash("sha1").update(String(seed)).digest();
  for (let at = 0; at < bytes && !socket.destroyed; at += 64 * 1024) {
    const chunk = Buffer.alloc(Math.min(64 * 1024, bytes - at), block);
    chunk.writeUInt32BE(at, 0);
    sum.update(chunk);
    if (!socket.write(chunk)) await writable(socket);
  }
}

function writable(socket: Socket): Promise<void> {
  return new Promise((resolve) => {
    const go = () => {
      socket.off("drain", go).off("close", go);
      resolve();
    };
    socket.on("drain", go).on("close", go);
  });
}
