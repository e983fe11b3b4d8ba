import assert from "node:assert/strict";
import { isUtf8 } from "node:buffer";
import { clientFrame } from "../../../src/kubelet/server/streaming/fake-client.ts";
import { frameHeader } from "../../../src/kubelet/server/streaming/websocket/frame-header.ts";
import { type FrameEvent, FrameReader } from "../../../src/kubelet/server/streaming/websocket/frames.ts";
import { inChunks } from "../rules.ts";
import type { FuzzTarget } from "../target.ts";

const maxMessage = 1000;

/** The bytes that a client sends after the handshake. */
export default {
  seeds: [
    Buffer.concat([
      clientFrame(2, Buffer.from("\0in")),
      clientFrame(9, Buffer.from("p")),
      clientFrame(8, Buffer.from([3, 232])),
    ]),
    Buffer.concat([clientFrame(1, Buffer.alloc(200, "a")), clientFrame(10, Buffer.alloc(0))]),
    Buffer.from("0181010203046162638081010203040188800102030400", "hex"),
    Buffer.from("82fe00030102030400000082ff00000000000000030102030461616188820000000003e8", "hex"),
  ],
  maxLength: 1200,
  run(input) {
    const whole = read([input]);
    assert.deepEqual(read(inChunks(input)), whole, "depends on how the bytes arrive");
    const messages = whole.filter(({ kind }) => kind === "message");
    const size = messages.reduce((sum, event) => sum + ("data" in event ? event.data.length : 0), 0);
    assert.ok(
      size <= input.length && messages.every((event) => "data" in event && event.data.length <= maxMessage),
    );
    // A close frame or an error is the last event.
    const last = whole.findIndex(({ kind }) => kind === "close" || kind === "broken");
    if (last >= 0) assert.equal(last, whole.length - 1);
    assert.deepEqual(simple(input), simpleEvents(whole, input));
    assert.equal(frameHeader(2, input.length).length, input.length < 126 ? 2 : 4);
  },
} satisfies FuzzTarget;

function read(chunks: readonly Buffer[]): FrameEvent[] {
  const reader = new FrameReader(maxMessage);
  return chunks.flatMap((chunk) => reader.push(chunk));
}

/** A second reader, for whole text and binary messages of up to 125 bytes only. Undefined if there is anything else. */
function simple(input: Buffer): string[] | undefined {
  const messages: string[] = [];
  for (let at = 0; at < input.length; ) {
    const [first = 0, second = 0] = [input[at], input[at + 1]];
    const length = second & 0x7f;
    if ((first !== 0x81 && first !== 0x82) || second < 0x80 || length > 125) return undefined;
    const mask = input.subarray(at + 2, at + 6);
    const data = input.subarray(at + 6, at + 6 + length);
    if (mask.length < 4 || data.length < length) return undefined;
    const plain = Buffer.from(data.map((byte, i) => byte ^ (mask[i % 4] ?? 0)));
    if (first === 0x81 && !isUtf8(plain)) return undefined;
    messages.push(plain.toString("hex"));
    at += 6 + length;
  }
  return messages;
}

function simpleEvents(events: readonly FrameEvent[], input: Buffer): string[] | undefined {
  if (simple(input) === undefined) return undefined;
  return events.map((event) => (event.kind === "message" ? event.data.toString("hex") : event.kind));
}
