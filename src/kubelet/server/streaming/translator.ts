import type { IncomingMessage } from "node:http";
import type { Socket } from "node:net";
import { orAbort, whenAborted } from "../../../lib/base/abort.ts";
import type { Clock } from "../../../lib/base/clock.ts";
import { KubeletError, messageOf } from "../../../lib/base/errors.ts";
import { GrowingBuffer } from "../../../lib/base/growing-buffer.ts";
import { applyBackpressure } from "./backpressure.ts";
import { watchIdle } from "./idle-watch.ts";
import { SpdyConnection, type SpdyStream, type StreamHandler } from "./spdy/connection.ts";
import type { StreamOptions } from "./stream-options.ts";
import { WebSocketConnection } from "./websocket/connection.ts";
import { handshake } from "./websocket/handshake.ts";

/** The final message of the error channel: success, or a v1.Status with the error. */
const successStatus = { metadata: {}, status: "Success" };

/** The first byte of each message. */
const channels = { stdin: 0, stdout: 1, stderr: 2, error: 3, resize: 4, close: 255 } as const;
type Channel = keyof typeof channels;

/** How much the runtime may send before it has accepted all streams, with what each part costs. */
const maxEarly = 1024 * 1024;
const partCost = 128;
/** Longer error messages are not parsed as a status. */
const maxStatus = 64 * 1024;
const streamsWithinMs = 30_000;
/** kubectl disconnects after a minute without a pong. */
const pongIntervalMs = 10_000;

export interface Translation {
  readonly client: {
    readonly request: IncomingMessage;
    readonly socket: Socket;
    readonly head: Buffer;
    readonly protocol: string;
  };
  readonly runtime: { readonly socket: Socket; readonly head: Buffer };
  readonly streams: StreamOptions;
  readonly idleMs: number;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

/**
 * A remote command between a WebSocket (v4 and v5.channel.k8s.io) and the runtime's SPDY. Throws before the client got
 * its response; afterwards all errors are sent on the error channel. Resolves when it has ended.
 */
export async function translate(t: Translation): Promise<void> {
  const spdy = new SpdyConnection(t.runtime.socket);
  const session = new Session(t, spdy);
  spdy.start(t.runtime.head);
  const closeRuntime = () => void t.runtime.socket.destroy();
  const cancelTimeout = t.clock.after(streamsWithinMs, closeRuntime);
  using aborted = whenAborted(t.signal, closeRuntime);
  try {
    await session.openStreams();
  } catch (error) {
    t.runtime.socket.destroy();
    t.signal.throwIfAborted();
    throw error;
  } finally {
    cancelTimeout();
    aborted[Symbol.dispose]();
  }
  await session.run();
}

class Session {
  readonly #t: Translation;
  readonly #spdy: SpdyConnection;
  readonly #ws: WebSocketConnection;
  readonly #streams = new Map<Channel, SpdyStream>();
  readonly #outputs = new Set<Channel>();
  /** Data of the runtime before the client got its response. */
  #early: (() => void)[] | undefined = [];
  #earlyBytes = 0;
  readonly #status = new GrowingBuffer();
  readonly #finished = Promise.withResolvers<void>();

  constructor(t: Translation, spdy: SpdyConnection) {
    this.#t = t;
    this.#spdy = spdy;
    this.#ws = new WebSocketConnection(t.client.socket, {
      message: (data) => this.#fromClient(data),
      end: () => this.#finished.resolve(),
    });
  }

  async openStreams(): Promise<void> {
    const { stdin, stdout, stderr, tty } = this.#t.streams;
    const requestedStreams: readonly (readonly [Channel, boolean])[] = [
      ["error", true],
      ["stdin", stdin],
      ["stdout", stdout],
      ["stderr", stderr],
      ["resize", tty],
    ];
    const opened = requestedStreams
      .filter(([, isRequested]) => isRequested)
      .map(async ([channel]) => {
        if (channel !== "stdin" && channel !== "resize") this.#outputs.add(channel);
        const stream = await this.#spdy.open({ streamType: channel }, this.#handler(channel));
        this.#streams.set(channel, stream);
      });
    await Promise.all(opened);
    // There is nothing to send on these.
    for (const channel of this.#outputs) if (channel === "error") this.#streams.get(channel)?.end();
  }

  async run(): Promise<void> {
    const { client, runtime, clock, idleMs, signal } = this.#t;
    const over = () => this.#finished.resolve();
    client.socket.write(handshake(client.request, client.protocol));
    const { stdout, stderr } = this.#t.streams;
    // An empty message signals that all is set up.
    this.#ws.send(Buffer.from([stdout ? channels.stdout : stderr ? channels.stderr : channels.error]));
    const early = this.#early ?? [];
    this.#early = undefined;
    for (const deliver of early) deliver();
    this.#ws.start(client.head);
    const bytes = () => client.socket.bytesRead + runtime.socket.bytesRead;
    const stopWatching = watchIdle(clock, idleMs, bytes, () => {
      this.#spdy.failure ??= new KubeletError("Streaming", "idle timeout");
      over();
    });
    const stopPongs = this.#sendPongs();
    void this.#spdy.closed.then(over);
    await orAbort(this.#finished.promise, signal).catch(() => {});
    stopWatching();
    stopPongs();
    await this.#close();
  }

  /**
   * Pings of a client that sends more than the command reads are queued behind that data. So it gets an unsolicited
   * pong periodically.
   */
  #sendPongs(): () => void {
    const sendPong = () => {
      this.#ws.sendPong();
      cancel = this.#t.clock.after(pongIntervalMs, sendPong);
    };
    let cancel = this.#t.clock.after(pongIntervalMs, sendPong);
    return () => cancel();
  }

  /** The final status is sent on the error channel, after all output. */
  async #close(): Promise<void> {
    const { client, runtime } = this.#t;
    const whole = this.#outputs.size === 0;
    const failure =
      this.#spdy.failure ??
      (whole ? undefined : new KubeletError("Streaming", "the runtime closed the connection"));
    this.#ws.send(Buffer.from([channels.error]), endStatus(this.#status.take(), failure));
    this.#ws.close();
    this.#spdy.close();
    runtime.socket.destroySoon();
    // Nothing more is received, but sent data must be delivered.
    client.socket.resume();
    const cancelClose = this.#t.clock.after(10_000, () => client.socket.destroy());
    await new Promise<void>((resolve) => {
      if (client.socket.closed) resolve();
      else client.socket.once("close", () => resolve());
      client.socket.once("finish", () => client.socket.destroySoon());
    });
    cancelClose();
  }

  #handler(channel: Channel): StreamHandler {
    return {
      data: (chunk) => {
        if (this.#early) this.#earlyBytes += chunk.length + partCost;
        if (this.#earlyBytes > maxEarly) return void this.#spdy.socket.destroy(tooEarly());
        this.#deliverInOrder(() => this.#fromRuntime(channel, chunk));
      },
      end: (whole) =>
        this.#deliverInOrder(() => {
          if (whole) this.#outputs.delete(channel);
          if (this.#outputs.size === 0) this.#finished.resolve();
        }),
    };
  }

  #deliverInOrder(deliver: () => void): void {
    if (this.#early) this.#early.push(deliver);
    else deliver();
  }

  #fromRuntime(channel: Channel, chunk: Buffer): void {
    if (channel === "error") {
      if (this.#status.length + chunk.length <= maxStatus) this.#status.append(chunk);
      return;
    }
    if (!this.#outputs.has(channel)) return;
    if (this.#ws.send(Buffer.from([channels[channel]]), chunk)) return;
    applyBackpressure(this.#spdy.socket as Socket, this.#t.client.socket);
  }

  #fromClient(message: Buffer): void {
    const channel = message[0];
    const data = message.subarray(1);
    if (channel === channels.close) {
      if (data[0] === channels.stdin && this.#t.client.protocol.startsWith("v5."))
        this.#streams.get("stdin")?.end();
      return;
    }
    const name = channel === channels.stdin ? "stdin" : channel === channels.resize ? "resize" : undefined;
    const stream = name && this.#streams.get(name);
    if (!stream || data.length === 0) return;
    if (!stream.write(data)) applyBackpressure(this.#t.client.socket, this.#spdy.socket as Socket);
  }
}

function tooEarly(): KubeletError {
  return new KubeletError("Streaming", "the runtime sends data before it has accepted the streams");
}

function failureStatus(error: unknown): object {
  const message = messageOf(error);
  return {
    metadata: {},
    status: "Failure",
    message: `Internal error occurred: ${message}`,
    reason: "InternalError",
    details: { causes: [{ message }] },
    code: 500,
  };
}

/** The runtime's message if there is one; none means exit code 0. */
function endStatus(output: Buffer, failure: Error | undefined): Buffer {
  if (output.length > 0) return isObject(output) ? output : encoded(failureStatus(output.toString("utf8")));
  return encoded(failure ? failureStatus(failure) : successStatus);
}

/** True if the output is a JSON object. Before v4 of the protocol, errors were sent as plain text. */
function isObject(output: Buffer): boolean {
  try {
    const value: unknown = JSON.parse(output.toString("utf8"));
    return typeof value === "object" && value !== null;
  } catch {
    return false;
  }
}

function encoded(status: object): Buffer {
  return Buffer.from(JSON.stringify(status));
}
