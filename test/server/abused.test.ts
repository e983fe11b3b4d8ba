import assert from "node:assert/strict";
import { connect as connectPlain, type Socket } from "node:net";
import { after, before, describe, test } from "node:test";
import { connect, type TLSSocket } from "node:tls";
import { rawTls } from "../../src/kubelet/server/fixtures.ts";
import { waitFor } from "../e2e/wait-for.ts";
import { GuardedNode, secret } from "./guarded-node.ts";
import {
  endHeaders,
  endStream,
  frame,
  frameType,
  headerBlock,
  preface,
  requestFrame,
  resetFrame,
} from "./http2-frames.ts";

const connectionCount = Number(process.env.CONNECTIONS ?? 10_000);
const mebibyte = 1024 * 1024;
let node: GuardedNode;
let stop: () => Promise<void>;
let baselineMs = 0;
let baselineFiles = 0;
let baselineBytes = 0;

before(async () => {
  ({ node, stop } = await GuardedNode.start({ readOnly: true }));
  for (let i = 0; i < 5; i++) baselineMs = Math.max(baselineMs, await node.timeValidRequest());
  baselineFiles = node.openFiles();
  baselineBytes = (await node.state()).rss;
});

after(() => stop?.());

/** Valid requests are served quickly; measured again if other load delays one. */
async function assertResponsive(): Promise<void> {
  let took = await node.timeValidRequest();
  for (let i = 0; i < 4 && took > 50 * baselineMs; i++) took = await node.timeValidRequest();
  assert.ok(took < 50 * baselineMs, `${took} ms, ${baselineMs} ms when idle`);
  node.assertHealthy();
}

/** The agent has closed the files that it opened for clients. */
async function assertReleased(): Promise<void> {
  await waitFor(() =>
    assert.ok(node.openFiles() <= baselineFiles + 5, `${node.openFiles()} files, ${baselineFiles} before`),
  );
}

/** Sent with an administrator's certificate: if it were served, the response would contain the secret. */
const smuggled = "GET /pods HTTP/1.1\r\nhost: x\r\n\r\n";
const put = (headers: string, body = "") =>
  `PUT /debug/flags/v HTTP/1.1\r\nhost: x\r\n${headers}\r\n\r\n${body}`;

describe("malformed requests and request smuggling", () => {
  const sent: [string, string, RegExp][] = [
    ["binary data", "\x00\x01\x02\r\n\r\n", /^HTTP\/1\.1 400/],
    ["HTTP/0.9", "GET /pods\r\n\r\n", /^HTTP\/1\.1 400/],
    ["an unknown HTTP version", "GET /pods HTTP/9.9\r\nhost: x\r\n\r\n", /^HTTP\/1\.1 400/],
    ["a request without a Host header", "GET /pods HTTP/1.1\r\n\r\n", /^HTTP\/1\.1 400/],
    ["a path without a slash", "GET pods HTTP/1.1\r\nhost: x\r\n\r\n", /^HTTP\/1\.1 400/],
    ["a target in authority form", "GET evil.example:443 HTTP/1.1\r\nhost: x\r\n\r\n", /^HTTP\/1\.1 400/],
    ["OPTIONS *", "OPTIONS * HTTP/1.1\r\nhost: x\r\n\r\n", /^HTTP\/1\.1 400/],
    ["CONNECT", "CONNECT evil.example:443 HTTP/1.1\r\nhost: x\r\n\r\n", /^HTTP\/1\.1 405/],
    [
      "the URL of another server",
      "GET ftp://evil.example/pods HTTP/1.1\r\nhost: x\r\n\r\n",
      /^HTTP\/1\.1 400/,
    ],
    ["a NUL in the path", "GET /po\x00ds HTTP/1.1\r\nhost: x\r\n\r\n", /^HTTP\/1\.1 400/],
    ["a NUL in a header", "GET /pods HTTP/1.1\r\nhost: x\r\na: \x00\r\n\r\n", /^HTTP\/1\.1 400/],
    ["a header without a name", "GET /pods HTTP/1.1\r\nhost: x\r\n: y\r\n\r\n", /^HTTP\/1\.1 400/],
    ["a folded header", "GET /pods HTTP/1.1\r\nhost: x\r\na: b\r\n c\r\n\r\n", /^HTTP\/1\.1 400/],
    [
      "a space before the colon",
      put("transfer-encoding : chunked", `0\r\n\r\n${smuggled}`),
      /^HTTP\/1\.1 400/,
    ],
    [
      "a second, different Content-Length",
      put("content-length: 1\r\ncontent-length: 2", smuggled),
      /^HTTP\/1\.1 400/,
    ],
    ["a Content-Length with two values", put("content-length: 1, 1", smuggled), /^HTTP\/1\.1 400/],
    ["a Content-Length with a sign", put("content-length: +1", smuggled), /^HTTP\/1\.1 400/],
    ["a Content-Length in hexadecimal", put("content-length: 0x1", smuggled), /^HTTP\/1\.1 400/],
    ["a negative Content-Length", put("content-length: -1", smuggled), /^HTTP\/1\.1 400/],
    [
      "a Content-Length that overflows",
      put("content-length: 99999999999999999999", smuggled),
      /^HTTP\/1\.1 400/,
    ],
    [
      "Transfer-Encoding after Content-Length",
      put("content-length: 5\r\ntransfer-encoding: chunked", `0\r\n\r\n${smuggled}`),
      /^HTTP\/1\.1 400/,
    ],
    [
      "Content-Length after Transfer-Encoding",
      put("transfer-encoding: chunked\r\ncontent-length: 5", `0\r\n\r\n${smuggled}`),
      /^HTTP\/1\.1 400/,
    ],
    [
      "an encoding after chunked",
      put("transfer-encoding: chunked, identity", `0\r\n\r\n${smuggled}`),
      /^HTTP\/1\.1 400/,
    ],
    [
      "an unknown transfer encoding",
      put("transfer-encoding: xchunked", `0\r\n\r\n${smuggled}`),
      /^HTTP\/1\.1 400/,
    ],
    [
      "a chunk size that overflows",
      put("transfer-encoding: chunked", "fffffffffffffffff\r\n1"),
      /^HTTP\/1\.1 400/,
    ],
    ["an invalid chunk size", put("transfer-encoding: chunked", `xyz\r\n${smuggled}`), /^HTTP\/1\.1 400/],
    [
      "a chunk that is longer than its size",
      put("transfer-encoding: chunked", `1\r\n12\r\n0\r\n\r\n${smuggled}`),
      /^HTTP\/1\.1 400/,
    ],
    ["a chunk without CR", put("transfer-encoding: chunked", `1\n1\n0\n\n${smuggled}`), /^HTTP\/1\.1 400/],
    [
      "a chunk extension of one megabyte",
      put("transfer-encoding: chunked", `1;${"a".repeat(mebibyte)}\r\n1`),
      /^HTTP\/1\.1 4(00|13)/,
    ],
    [
      "a very large number of trailers",
      put("transfer-encoding: chunked", `1\r\n1\r\n0\r\n${"a: b\r\n".repeat(300_000)}`),
      /^HTTP\/1\.1 4/,
    ],
    ["a request in a body", put(`content-length: ${smuggled.length}`, smuggled), /^HTTP\/1\.1 400/],
    [
      "a request in the body of a GET",
      `GET /nope HTTP/1.1\r\nhost: x\r\ncontent-length: ${smuggled.length}\r\n\r\n${smuggled}`,
      /^HTTP\/1\.1 404/,
    ],
    [
      "a very large header",
      `GET /pods HTTP/1.1\r\nhost: x\r\na: ${"x".repeat(1_200_000)}\r\n\r\n`,
      /^HTTP\/1\.1 431/,
    ],
    ["a very long path", `GET /${"x".repeat(1_200_000)} HTTP/1.1\r\nhost: x\r\n\r\n`, /^HTTP\/1\.1 431/],
    [
      "a thousand large headers",
      `GET /pods HTTP/1.1\r\nhost: x\r\n${`a: ${"x".repeat(1000)}\r\n`.repeat(1200)}\r\n`,
      /^HTTP\/1\.1 431/,
    ],
    [
      "a hundred thousand headers",
      `GET /nope HTTP/1.1\r\nhost: x\r\n${"a:b\r\n".repeat(100_000)}\r\n`,
      /^HTTP\/1\.1 (404|431)/,
    ],
    [
      "an unknown Expect header",
      "GET /pods HTTP/1.1\r\nhost: x\r\nexpect: wonders\r\n\r\n",
      /^HTTP\/1\.1 417/,
    ],
  ];
  for (const [name, bytes, response] of sent)
    test(`${name} gets ${response.source.slice(12)}`, async () => {
      // The last request closes the connection if the server kept it open.
      const last = "GET /nope HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n";
      const reported = await rawTls(node.port, bytes + last, { ...node.admin });
      assert.match(reported, response);
      assert.ok(!reported.includes(secret), "the smuggled request got a response");
      assert.doesNotMatch(reported, /HTTP\/1\.1 200/);
      await assertResponsive();
    });

  test("the first of two tokens is used", async () => {
    const lines =
      "authorization: Bearer unknown\r\nauthorization: Bearer good-admin\r\nconnection: close\r\n";
    assert.match(await rawTls(node.port, `GET /pods HTTP/1.1\r\nhost: x\r\n${lines}\r\n`), /^HTTP\/1\.1 401/);
    await assertResponsive();
  });
});

describe("invalid HTTP/2", () => {
  const settings = frame(frameType.settings, 0, 0);
  const head = { ":method": "GET", ":scheme": "https", ":authority": "x", ":path": "/pods" };
  const onOddStreams = (count: number, make: (stream: number) => Buffer) =>
    Buffer.concat(Array.from({ length: count }, (_, i) => make(2 * i + 1)));
  const uint32 = (value: number) => {
    const bytes = Buffer.alloc(4);
    bytes.writeUInt32BE(value);
    return bytes;
  };
  const sent: [string, () => Buffer][] = [
    [
      "20,000 requests that are reset immediately",
      () => onOddStreams(20_000, (s) => Buffer.concat([requestFrame(s, "/pods"), resetFrame(s)])),
    ],
    ["100,000 empty SETTINGS frames", () => Buffer.alloc(9 * 100_000, settings)],
    [
      "100,000 SETTINGS frames with the same value",
      () => onOddStreams(100_000, () => frame(frameType.settings, 0, 0, Buffer.from([0, 3, 0, 0, 0, 100]))),
    ],
    ["100,000 PING frames", () => onOddStreams(100_000, () => frame(frameType.ping, 0, 0, Buffer.alloc(8)))],
    ["100,000 resets of streams that were not opened", () => onOddStreams(100_000, (s) => resetFrame(s))],
    [
      "100,000 priorities",
      () => onOddStreams(100_000, (s) => frame(frameType.priority, 0, s, Buffer.from([0, 0, 0, 0, 1]))),
    ],
    [
      "an endless request header",
      () =>
        Buffer.concat([
          frame(frameType.headers, endStream, 1, headerBlock(head)),
          onOddStreams(20_000, () =>
            frame(frameType.continuation, 0, 1, headerBlock({ a: "b".repeat(100) })),
          ),
        ]),
    ],
    [
      "10,000 empty CONTINUATION frames",
      () =>
        Buffer.concat([
          frame(frameType.headers, endStream, 1, headerBlock(head)),
          onOddStreams(10_000, () => frame(frameType.continuation, 0, 1)),
        ]),
    ],
    [
      "10,000 headers",
      () =>
        splitHeaders(1, {
          ...head,
          ...Object.fromEntries(Array.from({ length: 10_000 }, (_, i) => [`a${i}`, "b"])),
        }),
    ],
    ["one header of 2 MiB", () => splitHeaders(1, { ...head, a: "x".repeat(2 * mebibyte) })],
    ["one header that is referred to 100,000 times", () => compressionBomb(head)],
    [
      "a window that overflows",
      () =>
        Buffer.concat([
          frame(frameType.windowUpdate, 0, 0, uint32(0x7fffffff)),
          frame(frameType.windowUpdate, 0, 0, uint32(0x7fffffff)),
        ]),
    ],
    [
      "10,000 window updates of one byte",
      () => onOddStreams(10_000, () => frame(frameType.windowUpdate, 0, 0, uint32(1))),
    ],
    ["data of a stream that was not opened", () => frame(frameType.data, 0, 7, Buffer.alloc(100))],
    [
      "50,000 empty data frames",
      () =>
        Buffer.concat([
          frame(
            frameType.headers,
            endHeaders,
            1,
            headerBlock({ ...head, ":method": "PUT", ":path": "/debug/flags/v" }),
          ),
          onOddStreams(50_000, () => frame(frameType.data, 0, 1)),
        ]),
    ],
    ["a frame that is too large", () => frame(frameType.data, 0, 1, Buffer.alloc(100_000))],
    ["an unknown frame", () => onOddStreams(10_000, (s) => frame(0x77, 0xff, s, Buffer.alloc(10)))],
    ["an even stream ID", () => requestFrame(2, "/pods")],
    ["decreasing stream IDs", () => Buffer.concat([requestFrame(9, "/nope"), requestFrame(3, "/nope")])],
    [
      "headers that are not allowed",
      () => requestFrame(1, "/pods", { connection: "keep-alive", "transfer-encoding": "chunked" }),
    ],
    ["a header name in upper case", () => requestFrame(1, "/nope", { Host: "x" })],
    [
      "a request with two paths",
      () =>
        frame(
          frameType.headers,
          endStream | endHeaders,
          1,
          Buffer.concat([headerBlock(head), headerBlock({ ":path": "/nope" })]),
        ),
    ],
    ["an empty path", () => requestFrame(1, "")],
    ["a request within a header", () => requestFrame(1, "/nope", { a: "b\r\nGET /pods HTTP/1.1" })],
    ["an invalid preface", () => Buffer.from("PRI * HTTP/3.0\r\n\r\nXX\r\n\r\n")],
  ];
  for (const [name, make] of sent)
    test(`other clients are served despite ${name}`, async () => {
      // This client is not authenticated, so no response may contain the secret.
      const socket = await openHttp2();
      let received = "";
      socket.on("data", (chunk) => {
        received += chunk.toString("latin1");
      });
      socket.write(Buffer.concat([preface, settings]));
      socket.write(make(), () => socket.end());
      for (let i = 0; i < 3; i++) await assertResponsive();
      socket.destroy();
      assert.ok(!received.includes(secret));
      await assertReleased();
    });

  test("other clients are served while one sends 10,000 requests without reading responses", async () => {
    const socket = await openHttp2(node.admin);
    socket.pause();
    socket.write(Buffer.concat([preface, settings, onOddStreams(10_000, (s) => requestFrame(s, "/pods"))]));
    for (let i = 0; i < 10; i++) await assertResponsive();
    socket.destroy();
    await assertReleased();
  });

  function openHttp2(pair?: object): Promise<TLSSocket> {
    return new Promise((resolve) => {
      const o = {
        host: "127.0.0.1",
        port: node.port,
        rejectUnauthorized: false,
        ALPNProtocols: ["h2"],
        ...pair,
      };
      const socket = connect(o, () => resolve(socket));
      socket.on("error", () => {});
    });
  }

  function splitHeaders(stream: number, headers: Record<string, string>): Buffer {
    const block = headerBlock(headers);
    const parts: Buffer[] = [];
    for (let at = 0; at < block.length; at += 16_000) {
      const last = at + 16_000 >= block.length ? endHeaders : 0;
      const part = block.subarray(at, at + 16_000);
      parts.push(
        at === 0
          ? frame(frameType.headers, endStream | last, stream, part)
          : frame(frameType.continuation, last, stream, part),
      );
    }
    return Buffer.concat(parts);
  }

  /** HPACK stores a header of 4,000 bytes; then each byte repeats it. */
  function compressionBomb(headers: Record<string, string>): Buffer {
    const indexed = headerBlock({ a: "x".repeat(4000) });
    indexed[0] = 0x40;
    const references = Buffer.alloc(100_000, 0xbe);
    const first = Buffer.concat([headerBlock(headers), indexed, references.subarray(0, 10_000)]);
    const parts = [frame(frameType.headers, endStream, 1, first)];
    for (let at = 0; at < references.length; at += 16_000)
      parts.push(frame(frameType.continuation, 0, 1, references.subarray(at, at + 16_000)));
    return Buffer.concat(parts);
  }
});

describe("resource exhaustion", () => {
  test("slow clients are disconnected, while others are served", async () => {
    const head = "GET /pods HTTP/1.1\r\nhost: x\r\n";
    const slow = (bytes: string, more: string) => (): Promise<string> =>
      new Promise((resolve) => {
        let received = "";
        const socket = connect({ host: "127.0.0.1", port: node.port, rejectUnauthorized: false }, () => {
          socket.write(bytes);
          timer = setInterval(() => socket.write(more), 500);
        });
        let timer: NodeJS.Timeout | undefined;
        socket.on("data", (chunk) => {
          received += chunk;
        });
        socket
          .on("error", () => {})
          .on("close", () => {
            clearInterval(timer);
            resolve(received);
          });
      });
    const plain = (bytes: string) => (): Promise<string> =>
      new Promise((resolve) => {
        const socket = connectPlain(
          node.port,
          "127.0.0.1",
          () => void (bytes && socket.write(bytes, "latin1")),
        );
        socket
          .on("error", () => {})
          .on("close", () => resolve(""))
          .resume();
      });
    const kinds: [RegExp, () => Promise<string>][] = [
      [/^HTTP\/1\.1 408/, slow(head, "a: b\r\n")],
      [/^HTTP\/1\.1 408/, slow("GET /", "x")],
      [/^HTTP\/1\.1 401/, slow(`${head}content-length: 1000000\r\n\r\n`, "x")],
      [/^HTTP\/1\.1 401/, slow(`${head}transfer-encoding: chunked\r\n\r\n`, "1\r\nx\r\n")],
      [/^$/, plain("")],
      [/^$/, plain("\x16\x03\x01\x02\x00")],
    ];
    let done = false;
    const all = Promise.all(
      kinds.flatMap(([response, connectSlowly]) =>
        Array.from({ length: 30 }, async () => assert.match(await connectSlowly(), response)),
      ),
    ).finally(() => {
      done = true;
    });
    while (!done) {
      await assertResponsive();
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
    await all;
    await assertReleased();
  });

  test("a client that sends 20,000 requests and reads nothing uses little memory", async () => {
    const socket = connect({ host: "127.0.0.1", port: node.port, rejectUnauthorized: false, ...node.admin });
    socket.on("error", () => {}).pause();
    const before = (await node.state()).rss;
    socket.write("GET /metrics HTTP/1.1\r\nhost: x\r\n\r\n".repeat(20_000));
    for (let i = 0; i < 20; i++) await assertResponsive();
    const { rss } = await node.state();
    assert.ok(rss < before + 100 * mebibyte, `${before} bytes before, ${rss} after`);
    socket.destroy();
    await assertReleased();
  });

  const ports: [string, number, () => number][] = [
    ["HTTPS", connectionCount, () => node.port],
    ["read-only", 3000, () => node.readOnlyPort],
    ["healthz", 3000, () => node.healthPort],
  ];
  for (const [name, count, port] of ports)
    test(`${count} connections to the ${name} port do not block other clients`, async (t) => {
      const all: Socket[] = [];
      let open = 0;
      let most = 0;
      for (let i = 0; i < count; i++) {
        // One in twenty starts a TLS handshake.
        const one =
          i % 20 === 0 && name === "HTTPS"
            ? connect({ host: "127.0.0.1", port: port(), rejectUnauthorized: false })
            : connectPlain(port(), "127.0.0.1");
        one.on("error", () => {}).once("connect", () => open++);
        all.push(one);
        if (i % 500 === 499) {
          await waitFor(() => assert.ok(open >= i - 499));
          most = Math.max(most, node.openFiles());
          await assertResponsive();
          assert.equal((await fetch(`http://127.0.0.1:${node.healthPort}/healthz`)).status, 200);
          assert.equal((await fetch(`http://127.0.0.1:${node.readOnlyPort}/healthz`)).status, 200);
        }
      }
      await waitFor(() => assert.equal(open, count), 60_000);
      t.diagnostic(
        `${open} were accepted; the agent had ${most} files open at most, ${baselineFiles} when idle`,
      );
      assert.ok(most <= baselineFiles + 1000 + 100, `${most} files`);
      for (let i = 0; i < 5; i++) await assertResponsive();
      for (const socket of all) socket.destroy();
      await assertReleased();
    });

  test("the agent leaks neither file descriptors nor memory", async (t) => {
    await assertReleased();
    const { rss, heapUsed } = await node.state();
    t.diagnostic(
      `${Math.round(baselineBytes / mebibyte)} MiB before, ${Math.round(rss / mebibyte)} MiB after`,
    );
    assert.ok(
      rss < baselineBytes + 150 * mebibyte,
      `${rss} bytes, ${baselineBytes} before (heap ${heapUsed})`,
    );
    assert.doesNotMatch(node.log, /Request failed/);
  });
});
