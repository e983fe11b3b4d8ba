import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { clientFrame } from "../fake-client.ts";
import { echoServer, exchange } from "./fake-echo-server.ts";

/** Cases in the order of the Autobahn test suite; the expected outcome is what RFC 6455 requires of a server. */

const fin = 0x80;
const op = { continuation: 0, text: 1, binary: 2, close: 8, ping: 9, pong: 10 };
const frame = (first: number, data: Buffer | string = "") => clientFrame(first, Buffer.from(data));
const text = (data: Buffer | string) => frame(fin | op.text, data);
const ping = (data: Buffer | string = "") => frame(fin | op.ping, data);
const close = (code?: number, reason: Buffer | string = "") => {
  const head = Buffer.alloc(code === undefined ? 0 : 2);
  if (code !== undefined) head.writeUInt16BE(code);
  return frame(fin | op.close, Buffer.concat([head, Buffer.from(reason)]));
};
const normalClose = close(1000);
const invalidUtf8 = Buffer.from("cebae1bdb9cf83cebcceb5eda080656469746564", "hex");
const kosme = Buffer.from("cebae1bdb9cf83cebcceb5", "hex");

interface Outcome {
  readonly messages?: readonly (Buffer | string)[];
  readonly pongs?: readonly (Buffer | string)[];
  /** 0: a close frame without a code. */
  readonly code: number;
}
type Case = readonly [name: string, frames: readonly Buffer[], outcome: Outcome];

const cleanly = (outcome: Omit<Outcome, "code"> = {}): Outcome => ({ ...outcome, code: 1000 });
const broken = (code: number, outcome: Omit<Outcome, "code"> = {}): Outcome => ({ ...outcome, code });
const sized = (length: number) => Buffer.alloc(length, "*");
const lengths = [0, 1, 125, 126, 127, 128, 65_535, 65_536, 65_537];

/** A frame whose length takes more bytes than it needs to. */
function longForm(lengthBytes: 2 | 8, data: string): Buffer {
  const head = Buffer.alloc(2 + lengthBytes + 4);
  head[0] = fin | op.binary;
  head[1] = 0x80 | (lengthBytes === 2 ? 126 : 127);
  if (lengthBytes === 2) head.writeUInt16BE(data.length, 2);
  else head.writeBigUInt64BE(BigInt(data.length), 2);
  return Buffer.concat([head, Buffer.from(data)]); // a mask of zeros
}

function unmaskedFrame(first: number, data: string): Buffer {
  return Buffer.concat([Buffer.from([first, data.length]), Buffer.from(data)]);
}

const cases: Record<string, readonly Case[]> = {
  "1 framing": [
    ...lengths.map((length): Case => {
      const data = sized(length);
      return [`text of ${length} bytes`, [text(data), normalClose], cleanly({ messages: [data] })];
    }),
    ...lengths.map((length): Case => {
      const data = Buffer.alloc(length, 0xfe);
      const frames = [frame(fin | op.binary, data), normalClose];
      return [`binary of ${length} bytes`, frames, cleanly({ messages: [data] })];
    }),
    [
      "a length of 2 bytes where 1 is enough",
      [longForm(2, "abc"), normalClose],
      cleanly({ messages: ["abc"] }),
    ],
    [
      "a length of 8 bytes where 1 is enough",
      [longForm(8, "abc"), normalClose],
      cleanly({ messages: ["abc"] }),
    ],
    ["a length with the highest bit set", [Buffer.from("82fff00000000000000000000000", "hex")], broken(1002)],
    ["an unmasked text", [unmaskedFrame(fin | op.text, "abc"), normalClose], broken(1002)],
    ["an unmasked ping", [unmaskedFrame(fin | op.ping, "abc"), normalClose], broken(1002)],
    ["an unmasked close", [unmaskedFrame(fin | op.close, "\x03\xe8"), normalClose], broken(1002)],
  ],
  "2 pings and pongs": [
    ["a ping without payload", [ping(), normalClose], cleanly({ pongs: [""] })],
    ["a ping with payload", [ping("hello"), normalClose], cleanly({ pongs: ["hello"] })],
    [
      "a binary payload",
      [ping(Buffer.from("00fffefdfcfb00ff", "hex")), normalClose],
      cleanly({ pongs: [Buffer.from("00fffefdfcfb00ff", "hex")] }),
    ],
    ["a payload of 125 bytes", [ping(sized(125)), normalClose], cleanly({ pongs: [sized(125)] })],
    ["a payload of 126 bytes", [ping(sized(126)), normalClose], broken(1002)],
    ["an unsolicited pong", [frame(fin | op.pong), ping("x"), normalClose], cleanly({ pongs: ["x"] })],
    [
      "an unsolicited pong with payload",
      [frame(fin | op.pong, "unsolicited"), ping("x"), normalClose],
      cleanly({ pongs: ["x"] }),
    ],
    ["ten pings", [...[..."0123456789"].map(ping), normalClose], cleanly({ pongs: [..."0123456789"] })],
  ],
  "3 reserved bits": [
    ...[1, 2, 3, 4, 5, 6, 7].flatMap((rsv): Case[] =>
      [op.text, op.binary, op.ping, op.close].map((opcode) => [
        `bits ${rsv} on opcode ${opcode}`,
        [text("before"), frame(fin | (rsv << 4) | opcode, ""), text("after")],
        broken(1002, { messages: ["before"] }),
      ]),
    ),
  ],
  "4 reserved opcodes": [
    ...[3, 4, 5, 6, 7, 11, 12, 13, 14, 15].flatMap((opcode): Case[] => [
      [`opcode ${opcode}`, [frame(fin | opcode), ping()], broken(1002)],
      [
        `opcode ${opcode} with payload, after a message`,
        [text("before"), frame(fin | opcode, "payload"), ping()],
        broken(1002, { messages: ["before"] }),
      ],
    ]),
    // The payload never arrives: the header is enough to reject it.
    ["opcode 5 with a payload that is missing", [Buffer.from("85fe010000000000", "hex")], broken(1002)],
  ],
  "5 fragments": [
    ["a fragmented ping", [frame(op.ping, "a"), frame(fin | op.continuation, "b")], broken(1002)],
    ["a fragmented pong", [frame(op.pong, "a"), frame(fin | op.continuation, "b")], broken(1002)],
    ["a fragmented close", [frame(op.close, "\x03\xe8"), frame(fin | op.continuation)], broken(1002)],
    [
      "two fragments",
      [frame(op.text, "frag"), frame(fin | op.continuation, "ment"), normalClose],
      cleanly({ messages: ["fragment"] }),
    ],
    [
      "many fragments, and empty ones",
      [
        frame(op.binary),
        ...[..."abcdef"].flatMap((part) => [frame(op.continuation, part), frame(op.continuation)]),
        frame(fin | op.continuation),
        normalClose,
      ],
      cleanly({ messages: ["abcdef"] }),
    ],
    [
      "only empty fragments",
      [frame(op.text), frame(op.continuation), frame(fin | op.continuation), normalClose],
      cleanly({ messages: [""] }),
    ],
    [
      "pings and pongs between fragments",
      [
        frame(op.text, "a"),
        ping("1"),
        frame(op.continuation, "b"),
        frame(fin | op.pong, "?"),
        ping("2"),
        frame(fin | op.continuation, "c"),
        normalClose,
      ],
      cleanly({ pongs: ["1", "2"], messages: ["abc"] }),
    ],
    [
      "a close between fragments",
      [frame(op.text, "a"), normalClose, frame(fin | op.continuation, "b")],
      cleanly(),
    ],
    ["a final continuation without a message", [frame(fin | op.continuation, "a"), text("b")], broken(1002)],
    ["a continuation without a message", [frame(op.continuation, "a"), text("b")], broken(1002)],
    [
      "a fragment after a whole message",
      [text("a"), frame(op.continuation, "b")],
      broken(1002, { messages: ["a"] }),
    ],
    ["a message within another", [frame(op.text, "a"), text("b")], broken(1002)],
    ["a fragmented message within another", [frame(op.text, "a"), frame(op.text, "b")], broken(1002)],
    [
      "a second message after a fragmented one",
      [frame(op.text, "a"), frame(fin | op.continuation, "b"), text("c"), normalClose],
      cleanly({ messages: ["ab", "c"] }),
    ],
  ],
  "6 UTF-8": [
    ["valid text", [text(kosme), normalClose], cleanly({ messages: [kosme] })],
    [
      "a character in two fragments",
      [frame(op.text, kosme.subarray(0, 4)), frame(fin | op.continuation, kosme.subarray(4)), normalClose],
      cleanly({ messages: [kosme] }),
    ],
    ["invalid text", [text(invalidUtf8), normalClose], broken(1007)],
    [
      "invalid text in fragments",
      [frame(op.text, invalidUtf8.subarray(0, 12)), frame(fin | op.continuation, invalidUtf8.subarray(12))],
      broken(1007),
    ],
    ["a surrogate", [text(Buffer.from("eda080", "hex"))], broken(1007)],
    ["a truncated character", [text(Buffer.from("ceba e1bd".replace(" ", ""), "hex"))], broken(1007)],
    ["a code point above U+10FFFF", [text(Buffer.from("f4908080", "hex"))], broken(1007)],
    ["an overlong form", [text(Buffer.from("c0af", "hex"))], broken(1007)],
    [
      "the same bytes as binary",
      [frame(fin | op.binary, invalidUtf8), normalClose],
      cleanly({ messages: [invalidUtf8] }),
    ],
  ],
  "7 close": [
    ["without payload", [close()], broken(0)],
    ["a truncated code", [frame(fin | op.close, "\x03")], broken(1002)],
    ["a reason of 123 bytes", [close(1000, sized(123))], cleanly()],
    ["a reason of 124 bytes", [close(1000, sized(124))], broken(1002)],
    ["a reason that is not UTF-8", [close(1000, invalidUtf8)], broken(1007)],
    ["a message after it", [normalClose, text("late")], cleanly()],
    ["a ping after it", [normalClose, ping("late")], cleanly()],
    ["two of them", [close(1001), close(1000)], broken(1001)],
    ...[1000, 1001, 1002, 1003, 1007, 1008, 1009, 1010, 1011, 3000, 3999, 4000, 4999].map(
      (code): Case => [`code ${code}`, [close(code)], broken(code)],
    ),
    ...[0, 999, 1004, 1005, 1006, 1015, 1016, 1100, 2000, 2999, 5000, 65_535].map(
      (code): Case => [`code ${code}, which must not be sent`, [close(code)], broken(1002)],
    ),
  ],
  "9 limits": [
    [
      "a message of 16 MiB",
      [frame(fin | op.binary, sized(16 << 20)), normalClose],
      cleanly({ messages: [sized(16 << 20)] }),
    ],
    ["a longer message", [Buffer.from("82ff000000000100000100000000", "hex")], broken(1009)],
    [
      "fragments that are longer together, and a ping between them that is not counted",
      [frame(op.binary, sized(16 << 20)), ping("x"), frame(fin | op.continuation, "!")],
      broken(1009, { pongs: ["x"] }),
    ],
  ],
};

let server: Awaited<ReturnType<typeof echoServer>>;
before(async () => {
  server = await echoServer();
});
after(() => server.stop());

async function outcomeOf(chunks: readonly Buffer[]): Promise<Outcome> {
  const frames = await exchange(server.port, chunks);
  assert.ok(frames.every((received) => received.fin));
  const of = (opcode: number) => frames.filter((received) => received.opcode === opcode);
  const closes = of(op.close);
  assert.equal(closes.length, 1, "one close frame");
  assert.equal(frames.at(-1), closes[0], "and nothing after it");
  const [{ payload }] = closes as [(typeof frames)[number]];
  return {
    messages: of(op.binary).map((received) => received.payload),
    pongs: of(op.pong).map((received) => received.payload),
    code: payload.length === 0 ? 0 : payload.readUInt16BE(),
  };
}

const withBuffers = ({ messages = [], pongs = [], code }: Outcome): Outcome => ({
  messages: messages.map((data) => Buffer.from(data)),
  pongs: pongs.map((data) => Buffer.from(data)),
  code,
});

const byteByByte = (bytes: Buffer) => Array.from(bytes, (_, at) => bytes.subarray(at, at + 1));

for (const [section, rows] of Object.entries(cases))
  describe(section, { timeout: 60_000 }, () => {
    for (const [name, frames, expected] of rows)
      test(name, async () => {
        assert.deepEqual(await outcomeOf(frames), withBuffers(expected));
        const bytes = Buffer.concat(frames);
        assert.deepEqual(await outcomeOf([bytes]), withBuffers(expected), "all in one chunk");
        if (bytes.length > 300) return;
        assert.deepEqual(await outcomeOf(byteByByte(bytes)), withBuffers(expected), "byte by byte");
      });
  });
