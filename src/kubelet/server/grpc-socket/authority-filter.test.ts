import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { type ClientHttp2Session, connect as connectHttp2, createServer as createHttp2 } from "node:http2";
import { connect, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Duplex } from "node:stream";
import { after, before, describe, it } from "node:test";
import { AuthorityFilter } from "./authority-filter.ts";
import { withValidAuthority } from "./header-block.ts";
import { huffmanText } from "./huffman.ts";

/** The requests of a real client, as received by a server behind the filter. */
describe("a strict server behind the filter", () => {
  let dir = "";
  let socketPath = "";
  const received: { authority: string | undefined; path: string | undefined; note: unknown; body: string }[] =
    [];
  const http2 = createHttp2((request, response) => {
    let body = "";
    request.on("data", (chunk) => {
      body += chunk;
    });
    request.on("end", () => {
      received.push({ authority: request.authority, path: request.url, note: request.headers.note, body });
      response.end();
    });
  });
  const listener = createServer((socket) => {
    const filter = new AuthorityFilter();
    // Split at any position: frames arrive in chunks.
    socket.on("data", (chunk: Buffer) => {
      for (let at = 0; at < chunk.length; at += chunkSize) filter.write(chunk.subarray(at, at + chunkSize));
    });
    socket.on("end", () => filter.end());
    socket.on("error", () => filter.destroy());
    http2.emit("connection", Duplex.from({ readable: filter, writable: socket }));
  });
  let chunkSize = 65_536;

  before(async () => {
    dir = await mkdtemp(join(tmpdir(), "authority-"));
    socketPath = join(dir, "s");
    await new Promise<void>((resolve) => listener.listen(socketPath, resolve));
  });
  after(async () => {
    listener.close();
    await rm(dir, { recursive: true });
  });

  const open = () => connectHttp2("http://localhost", { createConnection: () => connect(socketPath) });
  const send = (session: ClientHttp2Session, authority: string, note: string, body = "") =>
    new Promise<number>((resolve, reject) => {
      const stream = session.request({
        ":method": "POST",
        ":path": `/p/${note.length}`,
        ":authority": authority,
        note,
      });
      stream.on("response", (headers) => resolve(Number(headers[":status"])));
      stream.on("error", reject);
      stream.resume();
      stream.end(body);
    });

  const path = "/var/lib/kubelet/pod-resources/kubelet.sock";
  for (const size of [1, 7, 65_536])
    for (const authority of [path, "localhost", "passthrough:///x", "a b", "~{|}^<@#\"'!", "x".repeat(300)])
      it(`${JSON.stringify(authority.slice(0, 50))} in chunks of ${size}`, async () => {
        chunkSize = size;
        received.length = 0;
        const session = open();
        try {
          for (const note of ["one", "two", "one"])
            assert.equal(await send(session, authority, note, "body".repeat(100)), 200);
        } finally {
          session.destroy();
        }
        assert.deepEqual(
          received.map(({ note, body }) => [note, body.length]),
          [
            ["one", 400],
            ["two", 400],
            ["one", 400],
          ],
        );
        for (const { authority: seenAuthority } of received)
          assert.equal(seenAuthority, "localhost".padEnd(authority.length, "x").slice(0, authority.length));
      });

  it("the HPACK tables of both ends stay in sync when they are full", async () => {
    chunkSize = 65_536;
    const large = ["a", "b", "c"].map((letter) => letter.repeat(1000));
    // Together with the authority, these fill the table of 4096 bytes: not quite, exactly, and slightly over.
    for (let size = 895; size <= 915; size++) {
      received.length = 0;
      const notes = [...large, "d".repeat(size), ...large, "d".repeat(size)];
      const session = open();
      try {
        for (const note of notes) assert.equal(await send(session, "/", note), 200);
      } finally {
        session.destroy();
      }
      assert.deepEqual(
        received.map(({ note }) => note),
        notes,
      );
      assert.ok(received.every(({ authority }) => authority === "l"));
    }
  });

  it("rejects clients if there is no filter", async () => {
    const bare = createHttp2((_, response) => response.end());
    const barePath = join(dir, "bare");
    await new Promise<void>((resolve) => bare.listen(barePath, resolve));
    const session = connectHttp2("http://localhost", { createConnection: () => connect(barePath) });
    session.on("error", () => {});
    await assert.rejects(send(session, path, "x"), /PROTOCOL_ERROR/);
    session.destroy();
    bare.close();
  });
});

describe("invalid data is passed unchanged", () => {
  const rows: [string, number[]][] = [
    ["nothing", []],
    ["no authority", [0x82, 0x86]],
    ["a length beyond the end", [0x41, 0x05, 0x61]],
    ["an endless number", [0x41, 0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01]],
    ["an empty authority", [0x41, 0x00]],
    ["a code that no name has", [0x41, 0x84, 0xff, 0xff, 0xff, 0xff]],
  ];
  for (const [name, bytes] of rows)
    it(name, () => assert.equal(withValidAuthority(Buffer.from(bytes)), undefined));
});

it("Huffman: the example of the standard, and an invalid end of a text", () => {
  const example = Buffer.from("f1e3c2e5f23a6ba0ab90f4ff", "hex");
  assert.equal(huffmanText(example), "www.example.com");
  assert.equal(huffmanText(Buffer.from([0x00])), undefined);
});
