import assert from "node:assert/strict";
import { Duplex } from "node:stream";
import { SpdyConnection } from "../../../src/kubelet/server/streaming/spdy/connection.ts";
import { controlFrame, dataHead, SpdyReader } from "../../../src/kubelet/server/streaming/spdy/frames.ts";
import { inChunks } from "../rules.ts";
import type { FuzzTarget } from "../target.ts";

const id = (stream: number, ...more: number[]) => Buffer.from([0, 0, 0, stream, ...more]);
const data = (stream: number, flags: number, text: string) =>
  Buffer.concat([dataHead(stream, flags, text.length), Buffer.from(text)]);

/** The bytes that a runtime sends on an upgraded connection. */
export default {
  seeds: [
    Buffer.concat([
      controlFrame(2, 0, id(1, 0, 0)),
      controlFrame(2, 0, id(3)),
      data(1, 0, "out"),
      data(3, 1, ""),
    ]),
    Buffer.concat([
      controlFrame(6, 0, id(2)),
      controlFrame(3, 0, id(1, 0, 0, 0, 1)),
      controlFrame(7, 0, id(0)),
    ]),
    Buffer.concat([
      controlFrame(4, 0, id(0)),
      controlFrame(8, 1, id(1)),
      controlFrame(9, 0, id(1, 0, 0, 1, 0)),
    ]),
  ],
  maxLength: 500,
  run(input) {
    assert.deepEqual(events([input]), events(inChunks(input)), "depends on how the bytes arrive");
    const whole = connection([input]);
    const parts = connection(inChunks(input));
    assert.deepEqual(whole.received, parts.received);
    assert.deepEqual(whole.sent, parts.sent);
    // A reply to each ping, and nothing that the runtime could make longer.
    assert.ok(whole.sent.length <= 2 * input.length + whole.opening);
  },
} satisfies FuzzTarget;

/** Data may be split anywhere, so the parts of a stream are joined. */
function events(chunks: readonly Buffer[]): unknown[] {
  const reader = new SpdyReader();
  const found: { kind: string; key: string; text: string; fin?: boolean }[] = [];
  for (const event of chunks.flatMap((chunk) => reader.push(chunk))) {
    if (event.kind !== "data") {
      const text = event.kind === "control" ? event.payload.toString("hex") : event.reason;
      found.push({
        kind: event.kind,
        key: event.kind === "control" ? `${event.type} ${event.flags}` : "",
        text,
      });
      continue;
    }
    const last = found.at(-1);
    const text = event.data.toString("hex");
    if (last?.kind === "data" && last.key === String(event.stream) && !last.fin) {
      last.text += text;
      last.fin = event.fin;
    } else if (event.data.length > 0 || event.fin)
      found.push({ kind: "data", key: String(event.stream), text, fin: event.fin });
  }
  return found.filter(({ kind, text, fin }) => kind !== "data" || text !== "" || fin);
}

function connection(chunks: readonly Buffer[]) {
  const sent: Buffer[] = [];
  const socket = new Duplex({
    read: () => {},
    write: (chunk: Buffer, _, done) => {
      sent.push(chunk);
      done();
    },
  });
  const spdy = new SpdyConnection(socket);
  const received: string[] = ["", ""];
  const ends: [string[], string[]] = [[], []];
  for (const stream of [0, 1] as const)
    void spdy
      .open(
        { streamType: stream === 0 ? "stdout" : "error" },
        {
          data: (chunk) => {
            received[stream] += chunk.toString("latin1");
          },
          end: (isWhole) => {
            ends[stream].push(isWhole ? "end" : "lost");
          },
        },
      )
      .catch(() => {});
  const opening = Buffer.concat(sent).length;
  spdy.start(Buffer.alloc(0));
  for (const chunk of chunks) socket.emit("data", chunk);
  socket.emit("end");
  socket.emit("end");
  for (const one of ends) assert.equal(one.length, 1, "a stream ends once");
  socket.destroy();
  return { received: [...received, ...ends.flat()], sent: Buffer.concat(sent), opening };
}
