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

const crowd = Number(process.env.CROWD ?? 10_000);
const mebibyte = 1024 * 1024;
let node: GuardedNode;
let stop: () => Promise<void>;
let quietMs = 0;
let quietFiles = 0;
let quietBytes = 0;

before(async () => {
  ({ node, stop } = await GuardedNode.start({ readOnly: true }));
  for (let i = 0; i < 5; i++) quietMs = Math.max(quietMs, await node.servesTheNext());
  quietFiles = node.openFiles();
  quietBytes = (await node.state()).rss;
});

after(() => stop?.());

/** Valid requests are still served quickly; retried, because of other load. */
async function goesOn(): Promise<void> {
  let took = await node.servesTheNext();
  for (let i = 0; i < 4 && took > 50 * quietMs; i++) took = await node.servesTheNext();
  assert.ok(took < 50 * quietMs, `${took} ms, ${quietMs} ms when it is quiet`);
  node.isSound();
}

/** Allocated resources are released. */
async function isQuietAgain(): Promise<void> {
  await waitFor(() =>
    assert.ok(node.openFiles() <= quietFiles + 5, `${node.openFiles()} files, ${quietFiles} before`),
  );
}

/** Sent by an administrator: whatever gets through would get a response. */
const hidden = "GET /pods HTTP/1.1\r\nhost: x\r\n\r\n";
const put = (headers: string, body = "") =>
  `PUT /debug/flags/v HTTP/1.1\r\nhost: x\r\n${headers}\r\n\r\n${body}`;

describe("malformed requests and request smuggling", () => {
  const sent: [string, string, RegExp][] = [
    ["noise", "\x00\x01\x02\r\n\r\n", /^HTTP\/1\.1 400/],
    ["a very old version", "GET /pods\r\n\r\n", /^HTTP\/1\.1 400/],
    ["a version to come", "GET /pods HTTP/9.9\r\nhost: x\r\n\r\n", /^HTTP\/1\.1 400/],
    ["no host", "GET /pods HTTP/1.1\r\n\r\n", /^HTTP\/1\.1 400/],
    ["no path", "GET pods HTTP/1.1\r\nhost: x\r\n\r\n", /^HTTP\/1\.1 400/],
    ["an authority", "GET evil.example:443 HTTP/1.1\r\nhost: x\r\n\r\n", /^HTTP\/1\.1 400/],
    ["an asterisk", "OPTIONS * HTTP/1.1\r\nhost: x\r\n\r\n", /^HTTP\/1\.1 400/],
    ["CONNECT", "CONNECT evil.example:443 HTTP/1.1\r\nhost: x\r\n\r\n", /^HTTP\/1\.1 405/],
    ["another server", "GET ftp://evil.example/pods HTTP/1.1\r\nhost: x\r\n\r\n", /^HTTP\/1\.1 400/],
    ["NUL in the path", "GET /po\x00ds HTTP/1.1\r\nhost: x\r\n\r\n", /^HTTP\/1\.1 400/],
    ["NUL in a header", "GET /pods HTTP/1.1\r\nhost: x\r\na: \x00\r\n\r\n", /^HTTP\/1\.1 400/],
    ["a header without a name", "GET /pods HTTP/1.1\r\nhost: x\r\n: y\r\n\r\n", /^HTTP\/1\.1 400/],
    ["a folded header", "GET /pods HTTP/1.1\r\nhost: x\r\na: b\r\n c\r\n\r\n", /^HTTP\/1\.1 400/],
    ["a space before the colon", put("transfer-encoding : chunked", `0\r\n\r\n${hidden}`), /^HTTP\/1\.1 400/],
    ["two lengths", put("content-length: 1\r\ncontent-length: 2", hidden), /^HTTP\/1\.1 400/],
    ["a length twice", put("content-length: 1, 1", hidden), /^HTTP\/1\.1 400/],
    ["a length with a sign", put("content-length: +1", hidden), /^HTTP\/1\.1 400/],
    ["a length in hexadecimal", put("content-length: 0x1", hidden), /^HTTP\/1\.1 400/],
    ["less than nothing", put("content-length: -1", hidden), /^HTTP\/1\.1 400/],
    ["more than can be counted", put("content-length: 99999999999999999999", hidden), /^HTTP\/1\.1 400/],
    [
      "length and chunks",
      put("content-length: 5\r\ntransfer-encoding: chunked", `0\r\n\r\n${hidden}`),
      /^HTTP\/1\.1 400/,
    ],
    [
      "chunks and length",
      put("transfer-encoding: chunked\r\ncontent-length: 5", `0\r\n\r\n${hidden}`),
      /^HTTP\/1\.1 400/,
    ],
    [
      "chunks that are none",
      put("transfer-encoding: chunked, identity", `0\r\n\r\n${hidden}`),
      /^HTTP\/1\.1 400/,
    ],
    ["nearly chunks", put("transfer-encoding: xchunked", `0\r\n\r\n${hidden}`), /^HTTP\/1\.1 400/],
    [
      "a chunk that is too large",
      put("transfer-encoding: chunked", "fffffffffffffffff\r\n1"),
      /^HTTP\/1\.1 400/,
    ],
    ["a chunk of no size", put("transfer-encoding: chunked", `xyz\r\n${hidden}`), /^HTTP\/1\.1 400/],
    [
      "a chunk that ends late",
      put("transfer-encoding: chunked", `1\r\n12\r\n0\r\n\r\n${hidden}`),
      /^HTTP\/1\.1 400/,
    ],
    ["a chunk without CR", put("transfer-encoding: chunked", `1\n1\n0\n\n${hidden}`), /^HTTP\/1\.1 400/],
    [
      "a megabyte about a chunk",
      put("transfer-encoding: chunked", `1;${"a".repeat(mebibyte)}\r\n1`),
      /^HTTP\/1\.1 4(00|13)/,
    ],
    [
      "trailers without end",
      put("transfer-encoding: chunked", `1\r\n1\r\n0\r\n${"a: b\r\n".repeat(300_000)}`),
      /^HTTP\/1\.1 4/,
    ],
    ["a request in a body", put(`content-length: ${hidden.length}`, hidden), /^HTTP\/1\.1 400/],
    [
      "a request in a body of GET",
      `GET /nope HTTP/1.1\r\nhost: x\r\ncontent-length: ${hidden.length}\r\n\r\n${hidden}`,
      /^HTTP\/1\.1 404/,
    ],
    [
      "a very large header",
      `GET /pods HTTP/1.1\r\nhost: x\r\na: ${"x".repeat(1_200_000)}\r\n\r\n`,
      /^HTTP\/1\.1 431/,
    ],
    ["a very long path", `GET /${"x".repeat(1_200_000)} HTTP/1.1\r\nhost: x\r\n\r\n`, /^HTTP\/1\.1 431/],
    [
      "many large headers",
      `GET /pods HTTP/1.1\r\nhost: x\r\n${`a: ${"x".repeat(1000)}\r\n`.repeat(1200)}\r\n`,
      /^HTTP\/1\.1 431/,
    ],
    [
      "very many headers",
      `GET /nope HTTP/1.1\r\nhost: x\r\n${"a:b\r\n".repeat(100_000)}\r\n`,
      /^HTTP\/1\.1 (404|431)/,
    ],
    ["an odd expectation", "GET /pods HTTP/1.1\r\nhost: x\r\nexpect: wonders\r\n\r\n", /^HTTP\/1\.1 417/],
  ];
  for (const [name, bytes, response] of sent)
    test(`${name}: ${response.source.slice(12)}`, async () => {
      // A client that still reads gets the close.
      const last = "GET /nope HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n";
      const reported = await rawTls(node.port, bytes + last, { ...node.admin });
      assert.match(reported, response);
      assert.ok(!reported.includes(secret), "the smuggled request got a response");
      assert.doesNotMatch(reported, /HTTP\/1\.1 200/);
      await goesOn();
    });

  test("the first of two tokens is used", async () => {
    const lines =
      "authorization: Bearer unknown\r\nauthorization: Bearer good-admin\r\nconnection: close\r\n";
    assert.match(await rawTls(node.port, `GET /pods HTTP/1.1\r\nhost: x\r\n${lines}\r\n`), /^HTTP\/1\.1 401/);
    await goesOn();
  });
});

describe("invalid HTTP/2", () => {
  const settings = frame(frameType.settings, 0, 0);
  const head = { ":method": "GET", ":scheme": "https", ":authority": "x", ":path": "/pods" };
  const odd = (count: number, make: (stream: number) => Buffer) =>
    Buffer.concat(Array.from({ length: count }, (_, i) => make(2 * i + 1)));
  const word = (value: number) => {
    const bytes = Buffer.alloc(4);
    bytes.writeUInt32BE(value);
    return bytes;
  };
  const sent: [string, () => Buffer][] = [
    [
      "20,000 requests, each reset immediately",
      () => odd(20_000, (s) => Buffer.concat([requestFrame(s, "/pods"), resetFrame(s)])),
    ],
    ["100,000 settings", () => Buffer.alloc(9 * 100_000, settings)],
    [
      "100,000 settings of the same",
      () => odd(100_000, () => frame(frameType.settings, 0, 0, Buffer.from([0, 3, 0, 0, 0, 100]))),
    ],
    ["100,000 pings", () => odd(100_000, () => frame(frameType.ping, 0, 0, Buffer.alloc(8)))],
    ["100,000 resets of nothing", () => odd(100_000, (s) => resetFrame(s))],
    [
      "100,000 priorities",
      () => odd(100_000, (s) => frame(frameType.priority, 0, s, Buffer.from([0, 0, 0, 0, 1]))),
    ],
    [
      "an endless request header",
      () =>
        Buffer.concat([
          frame(frameType.headers, endStream, 1, headerBlock(head)),
          odd(20_000, () => frame(frameType.continuation, 0, 1, headerBlock({ a: "b".repeat(100) }))),
        ]),
    ],
    [
      "10,000 empty parts of a head",
      () =>
        Buffer.concat([
          frame(frameType.headers, endStream, 1, headerBlock(head)),
          odd(10_000, () => frame(frameType.continuation, 0, 1)),
        ]),
    ],
    [
      "10,000 headers",
      () =>
        headParts(1, {
          ...head,
          ...Object.fromEntries(Array.from({ length: 10_000 }, (_, i) => [`a${i}`, "b"])),
        }),
    ],
    ["one header of 2 MiB", () => headParts(1, { ...head, a: "x".repeat(2 * mebibyte) })],
    ["one header, referred to 100,000 times", () => bomb(head)],
    [
      "a window that is too large",
      () =>
        Buffer.concat([
          frame(frameType.windowUpdate, 0, 0, word(0x7fffffff)),
          frame(frameType.windowUpdate, 0, 0, word(0x7fffffff)),
        ]),
    ],
    ["10,000 windows of one byte", () => odd(10_000, () => frame(frameType.windowUpdate, 0, 0, word(1)))],
    ["data of a stream that is not", () => frame(frameType.data, 0, 7, Buffer.alloc(100))],
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
          odd(50_000, () => frame(frameType.data, 0, 1)),
        ]),
    ],
    ["a frame that is too large", () => frame(frameType.data, 0, 1, Buffer.alloc(100_000))],
    ["an unknown frame", () => odd(10_000, (s) => frame(0x77, 0xff, s, Buffer.alloc(10)))],
    ["even numbers", () => requestFrame(2, "/pods")],
    ["numbers that go back", () => Buffer.concat([requestFrame(9, "/nope"), requestFrame(3, "/nope")])],
    [
      "headers that are not allowed",
      () => requestFrame(1, "/pods", { connection: "keep-alive", "transfer-encoding": "chunked" }),
    ],
    ["capital letters", () => requestFrame(1, "/nope", { Host: "x" })],
    [
      "two paths",
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
    ["the preface of another", () => Buffer.from("PRI * HTTP/3.0\r\n\r\nXX\r\n\r\n")],
  ];
  for (const [name, make] of sent)
    test(name, async () => {
      // Such a client has not authenticated: the response has to be a rejection.
      const socket = await openHttp2();
      let received = "";
      socket.on("data", (chunk) => {
        received += chunk.toString("latin1");
      });
      socket.write(Buffer.concat([preface, settings]));
      socket.write(make(), () => socket.end());
      for (let i = 0; i < 3; i++) await goesOn();
      socket.destroy();
      assert.ok(!received.includes(secret));
      await isQuietAgain();
    });

  test("10,000 concurrent requests without reading responses", async () => {
    const socket = await openHttp2(node.admin);
    socket.pause();
    socket.write(Buffer.concat([preface, settings, odd(10_000, (s) => requestFrame(s, "/pods"))]));
    for (let i = 0; i < 10; i++) await goesOn();
    socket.destroy();
    await isQuietAgain();
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

  function headParts(stream: number, headers: Record<string, string>): Buffer {
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

  /** A header of 4,000 bytes is stored, and then repeated with one byte each. */
  function bomb(headers: Record<string, string>): Buffer {
    const remembered = headerBlock({ a: "x".repeat(4000) });
    remembered[0] = 0x40;
    const references = Buffer.alloc(100_000, 0xbe);
    const first = Buffer.concat([headerBlock(headers), remembered, references.subarray(0, 10_000)]);
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
    let over = false;
    const all = Promise.all(
      kinds.flatMap(([response, begin]) =>
        Array.from({ length: 30 }, async () => assert.match(await begin(), response)),
      ),
    ).finally(() => {
      over = true;
    });
    while (!over) {
      await goesOn();
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
    await all;
    await isQuietAgain();
  });

  test("a client that sends 20,000 requests and reads nothing costs little", async () => {
    const socket = connect({ host: "127.0.0.1", port: node.port, rejectUnauthorized: false, ...node.admin });
    socket.on("error", () => {}).pause();
    const before = (await node.state()).rss;
    socket.write("GET /metrics HTTP/1.1\r\nhost: x\r\n\r\n".repeat(20_000));
    for (let i = 0; i < 20; i++) await goesOn();
    const { rss } = await node.state();
    assert.ok(rss < before + 100 * mebibyte, `${before} bytes before, ${rss} after`);
    socket.destroy();
    await isQuietAgain();
  });

  const crowds: [string, number, () => number][] = [
    ["HTTPS", crowd, () => node.port],
    ["read-only", 3000, () => node.readOnlyPort],
    ["healthz", 3000, () => node.healthPort],
  ];
  for (const [name, count, port] of crowds)
    test(`${count} connections to the ${name} port keep no client out`, async (t) => {
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
          await goesOn();
          assert.equal((await fetch(`http://127.0.0.1:${node.healthPort}/healthz`)).status, 200);
          assert.equal((await fetch(`http://127.0.0.1:${node.readOnlyPort}/healthz`)).status, 200);
        }
      }
      await waitFor(() => assert.equal(open, count), 60_000);
      t.diagnostic(
        `${open} were let in; the agent had ${most} files open at most, ${quietFiles} when it is quiet`,
      );
      assert.ok(most <= quietFiles + 1000 + 100, `${most} files`);
      for (let i = 0; i < 5; i++) await goesOn();
      for (const socket of all) socket.destroy();
      await isQuietAgain();
    });

  test("no descriptor or memory was leaked", async (t) => {
    await isQuietAgain();
    const { rss, heapUsed } = await node.state();
    t.diagnostic(`${Math.round(quietBytes / mebibyte)} MiB before, ${Math.round(rss / mebibyte)} MiB after`);
    assert.ok(rss < quietBytes + 150 * mebibyte, `${rss} bytes, ${quietBytes} before (heap ${heapUsed})`);
    assert.doesNotMatch(node.log, /Request failed/);
  });
});
