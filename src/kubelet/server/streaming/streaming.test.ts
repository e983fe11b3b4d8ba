import assert from "node:assert/strict";
import { createHash, randomBytes } from "node:crypto";
import { createServer } from "node:http";
import { request } from "node:https";
import type { AddressInfo, Socket } from "node:net";
import { after, before, describe, test } from "node:test";
import fc from "fast-check";
import { FakeClock } from "../../../lib/base/fake-clock.ts";
import { fakePod } from "../../../lib/model/fake-pod.ts";
import { fakeNodeRoutes } from "../fake-node.ts";
import { send, startServer, type TestServer } from "../fixtures.ts";
import { clientFrame, openWebSocket } from "./fake-client.ts";
import { type FakeProgram, fakeStreamingRuntime } from "./fake-streaming-runtime.ts";

const status7 = JSON.stringify({
  metadata: {},
  status: "Failure",
  reason: "NonZeroExitCode",
  details: { causes: [{ reason: "ExitCode", message: "7" }] },
});
const lines = 200_000;

const echo: FakeProgram = {
  expected: 3,
  data({ write, socket }, stream, data) {
    if (stream !== "stdin") return;
    if (write("stdout", data)) return;
    socket.pause();
    socket.once("drain", () => socket.resume());
  },
  end({ fin, socket }, stream) {
    if (stream !== "stdin") return;
    fin("stdout");
    fin("error");
    socket.end();
  },
};

const programs: Record<string, FakeProgram> = {
  echo,
  // Sends everything before any response, and its final status before its output.
  exit7: {
    expected: 3,
    start({ write, fin }) {
      write("stdout", "out");
      write("error", status7);
      fin("error");
      write("stderr", "err");
      fin("stderr");
      fin("stdout");
    },
  },
  flood: {
    expected: 2,
    start({ write, fin, socket }) {
      let line = 0;
      const more = () => {
        while (line < lines) if (!write("stdout", `${line++}\n`)) return void socket.once("drain", more);
        fin("stdout");
        fin("error");
      };
      more();
    },
  },
  cut: {
    expected: 2,
    start({ write, socket }) {
      write("stdout", "half");
      socket.end();
    },
  },
  noise: {
    expected: 2,
    start: ({ socket }) => void socket.write(Buffer.alloc(64, 0xee)),
  },
  quiet: { expected: 2 },
  // Sends a lot when one stream is open, before it accepts the others.
  early: {
    expected: 1,
    start({ write }) {
      for (let i = 0; i < 4; i++) write("error", Buffer.alloc(1024 * 1024));
    },
  },
  tty: {
    expected: 4,
    data({ write }, stream, data) {
      write("stdout", `${stream}:${data}`);
    },
    end({ fin }, stream) {
      if (stream !== "stdin") return;
      fin("stdout");
      fin("error");
    },
  },
};

let runtime: Awaited<ReturnType<typeof fakeStreamingRuntime>>;
let server: TestServer;

before(async () => {
  runtime = await fakeStreamingRuntime(programs);
  server = await startServer({
    routes: fakeNodeRoutes({ url: runtime.url }),
    access: { authorize: async () => ({ name: "x", groups: [] }) },
  });
});

after(async () => {
  await server.stop();
  await runtime.stop();
});

const exec = (command: string, streams: string, protocol = "v5.channel.k8s.io") =>
  openWebSocket(server.port, `/exec/default/web/app?command=${command}&${streams}`, protocol);

async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await new Promise((resolve) => setImmediate(resolve));
}

describe("a remote command over WebSocket", () => {
  // parity: endpoint 10250 GET,POST /exec/{namespace}/{pod}/{container}
  test("v5: stdin is echoed and can be closed on its own, and the success status comes last", async () => {
    const client = await exec("echo", "input=1&output=1");
    assert.equal(client.message.headers["sec-websocket-protocol"], "v5.channel.k8s.io");
    await until(() => client.received.has(1));
    assert.equal(client.text(1), "");
    client.send(0, "hello ");
    client.send(0, "world");
    await until(() => client.text(1) === "hello world");
    client.send(255, Buffer.from([0]));
    assert.equal(await client.closed, 1000);
    assert.deepEqual(JSON.parse(client.text(3)), { metadata: {}, status: "Success" });
  });

  test("v4 has no end of stdin: such a message is ignored", async () => {
    const client = await exec("echo", "input=1&output=1", "v4.channel.k8s.io");
    assert.equal(client.message.headers["sec-websocket-protocol"], "v4.channel.k8s.io");
    client.send(255, Buffer.from([0]));
    client.send(0, "still here");
    await until(() => client.text(1) === "still here");
    client.socket.destroy();
  });

  test("the best offered protocol is selected", async () => {
    const client = await exec("exit7", "output=1&error=1", "v4.channel.k8s.io, v5.channel.k8s.io");
    assert.equal(client.message.headers["sec-websocket-protocol"], "v5.channel.k8s.io");
    await client.closed;
  });

  test("an exit code is sent unchanged, after all output", async () => {
    const client = await exec("exit7", "output=1&error=1");
    assert.equal(await client.closed, 1000);
    assert.deepEqual([client.text(1), client.text(2)], ["out", "err"]);
    assert.equal(client.text(3), status7);
    assert.equal([...client.received.keys()].at(-1), 3);
  });

  test(`${lines} lines arrive, all and in order`, async () => {
    const client = await exec("flood", "output=1");
    await client.closed;
    const received = client.text(1).split("\n");
    assert.equal(received.length, lines + 1);
    assert.ok(received.slice(0, lines).every((line, i) => line === String(i)));
  });

  test("20 MiB are echoed, with a reader that pauses", async () => {
    const client = await exec("echo", "input=1&output=1");
    const sent = randomBytes(20 * 1024 * 1024);
    const size = () => (client.received.get(1) ?? []).reduce((sum, part) => sum + part.length, 0);
    for (let at = 0; at < sent.length; at += 300_000) {
      if (!client.send(0, sent.subarray(at, at + 300_000)))
        await new Promise((resolve) => client.socket.once("drain", resolve));
      if (at % 3_000_000 === 0) {
        client.socket.pause();
        setImmediate(() => client.socket.resume());
      }
    }
    client.send(255, Buffer.from([0]));
    await client.closed;
    assert.equal(size(), sent.length);
    const sum = (data: Buffer) => createHash("sha256").update(data).digest("hex");
    assert.equal(sum(Buffer.concat(client.received.get(1) ?? [])), sum(sent));
  });

  test("a terminal gets its size, and has no stderr", async () => {
    const path = "/exec/default/web/shell?command=tty&input=1&output=1&error=1&tty=1";
    const client = await openWebSocket(server.port, path, "v5.channel.k8s.io");
    client.send(4, '{"Width":80,"Height":24}');
    await until(() => client.text(1).includes('resize:{"Width":80,"Height":24}'));
    client.send(0, "x");
    await until(() => client.text(1).endsWith("stdin:x"));
    client.socket.destroy();
  });

  // parity: endpoint 10250 GET,POST /attach/{namespace}/{pod}/{container}
  test("attach uses the TTY setting of the container, not of the caller", async () => {
    const client = await openWebSocket(
      server.port,
      "/attach/default/web/shell?input=1&output=1",
      "v5.channel.k8s.io",
    );
    client.send(4, "{}");
    await until(() => client.text(1).includes("resize:{}"));
    client.socket.destroy();
  });

  test("a runtime that disconnects is reported as a failure", async () => {
    const client = await exec("cut", "output=1");
    await client.closed;
    assert.equal(client.text(1), "half");
    assert.match(client.text(3), /"status":"Failure".*the runtime closed the connection/);
  });

  test("a runtime with another protocol is reported as a failure", async () => {
    const client = await exec("noise", "output=1");
    await client.closed;
    assert.match(client.text(3), /not SPDY/);
  });

  test("an error response of the runtime is reported before the upgrade", async () => {
    await assert.rejects(exec("reject", "output=1"), /^Error: 403 no/);
  });

  test("pings get a pong, messages in fragments joined", async () => {
    const client = await exec("echo", "input=1&output=1");
    client.raw(clientFrame(0x02, Buffer.from([0, 97])));
    client.raw(clientFrame(0x89, Buffer.from("ping")));
    client.raw(clientFrame(0x00, Buffer.from("b")));
    client.raw(clientFrame(0x80, Buffer.from("c")));
    await until(() => client.text(1) === "abc" && client.text(-1) === "ping");
    client.raw(clientFrame(0x88, Buffer.from([3, 232])));
    assert.equal(await client.closed, 1000);
  });

  const broken: [string, Buffer, number][] = [
    ["a frame without a mask", Buffer.from([0x82, 1, 0]), 1002],
    ["reserved bits", clientFrame(0xf2, Buffer.from("x")), 1002],
    ["an unknown kind", clientFrame(0x83, Buffer.from("x")), 1002],
    ["a continuation without a message", clientFrame(0x80, Buffer.from("x")), 1002],
    ["a ping in fragments", clientFrame(0x09, Buffer.from("x")), 1002],
    ["a ping that is too long", clientFrame(0x89, Buffer.alloc(126)), 1002],
    ["a message of a petabyte", Buffer.from([0x82, 0xff, 0, 4, 0, 0, 0, 0, 0, 0, 1, 2, 3, 4]), 1009],
    [
      "an invalid length",
      Buffer.from([0x82, 0xff, 255, 255, 255, 255, 255, 255, 255, 255, 1, 2, 3, 4]),
      1002,
    ],
  ];
  for (const [name, bytes, code] of broken)
    test(`${name} closes that connection with ${code}`, async () => {
      const other = await exec("echo", "input=1&output=1");
      const client = await exec("echo", "input=1&output=1");
      client.raw(bytes);
      assert.equal(await client.closed, code);
      other.send(0, "fine");
      await until(() => other.text(1) === "fine");
      other.socket.destroy();
    });

  test("whatever bytes are sent as frames, the next connection is served", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.uint8Array({ maxLength: 200 }), { maxLength: 5 }), async (chunks) => {
        const client = await exec("echo", "input=1&output=1");
        for (const chunk of chunks) client.raw(Buffer.from(chunk));
        client.socket.end();
        await client.closed;
      }),
      { numRuns: 100 },
    );
    assert.equal((await send(server.port, "/healthz")).status, 200);
  });
});

/** The connection of a request that the server has upgraded to SPDY. */
async function upgraded(path: string, method: "GET" | "POST"): Promise<Socket> {
  const headers = {
    connection: "Upgrade",
    upgrade: "SPDY/3.1",
    "x-stream-protocol-version": "v4.channel.k8s.io",
  };
  const outgoing = request({
    host: "127.0.0.1",
    port: server.port,
    path,
    method,
    agent: false,
    rejectUnauthorized: false,
    headers,
  });
  return new Promise((resolve, reject) => {
    outgoing.on("upgrade", (_, socket) => resolve(socket));
    outgoing.on("response", ({ statusCode }) => reject(new Error(String(statusCode))));
    outgoing.on("error", reject).end();
  });
}

describe("a remote command over SPDY", () => {
  const upgrade = (path: string, headers: Record<string, string | string[]>) =>
    new Promise<{ socket: Socket; headers: Record<string, unknown> }>((resolve, reject) => {
      const outgoing = request({
        host: "127.0.0.1",
        port: server.port,
        path,
        method: "POST",
        agent: false,
        rejectUnauthorized: false,
        headers: { connection: "Upgrade", upgrade: "SPDY/3.1", ...headers },
      });
      outgoing.on("upgrade", (message, socket) => resolve({ socket, headers: message.headers }));
      outgoing.on("response", ({ statusCode }) => reject(new Error(String(statusCode))));
      outgoing.on("error", reject).end();
    });

  test("is passed on unchanged: bytes both ways, protocol versions one per line, without credentials", async () => {
    const { socket, headers } = await upgrade("/exec/default/web/app?output=1&command=raw", {
      "x-stream-protocol-version": ["v5.channel.k8s.io", "v4.channel.k8s.io"],
      authorization: "Bearer t",
    });
    assert.equal(headers["x-stream-protocol-version"], "v5.channel.k8s.io");
    const request = runtime.requests.at(-1);
    assert.deepEqual(request?.headersDistinct["x-stream-protocol-version"], [
      "v5.channel.k8s.io",
      "v4.channel.k8s.io",
    ]);
    assert.equal(request?.headers.authorization, undefined);
    socket.write("ping");
    assert.equal(String((await new Promise((resolve) => socket.once("data", resolve))) as Buffer), "ping");
    socket.end();
    await new Promise((resolve) => socket.once("close", resolve));
  });

  test("a broken connection affects that one only", async () => {
    const path = "/portForward/default/web";
    const [a, b] = await Promise.all([upgrade(path, {}), upgrade(path, {})]);
    a.socket.destroy();
    b.socket.write("x");
    assert.equal(String((await new Promise((resolve) => b.socket.once("data", resolve))) as Buffer), "x");
    b.socket.destroy();
  });
});

describe("a command that cannot run is rejected before the upgrade", () => {
  for (const [what, path, status, message] of [
    ["exec in a container that has exited", "/exec/default/web/done?output=1", 500, /./],
    [
      "attach to a container that has exited",
      "/attach/default/web/done?output=1",
      500,
      /^container done not found in pod web_default$/,
    ],
    ["exec that the runtime rejects", "/exec/default/web/app?output=1&command=rejected", 404, /./],
    ["exec while the runtime is busy", "/exec/default/web/app?output=1&command=busy", 429, /./],
  ] as const)
    test(`${what} gets ${status}`, async () => {
      const headers = { connection: "Upgrade", upgrade: "SPDY/3.1" };
      const response = await send(server.port, path, { headers });
      assert.equal(response.status, status);
      assert.match(response.body, message);
    });

  test("exec gets 500 if the streaming server of the runtime does not respond", async (t) => {
    const offline = await startServer({
      routes: fakeNodeRoutes({ url: () => "http://127.0.0.1:1/" }),
      access: { authorize: async () => ({ name: "x", groups: [] }) },
    });
    t.after(() => offline.stop());
    const headers = { connection: "Upgrade", upgrade: "SPDY/3.1" };
    const path = "/exec/default/web/app?output=1&command=x";
    const response = await send(offline.port, path, { method: "POST", headers });
    assert.equal(response.status, 500);
    assert.match(response.body, /error dialing/);
    await assert.rejects(openWebSocket(offline.port, path, "v5.channel.k8s.io"), /500/);
  });
});

describe("port forwarding over WebSocket", () => {
  // parity: endpoint 10250 GET,POST /portForward/{namespace}/{pod}
  test("SPDY in messages is unwrapped, and wrapped on the way back", async () => {
    const client = await openWebSocket(
      server.port,
      "/portForward/default/web",
      "SPDY/3.1+portforward.k8s.io",
    );
    assert.equal(client.message.headers["sec-websocket-protocol"], "SPDY/3.1+portforward.k8s.io");
    assert.equal(runtime.requests.at(-1)?.headers["x-stream-protocol-version"], "portforward.k8s.io");
    const sent = randomBytes(5_000_000);
    client.raw(clientFrame(0x82, sent));
    const received = () =>
      [...client.received].flatMap(([channel, parts]) => parts.map((part) => [channel, part] as const));
    await until(() => received().reduce((sum, [, part]) => sum + part.length + 1, 0) === sent.length);
    client.raw(clientFrame(0x88, Buffer.from([3, 232])));
    assert.equal(await client.closed, 1000);
  });
});

describe("a pod is also found by its UID, or that of its mirror", () => {
  const uid = fakePod().metadata.uid;
  for (const one of [uid, "mirror"])
    for (const method of ["GET", "POST"] as const) {
      // parity: endpoint 10250 GET,POST /exec/{namespace}/{pod}/{uid}/{container}
      test(`exec: ${method}, ${one}`, async () => {
        const path = `/exec/default/web/${one}/app?command=raw&output=1`;
        (await upgraded(path, method)).destroy();
        assert.equal(runtime.requests.at(-1)?.url, "/raw");
      });

      // parity: endpoint 10250 GET,POST /attach/{namespace}/{pod}/{uid}/{container}
      test(`attach: ${method}, ${one}`, async () => {
        (await upgraded(`/attach/default/web/${one}/shell?output=1`, method)).destroy();
        assert.equal(runtime.requests.at(-1)?.url, "/tty");
      });

      // parity: endpoint 10250 GET,POST /portForward/{namespace}/{pod}/{uid}
      test(`portForward: ${method}, ${one}`, async () => {
        (await upgraded(`/portForward/default/web/${one}`, method)).destroy();
        assert.equal(runtime.requests.at(-1)?.url, "/forward");
      });
    }

  for (const [path, status] of [
    ["/exec/default/web/other/app?output=1", 500],
    ["/attach/default/web/other/app?output=1", 500],
    ["/portForward/default/web/other", 404],
  ] as const)
    test(`by another UID it is not: ${path}`, () =>
      assert.rejects(upgraded(path, "POST"), new RegExp(String(status))));

  // parity: endpoint 10250 POST /run/{namespace}/{pod}/{uid}/{container}
  test("run", async () => {
    const run = (of: string) => send(server.port, `/run/default/web/${of}/app?cmd=ls`, { method: "POST" });
    for (const one of [uid, "mirror"]) assert.equal((await run(one)).body, "ran ls");
    assert.equal((await run("other")).status, 500);
  });
});

test("a runtime that sends too much before it has accepted all streams is disconnected", async () => {
  await assert.rejects(exec("early", "input=1&output=1"), /500 the runtime sends data before/);
});

// parity: gate ExtendWebSocketsToKubelet=true as translate, gate ExtendWebSocketsToKubelet=false as translate
test("a WebSocket is translated to SPDY, or without its gate passed to the runtime as it is", async (t) => {
  const upgrades: unknown[] = [];
  const other = createServer();
  other.on("upgrade", (request, socket) => {
    upgrades.push(request.headers.upgrade);
    socket.end("HTTP/1.1 403 Forbidden\r\ncontent-length: 0\r\n\r\n");
  });
  await new Promise<void>((resolve) => other.listen(0, "127.0.0.1", resolve));
  t.after(() => other.close());
  const { port } = other.address() as AddressInfo;
  for (const translate of [true, false]) {
    const server = await startServer({
      routes: fakeNodeRoutes({ url: () => `http://127.0.0.1:${port}/`, translate }),
      access: { authorize: async () => ({ name: "x", groups: [] }) },
    });
    const path = "/exec/default/web/app?command=x&output=1";
    await assert.rejects(openWebSocket(server.port, path, "v5.channel.k8s.io"), /403/);
    await server.stop();
  }
  assert.deepEqual(upgrades, ["SPDY/3.1", "websocket"]);
});

test("an error of the runtime that never ends is sent to the client, as far as it was received", async (t) => {
  const stuck = createServer((_, response) => void response.writeHead(403).write("half an err"));
  await new Promise<void>((resolve) => stuck.listen(0, "127.0.0.1", resolve));
  const clock = new FakeClock();
  const { port } = stuck.address() as AddressInfo;
  const server = await startServer({
    routes: fakeNodeRoutes({ url: () => `http://127.0.0.1:${port}/`, clock }),
    access: { authorize: async () => ({ name: "x", groups: [] }) },
  });
  t.after(async () => {
    await server.stop();
    stuck.closeAllConnections();
    stuck.close();
  });
  const received = new Promise((resolve) => stuck.once("request", resolve));
  const path = "/exec/default/web/app?command=x&output=1";
  const rejected = assert.rejects(openWebSocket(server.port, path, "v5.channel.k8s.io"), /403 half an err/);
  await received;
  // The response may still be on its way.
  const ended = rejected.then(() => true);
  while (!(await Promise.race([ended, new Promise((resolve) => setImmediate(resolve))])))
    await clock.advance(1000);
});

for (const url of ["", "/exec/token", "ftp://127.0.0.1/x", "unix:///run/x.sock", "http://"])
  test(`the URL ${JSON.stringify(url)} of a runtime is rejected`, async (t) => {
    const server = await startServer({
      routes: fakeNodeRoutes({ url: () => url }),
      access: { authorize: async () => ({ name: "x", groups: [] }) },
    });
    t.after(() => server.stop());
    const path = "/exec/default/web/app?command=x&output=1";
    await assert.rejects(
      openWebSocket(server.port, path, "v5.channel.k8s.io"),
      /500 the runtime returned an invalid URL/,
    );
  });

// parity: field streamingConnectionIdleTimeout as idleMs
test("an idle connection is closed", async () => {
  const server = await startServer({
    routes: fakeNodeRoutes({ url: runtime.url, idleMs: 50 }),
    access: { authorize: async () => ({ name: "x", groups: [] }) },
  });
  const path = "/exec/default/web/app?command=quiet&output=1";
  const client = await openWebSocket(server.port, path, "v5.channel.k8s.io");
  await client.closed;
  assert.match(client.text(3), /idle timeout/);
  await server.stop();
});

test("a blocked client gets keep-alive messages as long as the connection is open", async () => {
  const clock = new FakeClock();
  const server = await startServer({
    routes: fakeNodeRoutes({ url: runtime.url, clock }),
    access: { authorize: async () => ({ name: "x", groups: [] }) },
  });
  const path = "/exec/default/web/app?command=quiet&output=1";
  const client = await openWebSocket(server.port, path, "v5.channel.k8s.io");
  const pongs = () => client.received.get(-1)?.length ?? 0;
  await until(() => client.received.has(1));
  for (const count of [1, 2, 3]) {
    await clock.advance(10_000);
    await until(() => pongs() === count);
  }
  client.socket.destroy();
  await until(() => clock.pending === 0);
  await server.stop();
});

test("a server that stops ends its streams", async () => {
  const ending = await startServer({
    routes: fakeNodeRoutes({ url: runtime.url }),
    access: { authorize: async () => ({ name: "x", groups: [] }) },
  });
  const path = "/exec/default/web/app?command=quiet&output=1";
  const client = await openWebSocket(ending.port, path, "v5.channel.k8s.io");
  await ending.stop();
  await client.closed;
});
