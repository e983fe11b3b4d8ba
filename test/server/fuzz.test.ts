import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type Server } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { after, before, type TestContext, test } from "node:test";
import { connect } from "node:tls";
import fc from "fast-check";
import { clientFrame } from "../../src/kubelet/server/streaming/fake-client.ts";
import { controlFrame, dataHead } from "../../src/kubelet/server/streaming/spdy/frames.ts";
import { waitFor } from "../e2e/wait-for.ts";
import { rounds } from "../long.ts";
import { GuardedNode, secret } from "./guarded-node.ts";

/** How many requests each run sends concurrently. */
const atOnce = 10;
const pod = "web-node-a";
const mebibyte = 1024 * 1024;
let node: GuardedNode;
let stop: () => Promise<void>;
let noise: Server;
/** The response of the runtime's streaming server for "noise". */
let output: Buffer[] = [];

before(async () => {
  noise = createServer();
  noise.on("upgrade", (_, duplex) => {
    const socket = duplex as Socket;
    socket.on("error", () => {}).resume();
    socket.write("HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: SPDY/3.1\r\n\r\n");
    for (const bytes of output) socket.write(bytes);
    socket.end();
  });
  noise.listen(0, "127.0.0.1");
  await once(noise, "listening");
  const url = `http://127.0.0.1:${(noise.address() as AddressInfo).port}/`;
  ({ node, stop } = await GuardedNode.start({
    streamUrl: (command) => (command === "noise" ? url : undefined),
  }));
});

after(async () => {
  await stop?.();
  noise?.closeAllConnections();
  noise?.close();
});

interface RawRequest {
  readonly known: boolean;
  readonly head: string;
  /** Sent after the upgrade. */
  readonly more?: readonly Buffer[];
}

/** Sends the request and disconnects after the response, or shortly after everything was sent. */
function exchange({ known, head, more = [] }: RawRequest): Promise<string> {
  return new Promise((resolve) => {
    let text = "";
    const pair = known ? node.admin : {};
    const o = { host: "127.0.0.1", port: node.port, rejectUnauthorized: false, ...pair };
    const socket = connect(o, () => socket.write(Buffer.from(head, "latin1")));
    let reported = false;
    socket.on("data", (chunk: Buffer) => {
      if (text.length < 100_000) text += chunk.toString("latin1");
      const isUpgraded = text.startsWith("HTTP/1.1 101");
      if (!text.includes("\r\n\r\n")) return;
      if (!isUpgraded) return void setTimeout(() => socket.destroy(), 20);
      if (reported) return;
      reported = true;
      for (const bytes of more) socket.write(bytes);
      socket.end();
      setTimeout(() => socket.destroy(), 500);
    });
    // The server waits for the rest of an incomplete request.
    const timeout = setTimeout(() => socket.destroy(), 2000);
    socket
      .on("error", () => {})
      .on("close", () => {
        clearTimeout(timeout);
        resolve(text);
      });
  });
}

const word = fc.constantFrom(
  ...[
    "pods",
    "exec",
    "attach",
    "portForward",
    "run",
    "containerLogs",
    "logs",
    "default",
    pod,
    "app",
    "healthz",
  ],
  ...[
    "debug",
    "flags",
    "v",
    "checkpoint",
    "metrics",
    "cadvisor",
    "stats",
    "summary",
    "configz",
    "runningpods",
  ],
  ...[
    "..",
    ".",
    "%2e%2e",
    "%00",
    "",
    "é",
    "%ff",
    "%",
    "%zz",
    "\\",
    "~",
    "a".repeat(300),
    "__proto__",
    "*",
    ";",
    "#",
  ],
  ...["%0d%0a", "//", "http://evil.example", "null", "-1", "99999999999999999999"],
);
const path = fc.array(word, { maxLength: 7 }).map((args) => `/${args.join("/")}`);
const key = fc.constantFrom(
  ...["command", "input", "output", "error", "tty", "stdin", "stdout", "port", "cmd", "follow", "previous"],
  ...[
    "tailLines",
    "limitBytes",
    "sinceSeconds",
    "sinceTime",
    "timestamps",
    "stream",
    "query",
    "timeout",
    "verbose",
  ],
);
const value = fc.oneof(
  fc.constantFrom(
    "1",
    "true",
    "0",
    "-1",
    "noise",
    "cat",
    "",
    "x",
    "2026-01-01T00:00:00Z",
    "9".repeat(30),
    "Stdout",
  ),
  fc.string({ unit: "binary" }).map((text) => encodeURIComponent(text.toWellFormed())),
  fc.string({ unit: "grapheme" }),
);
const query = fc.array(fc.tuple(key, value), { maxLength: 5 });
const header = fc.tuple(
  fc.constantFrom(
    ...[
      "connection",
      "upgrade",
      "sec-websocket-key",
      "sec-websocket-version",
      "sec-websocket-protocol",
      "accept",
    ],
    ...[
      "x-stream-protocol-version",
      "authorization",
      "content-length",
      "transfer-encoding",
      "expect",
      "range",
      "host",
    ],
    ...["if-modified-since", "accept-encoding", "cookie", "te", "trailer", "keep-alive", "x"],
  ),
  fc.oneof(
    fc.constantFrom(
      "Upgrade",
      "websocket",
      "SPDY/3.1",
      "13",
      "close",
      "keep-alive",
      "chunked",
      "0",
      "5",
      "100-continue",
    ),
    fc.constantFrom(
      "v4.channel.k8s.io",
      "v5.channel.k8s.io",
      "bytes=0-",
      "bytes=-1",
      "gzip",
      "Bearer x",
      "h2c",
      "*/*",
    ),
    fc.string({ unit: "binary", maxLength: 50 }),
  ),
);
const method = fc.constantFrom(
  "GET",
  "POST",
  "PUT",
  "HEAD",
  "DELETE",
  "OPTIONS",
  "PATCH",
  "CONNECT",
  "BREW",
  "get",
  "",
);
const body = fc.oneof(fc.constant(""), fc.string({ unit: "binary", maxLength: 200 }));

const request = fc
  .record({ known: fc.boolean(), method, path, query, headers: fc.array(header, { maxLength: 8 }), body })
  .map(({ known, method: verb, path: where, query: pairs, headers, body: rest }): RawRequest => {
    const search = pairs.map(([name, text]) => `${name}=${text}`).join("&");
    const lines = headers.map(([name, text]) => `${name}: ${text}\r\n`).join("");
    return { known, head: `${verb} ${where}?${search} HTTP/1.1\r\nhost: x\r\n${lines}\r\n${rest}` };
  });

const bytes = (maxLength: number) => fc.uint8Array({ maxLength }).map((array) => Buffer.from(array));
const webSocketFrame = fc.oneof(
  // Mostly valid data: a first byte, a masked payload that begins with a channel.
  {
    weight: 3,
    arbitrary: fc.tuple(fc.nat(255), bytes(300)).map(([first, data]) => clientFrame(first, data)),
  },
  {
    weight: 3,
    arbitrary: fc
      .tuple(fc.constantFrom(0x82, 0x02, 0x80, 0x89, 0x88), fc.constantFrom(0, 1, 4, 9, 255), bytes(100))
      .map(([first, channel, data]) => clientFrame(first, Buffer.concat([Buffer.from([channel]), data]))),
  },
  { weight: 1, arbitrary: bytes(40) },
  {
    weight: 1,
    arbitrary: fc.constant(
      Buffer.from([0x82, 0xff, 0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0]),
    ),
  },
  { weight: 1, arbitrary: fc.constant(clientFrame(0x82, Buffer.from('\x04{"Width":1e999,"Height":"x"}'))) },
);
const spdyFrame = fc.oneof(
  {
    weight: 3,
    arbitrary: fc
      .tuple(fc.nat(12), fc.nat(255), bytes(300))
      .map(([type, flags, payload]) => controlFrame(type, flags, payload)),
  },
  // A reply to, a reset of, or data on a stream that may exist.
  {
    weight: 3,
    arbitrary: fc
      .tuple(fc.constantFrom(2, 3, 8), fc.nat(3), fc.nat(9), bytes(20))
      .map(([type, flags, stream, rest]) => controlFrame(type, flags, Buffer.concat([number(stream), rest]))),
  },
  {
    weight: 3,
    arbitrary: fc
      .tuple(fc.nat(9), fc.nat(3), bytes(300))
      .map(([stream, flags, data]) => Buffer.concat([dataHead(stream, flags, data.length), data])),
  },
  { weight: 1, arbitrary: bytes(40) },
  { weight: 1, arbitrary: fc.constant(dataHead(1, 0, 0xffffff)) },
);

function number(value: number): Buffer {
  const four = Buffer.alloc(4);
  four.writeUInt32BE(value);
  return four;
}

const key16 = "sec-websocket-version: 13\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n";
const webSocketHead = (where: string, protocol: string) =>
  `GET ${where} HTTP/1.1\r\nhost: x\r\nconnection: Upgrade\r\nupgrade: websocket\r\n${key16}sec-websocket-protocol: ${protocol}\r\n\r\n`;
const spdyHead = (where: string) =>
  `POST ${where} HTTP/1.1\r\nhost: x\r\nconnection: Upgrade\r\nupgrade: SPDY/3.1\r\ncontent-length: 0\r\n\r\n`;
const exec = (command: string) => `/exec/default/${pod}/app?input=1&output=1&tty=1&command=${command}`;
const tunnel = "SPDY/3.1+portforward.k8s.io";

const frames = fc.array(webSocketFrame, { maxLength: 12 });
const upgraded = fc.oneof(
  fc.record({ head: fc.constant(webSocketHead(exec("echo"), "v5.channel.k8s.io")), more: frames }),
  fc.record({ head: fc.constant(webSocketHead(exec("noise"), "v4.channel.k8s.io")), more: frames }),
  fc.record({
    head: fc.constant(webSocketHead(`/attach/default/${pod}/app?output=1`, "v5.channel.k8s.io")),
    more: frames,
  }),
  fc.record({ head: fc.constant(webSocketHead(`/portForward/default/${pod}`, tunnel)), more: frames }),
  fc.record({ head: fc.constant(spdyHead(exec("echo"))), more: fc.array(spdyFrame, { maxLength: 12 }) }),
  fc.record({ head: fc.constant(spdyHead(exec("noise"))), more: fc.array(spdyFrame, { maxLength: 12 }) }),
);

/** The agent serves requests and logged no unexpected error. */
async function assertHealthy(): Promise<void> {
  node.assertHealthy();
  // Errors of a runtime are reported as such.
  assert.doesNotMatch(node.log, /Request failed.* err="(?!(the|what the) runtime )/);
  await node.timeValidRequest();
}

async function sendAll(count: number): Promise<void> {
  await fc.assert(
    fc.asyncProperty(fc.array(request, { minLength: atOnce, maxLength: atOnce }), async (all) => {
      const responses = await Promise.all(all.map(exchange));
      for (const [i, response] of responses.entries()) {
        const reported = JSON.stringify(all[i]);
        if (response !== "") assert.match(response, /^HTTP\/1\.1 [1-5]\d\d /, reported);
        if (!all[i]?.known) assert.ok(!response.includes(secret), reported);
        // Errors of the runtime and the API are expected; our own are bugs.
        const [, reason] = /^HTTP\/1\.1 500 .*\r\n\r\n(.*)$/s.exec(response) ?? [];
        if (reason)
          assert.match(reason, /container not found|checkpoint|pod not found|exec|dialing/, reported);
      }
      await assertHealthy();
    }),
    { numRuns: count, endOnFailure: true },
  );
  await fc.assert(
    fc.asyncProperty(
      fc.array(upgraded, { minLength: atOnce, maxLength: atOnce }),
      fc.array(spdyFrame, { maxLength: 8 }),
      async (all, runtime) => {
        output = runtime;
        await Promise.all(all.map((one) => exchange({ known: true, ...one })));
        await assertHealthy();
      },
    ),
    { numRuns: count, endOnFailure: true },
  );
}

for (const { count, named } of rounds("FUZZ_RUNS", 6, 15))
  test(
    named(`${2 * count * atOnce} random requests and streams cause no unhandled error and leak nothing`),
    (t) => leaksNothing(t, count),
  );

async function leaksNothing(t: TestContext, runs: number): Promise<void> {
  // Resources that are created on first use exist after this.
  await sendAll(Math.ceil(runs / 3));
  const settled = async () => {
    const files = node.openFiles();
    await new Promise((resolve) => setTimeout(resolve, 200));
    assert.equal(node.openFiles(), files);
    return files;
  };
  const files = await waitFor(settled);
  const before = await node.state();
  await sendAll(runs);
  await waitFor(() => assert.ok(node.openFiles() <= files + 3, `${node.openFiles()} files, ${files} before`));
  const stateAfter = await node.state();
  const memoryOf = (state: typeof before) => state.heapUsed + state.external;
  const mib = (size: number) => `${(size / mebibyte).toFixed(1)} MiB`;
  t.diagnostic(
    `${mib(memoryOf(before))} of memory before, ${mib(memoryOf(stateAfter))} after; ${node.openFiles()} files, ${files} before`,
  );
  assert.ok(
    memoryOf(stateAfter) < memoryOf(before) + 10 * mebibyte,
    `${mib(memoryOf(before))}, then ${mib(memoryOf(stateAfter))}`,
  );
}
