import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdir, mkdtemp, readdir, rm, stat, symlink, writeFile } from "node:fs/promises";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { Server } from "@grpc/grpc-js";
import {
  endHeaders,
  frame,
  frameType,
  headerBlock,
  preface,
  resetFrame,
} from "../../../../test/server/http2-frames.ts";
import { serveGrpc } from "./grpc-socket.ts";

async function setUp(t: TestContext) {
  const dir = await mkdtemp(join(tmpdir(), "grpc-socket-"));
  const socketPath = join(dir, "kubelet.sock");
  const stop = new AbortController();
  t.after(async () => {
    stop.abort();
    await rm(dir, { recursive: true, force: true });
  });
  return {
    dir,
    socketPath,
    serve: (options = {}) => serveGrpc(new Server(options), socketPath, stop.signal),
  };
}

for (const umask of [0, 0o022, 0o077])
  test(`with the umask 0${umask.toString(8)}, other users may not connect, and the umask is as before`, async (t) => {
    const { serve, socketPath } = await setUp(t);
    const previous = process.umask(umask);
    t.after(() => process.umask(previous));
    await serve();
    assert.equal((await stat(socketPath)).mode & 0o777, umask === 0o077 ? 0o700 : 0o755);
    assert.equal(process.umask(), umask);
  });

test("a file or link at the path is replaced, not followed", async (t) => {
  const { dir, serve, socketPath } = await setUp(t);
  await writeFile(join(dir, "other"), "kept");
  await symlink("other", socketPath);
  await serve();
  assert.ok((await stat(socketPath)).isSocket());
  assert.equal((await stat(join(dir, "other"))).size, 4);
});

test("a directory at the path is named, and no socket is left", async (t) => {
  const { dir, serve, socketPath } = await setUp(t);
  await mkdir(socketPath);
  await assert.rejects(serve(), (error: Error) => error.message.startsWith(`${socketPath}: EISDIR`));
  assert.deepEqual(await readdir(dir), ["kubelet.sock"]);
});

const invalidCalls: readonly [string, Record<string, string>][] = [
  ["an unknown method", { ":path": "/unknown.Service/Method", "content-type": "application/grpc" }],
  ["another content type", { ":path": "/unknown.Service/Method", "content-type": "text/plain" }],
];
for (const [what, more] of invalidCalls)
  for (const channelz of [0, 1])
    test(`a call with ${what} that its client resets does not end the process (channelz: ${channelz})`, async (t) => {
      const { serve, socketPath } = await setUp(t);
      await serve({ "grpc.enable_channelz": channelz });
      const client = connect(socketPath);
      t.after(() => client.destroy());
      const head = { ":method": "POST", ":scheme": "http", ":authority": "localhost", ...more };
      const call = frame(frameType.headers, endHeaders, 1, headerBlock(head));
      const ping = frame(frameType.ping, 0, 0, Buffer.from("answered"));
      client.write(Buffer.concat([preface, frame(frameType.settings, 0, 0), call, resetFrame(1), ping]));
      let received = "";
      while (!received.includes("answered")) received += String((await once(client, "data"))[0]);
    });
