import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { constants, createServer as createHttp2Server } from "node:http2";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { create } from "@bufbuild/protobuf";
import { Server, ServerCredentials, type ServerWritableStream, type sendUnaryData } from "@grpc/grpc-js";
import { eventually } from "../../../../test/contracts/eventually.ts";
import { type Clock, systemClock } from "../../base/clock.ts";
import { FakeClock } from "../../base/fake-clock.ts";
import {
  AllocateResponseSchema,
  DevicePlugin,
  type ListAndWatchResponse,
  ListAndWatchResponseSchema,
} from "../../gen/deviceplugin/v1beta1/api_pb.js";
import { serviceDefinition } from "../cri/service-definition.ts";
import { openPlugin, openWatchedPlugin, type StreamingPluginChannel } from "./plugin-channel.ts";

const mib = 1024 * 1024;
const never = new AbortController().signal;
const { allocate, listAndWatch } = DevicePlugin.method;

/** A plugin whose responses contain a text of this length. */
async function pluginThatSends(
  t: TestContext,
  length: number,
  { messages = 1, clock = systemClock }: { messages?: number; clock?: Clock } = {},
): Promise<StreamingPluginChannel> {
  const dir = await mkdtemp(join(tmpdir(), "plugin-"));
  const text = "x".repeat(length);
  const server = new Server({ "grpc.max_send_message_length": -1 });
  server.addService(serviceDefinition(DevicePlugin), {
    [allocate.name]: (_call: unknown, respond: sendUnaryData<object>) =>
      respond(null, create(AllocateResponseSchema, { containerResponses: [{ envs: { text } }] })),
    [listAndWatch.name]: (stream: ServerWritableStream<object, ListAndWatchResponse>) => {
      for (let i = 0; i < messages; i++)
        stream.write(create(ListAndWatchResponseSchema, { devices: [{ ID: text }] }));
    },
  });
  const socket = join(dir, "p.sock");
  await new Promise<void>((resolve, reject) =>
    server.bindAsync(`unix://${socket}`, ServerCredentials.createInsecure(), (error) =>
      error ? reject(error) : resolve(),
    ),
  );
  const channel = openPlugin(socket, clock);
  t.after(async () => {
    channel.close();
    server.forceShutdown();
    await rm(dir, { recursive: true });
  });
  return channel;
}

test("a response of up to 4 MiB is accepted, a longer one is not decoded", { timeout: 30_000 }, async (t) => {
  const limits = { timeoutMs: 10_000, signal: never };
  const good = await pluginThatSends(t, 4 * mib - 1000);
  const { containerResponses } = await good.call(allocate, {}, limits);
  assert.equal(containerResponses[0]?.envs.text?.length, 4 * mib - 1000);
  const bad = await pluginThatSends(t, 4 * mib);
  await assert.rejects(bad.call(allocate, {}, limits), { grpcCode: "RESOURCE_EXHAUSTED" });
  await assert.rejects(
    bad.stream(listAndWatch, () => assert.fail("it was decoded"), never),
    { grpcCode: "RESOURCE_EXHAUSTED" },
  );
});

test("a message that cannot be handled ends its stream, and nothing else", { timeout: 30_000 }, async (t) => {
  const channel = await pluginThatSends(t, 1);
  const handle = () => {
    throw new RangeError("cannot be handled");
  };
  await assert.rejects(channel.stream(listAndWatch, handle, never), { message: "cannot be handled" });
  let id = "";
  const stop = new AbortController();
  const second = channel.stream(
    listAndWatch,
    ({ devices }) => {
      id = devices[0]?.ID ?? "";
      stop.abort();
    },
    stop.signal,
  );
  await assert.rejects(second, { name: "AbortError" });
  assert.equal(id, "x");
});

test("a plugin that sends without end is read with pauses", { timeout: 30_000 }, async (t) => {
  const clock = new FakeClock();
  const channel = await pluginThatSends(t, 1, { messages: 1000, clock });
  const stop = new AbortController();
  let handled = 0;
  const stream = channel.stream(listAndWatch, () => handled++, stop.signal);
  await eventually(() => handled === 1 || undefined);
  for (let expected = 2; expected < 10; expected++) {
    // Sent after the messages of the stream, on the same connection.
    await channel.call(allocate, {}, { timeoutMs: 10_000, signal: never });
    await clock.advance(99);
    assert.equal(handled, expected - 1);
    await clock.advance(1);
    await eventually(() => handled === expected || undefined);
  }
  stop.abort();
  await assert.rejects(stream, { name: "AbortError" });
});

test("a channel that is closed while it waits to reconnect does not connect to the next plugin at the socket", {
  timeout: 30_000,
}, async (t) => {
  const dir = await mkdtemp(join(tmpdir(), "plugin-"));
  t.after(() => rm(dir, { recursive: true }));
  const [socket, missing] = [join(dir, "p.sock"), join(dir, "missing.sock")];
  const closed = openWatchedPlugin(socket, systemClock);
  // There is no socket yet: the first attempt fails, and the channel waits.
  await assert.rejects(closed.call(allocate, {}, { timeoutMs: 10_000, signal: never }), {
    grpcCode: "UNAVAILABLE",
  });
  closed.watch(() => {});
  closed.close();
  let connections = 0;
  const server = createServer((connection) => {
    connections++;
    connection.destroy();
  });
  await new Promise<void>((resolve) => server.listen(socket, resolve));
  t.after(() => server.close());
  // Another channel tries to connect for much longer than the first one waits between two attempts.
  const other = openPlugin(missing);
  await assert.rejects(other.connected({ timeoutMs: 1000, signal: never }));
  other.close();
  assert.equal(connections, 0);
});

test("a plugin that pushes a stream and fails ends only its connection", { timeout: 30_000 }, async (t) => {
  const dir = await mkdtemp(join(tmpdir(), "plugin-"));
  t.after(() => rm(dir, { recursive: true }));
  const server = createHttp2Server();
  server.on("session", (session) => session.on("error", () => {}));
  server.on("stream", (stream) => {
    stream.on("error", () => {});
    stream.pushStream({ ":path": "/pushed" }, (_, pushed) => pushed.on("error", () => {}).respond());
    stream.session?.goaway(constants.NGHTTP2_INTERNAL_ERROR);
  });
  await new Promise<void>((resolve) => server.listen(join(dir, "p.sock"), resolve));
  t.after(() => server.close());
  const channel = openPlugin(join(dir, "p.sock"));
  t.after(() => channel.close());
  await assert.rejects(channel.call(allocate, {}, { timeoutMs: 10_000, signal: never }));
});
