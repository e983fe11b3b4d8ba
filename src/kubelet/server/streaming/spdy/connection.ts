import type { Duplex } from "node:stream";
import { KubeletError } from "../../../../lib/base/errors.ts";
import { applyBackpressure } from "../backpressure.ts";
import { controlFrame, dataHead, flagFin, frameTypes, type SpdyEvent, SpdyReader } from "./frames.ts";

/**
 * Header blocks of SPDY/3 are one zlib stream for each connection. Ours uses stored blocks, so that nothing has to be
 * compressed and no state kept: headers are few and short. An empty block ends each, as a flush that makes
 * the peer decode it.
 */
const begin = Buffer.from([0x78, 0x20, 0xe3, 0xc6, 0xa7, 0xc2]);

const flush = Buffer.from([0x00, 0x00, 0x00, 0xff, 0xff]);

export interface StreamHandler {
  data(chunk: Buffer): void;
  /** The peer has ended this stream. Called once; `whole` is false if the connection was lost. */
  end(whole: boolean): void;
}

export interface SpdyStream {
  /** False: wait for "drain" of the socket. */
  write(chunk: Buffer): boolean;
  /** Half-close: the peer may still send. */
  end(): void;
}

interface Open {
  readonly handler: StreamHandler;
  readonly accepted: PromiseWithResolvers<void>;
  sentAll: boolean;
  receivedAll: boolean;
}

const maxFrame = 64 * 1024;

/**
 * The client's side of SPDY/3.1, on a connection that has been upgraded. It has no flow control windows: runtimes neither send
 * window updates nor enforce them, and TCP provides back-pressure.
 */
export class SpdyConnection {
  readonly socket: Duplex;
  /** Why it ended, if it failed. */
  failure: Error | undefined;
  readonly closed: Promise<void>;
  readonly #done = Promise.withResolvers<void>();
  readonly #reader = new SpdyReader();
  readonly #headers = new HeaderBlocks();
  readonly #streams = new Map<number, Open>();
  #next = 1;
  #over = false;

  constructor(socket: Duplex) {
    this.socket = socket;
    this.closed = this.#done.promise;
  }

  /** Starts reading; `head` is data that was already read. */
  start(head: Buffer): void {
    this.socket.on("data", (chunk: Buffer) => this.#take(chunk));
    this.socket.once("end", () => this.#end());
    this.socket.once("close", () => this.#end());
    this.socket.on("error", (error) => this.#end(error));
    if (head.length > 0) this.#take(head);
    this.socket.resume();
  }

  /** Resolves when the other side has accepted the stream. */
  async open(headers: Readonly<Record<string, string>>, handler: StreamHandler): Promise<SpdyStream> {
    if (this.#over) throw this.failure ?? new KubeletError("Streaming", "the runtime closed the connection");
    const id = this.#next;
    this.#next += 2;
    const stream: Open = { handler, accepted: Promise.withResolvers(), sentAll: false, receivedAll: false };
    this.#streams.set(id, stream);
    const fixed = Buffer.alloc(10);
    fixed.writeUInt32BE(id);
    const payload = Buffer.concat([fixed, this.#headers.block(headers)]);
    this.socket.write(controlFrame(frameTypes.synStream, 0, payload));
    await stream.accepted.promise;
    return {
      write: (chunk) => this.#send(id, stream, chunk),
      end: () => {
        if (stream.sentAll || this.#over) return;
        stream.sentAll = true;
        this.socket.write(dataHead(id, flagFin, 0));
        this.#forget(id, stream);
      },
    };
  }

  /** Closes the connection. */
  close(): void {
    if (!this.#over && this.socket.writable) {
      this.socket.write(controlFrame(frameTypes.goAway, 0, Buffer.alloc(8)));
      this.socket.end();
    }
    this.#end();
  }

  #send(id: number, stream: Open, chunk: Buffer): boolean {
    if (stream.sentAll || this.#over || !this.socket.writable) return true;
    let canWrite = true;
    this.socket.cork();
    for (let at = 0; at < chunk.length; at += maxFrame) {
      const part = chunk.subarray(at, at + maxFrame);
      this.socket.write(dataHead(id, 0, part.length));
      canWrite = this.socket.write(part);
    }
    this.socket.uncork();
    return canWrite;
  }

  #take(chunk: Buffer): void {
    if (this.#over) return;
    for (const event of this.#reader.push(chunk)) this.#event(event);
  }

  #event(event: SpdyEvent): void {
    switch (event.kind) {
      case "data": {
        const stream = this.#streams.get(event.stream);
        if (!stream || stream.receivedAll) return;
        if (event.data.length > 0) stream.handler.data(event.data);
        if (event.fin) this.#receivedEnd(event.stream, stream);
        return;
      }
      case "control":
        return this.#control(event.type, event.flags, event.payload);
      case "broken":
        this.#end(new KubeletError("Streaming", event.reason));
        this.socket.destroy();
        return;
      default:
        return event satisfies never;
    }
  }

  #control(type: number, flags: number, payload: Buffer): void {
    if (type === frameTypes.ping && payload.length === 4) {
      // The peer's pings have even IDs; odd ones would be replies to pings that were never sent.
      if (payload.readUInt32BE() % 2 !== 0) return;
      // A peer that sends pings and does not read the replies has to wait.
      if (!this.socket.write(controlFrame(frameTypes.ping, 0, payload)))
        applyBackpressure(this.socket, this.socket);
      return;
    }
    if (payload.length < 4) return;
    const id = payload.readUInt32BE() & 0x7fffffff;
    const stream = this.#streams.get(id);
    if (type === frameTypes.synReply) stream?.accepted.resolve();
    if (type === frameTypes.rstStream && stream) {
      stream.sentAll = true;
      stream.accepted.reject(new KubeletError("Streaming", "the runtime rejected a stream"));
      stream.accepted.promise.catch(() => {});
      this.#receivedEnd(id, stream);
    } else if ((type === frameTypes.synReply || type === frameTypes.headers) && (flags & flagFin) !== 0) {
      if (stream) this.#receivedEnd(id, stream);
    }
  }

  #receivedEnd(id: number, stream: Open, whole = true): void {
    if (stream.receivedAll) return;
    stream.receivedAll = true;
    this.#forget(id, stream);
    stream.handler.end(whole);
  }

  #forget(id: number, stream: Open): void {
    if (stream.receivedAll && stream.sentAll) this.#streams.delete(id);
  }

  #end(error?: Error): void {
    if (this.#over) return;
    this.#over = true;
    this.failure ??= error;
    for (const [id, stream] of [...this.#streams]) {
      stream.sentAll = true;
      stream.accepted.reject(error ?? new KubeletError("Streaming", "the runtime closed the connection"));
      stream.accepted.promise.catch(() => {});
      this.#receivedEnd(id, stream, false);
    }
    this.#done.resolve();
  }
}

class HeaderBlocks {
  #started = false;

  block(headers: Readonly<Record<string, string>>): Buffer {
    const pairs = Object.entries(headers);
    const plain = Buffer.concat([
      number32(pairs.length),
      ...pairs.flatMap(([name, value]) => [...text(name.toLowerCase()), ...text(value)]),
    ]);
    const stored = Buffer.alloc(5);
    stored.writeUInt16LE(plain.length, 1);
    stored.writeUInt16LE(plain.length ^ 0xffff, 3);
    const block = Buffer.concat([...(this.#started ? [] : [begin]), stored, plain, flush]);
    this.#started = true;
    return block;
  }
}

function text(value: string): Buffer[] {
  const bytes = Buffer.from(value);
  return [number32(bytes.length), bytes];
}

function number32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
}
