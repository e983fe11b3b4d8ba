import type { Duplex } from "node:stream";
import { applyBackpressure } from "../backpressure.ts";
import { closeCodes } from "./close-frame.ts";
import { frameHeader, opcodes } from "./frame-header.ts";
import { FrameReader } from "./frames.ts";

export interface WebSocketHandler {
  message(data: Buffer): void;
  /** The client closed, violated the protocol, or disconnected. Called once. */
  end(): void;
}

/** Larger than any message of a regular client. */
const maxMessage = 16 * 1024 * 1024;

/** The server's side of a WebSocket, on a connection that has been upgraded. */
export class WebSocketConnection {
  readonly socket: Duplex;
  readonly #handler: WebSocketHandler;
  readonly #reader = new FrameReader(maxMessage);
  #closed = false;
  #closing = false;

  constructor(socket: Duplex, handler: WebSocketHandler) {
    this.socket = socket;
    this.#handler = handler;
  }

  /** Starts reading; `head` is data that was already read. */
  start(head: Buffer): void {
    this.socket.on("data", (chunk: Buffer) => this.#take(chunk));
    this.socket.once("end", () => this.#end());
    this.socket.once("close", () => this.#end());
    this.socket.on("error", () => this.#end());
    if (head.length > 0) this.#take(head);
    this.socket.resume();
  }

  /** One binary message of these parts. False: wait for "drain" of the socket. */
  send(...parts: readonly Buffer[]): boolean {
    const length = parts.reduce((sum, part) => sum + part.length, 0);
    return this.#write(opcodes.binary, parts, length);
  }

  /** An unsolicited pong: keep-alive for a client whose pings are queued behind its data. */
  sendPong(): void {
    this.#write(opcodes.pong, [], 0);
  }

  /** Sends a close frame, and ends the connection when that is written. */
  close(code: number = closeCodes.normal): void {
    const payload = Buffer.alloc(2);
    payload.writeUInt16BE(code);
    this.#close(payload);
  }

  #close(payload: Buffer): void {
    if (this.#closing) return;
    this.#write(opcodes.close, [payload], payload.length);
    this.#closing = true;
    this.socket.end();
  }

  #take(chunk: Buffer): void {
    if (this.#closed) return;
    for (const event of this.#reader.push(chunk)) {
      switch (event.kind) {
        case "message":
          this.#handler.message(event.data);
          break;
        case "ping":
          // A client that sends pings and does not read the pongs has to wait.
          if (!this.#write(opcodes.pong, [event.data], event.data.length))
            applyBackpressure(this.socket, this.socket);
          break;
        case "close":
          // The reply to a close frame repeats its code.
          if (event.code === undefined) this.#close(Buffer.alloc(0));
          else this.close(event.code);
          this.#end();
          break;
        case "broken":
          this.close(event.code);
          this.#end();
          break;
        default:
          event satisfies never;
      }
    }
  }

  #write(opcode: number, parts: readonly Buffer[], length: number): boolean {
    if (this.#closing || !this.socket.writable) return true;
    this.socket.cork();
    let canWrite = this.socket.write(frameHeader(opcode, length));
    for (const part of parts) if (part.length > 0) canWrite = this.socket.write(part);
    this.socket.uncork();
    return canWrite;
  }

  #end(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#handler.end();
  }
}
