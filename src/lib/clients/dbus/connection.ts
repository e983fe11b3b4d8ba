import { createConnection, type Socket } from "node:net";
import { abortable, whenAborted } from "../../base/abort.ts";
import type { Clock } from "../../base/clock.ts";
import { abortError, KubeletError, messageOf } from "../../base/errors.ts";
import { decodeMessage, encodeMessage, type Message, MessageSplitter } from "./message.ts";
import type { DBusValue } from "./value.ts";

const lineEnd = "\r\n";

const maxLine = 16_384;

/** The error of a call whose connection was lost: whether the call was executed is unknown. */
export const disconnected = "DBusDisconnected";

export interface MethodCall {
  readonly destination?: string;
  readonly path: string;
  readonly interface: string;
  readonly member: string;
  readonly signature?: string;
  readonly body?: readonly DBusValue[];
}

export interface CallOptions {
  readonly signal?: AbortSignal;
  readonly timeoutMs?: number;
}

/** The error that the callee returned. */
export class DBusError extends KubeletError {
  /** "org.freedesktop.systemd1.UnitExists" */
  readonly errorName: string;
  constructor(errorName: string, message: string) {
    super("DBusError", message === "" ? errorName : message);
    this.errorName = errorName;
  }
}

export interface ConnectionOptions {
  readonly socketPath: string;
  readonly clock: Clock;
  readonly onSignal: (signal: Message) => void;
  /** Once, if the connection ends after it was established. */
  readonly onClose: (error: Error) => void;
  readonly signal?: AbortSignal;
}

interface Pending {
  resolve(body: readonly DBusValue[]): void;
  reject(error: Error): void;
}

const connectMs = 10_000;
const callMs = 25_000;

/** One connection to a bus, or directly to a peer. It does not reconnect. */
export class DBusConnection {
  readonly #socket: Socket;
  readonly #o: ConnectionOptions;
  readonly #pending = new Map<number, Pending>();
  readonly #splitter = new MessageSplitter();
  #serial = 0;
  #closed: Error | undefined;

  /** Connects and authenticates. */
  static async open(options: ConnectionOptions): Promise<DBusConnection> {
    const { socketPath, clock, signal } = options;
    const socket = createConnection({ path: socketPath });
    const end = () => socket.destroy(new Error("timed out"));
    const cancel = clock.after(connectMs, end);
    using _ = whenAborted(signal, () => socket.destroy(abortError(signal?.reason)));
    try {
      await new Promise<void>((resolve, reject) => socket.once("connect", resolve).once("error", reject));
      const rest = await authenticate(socket, process.getuid?.() ?? 0);
      return new DBusConnection(socket, options, rest);
    } catch (error) {
      // Nothing else listens for errors that follow the reported one.
      socket.on("error", () => {}).destroy();
      throw error;
    } finally {
      cancel();
    }
  }

  private constructor(socket: Socket, options: ConnectionOptions, rest: Buffer) {
    this.#socket = socket;
    this.#o = options;
    socket.on("data", (chunk) => this.#receive(chunk));
    socket.on("error", (error) => this.#close(error));
    socket.on("close", () => this.#close(new Error("the peer closed it")));
    // An idle connection does not keep the process alive.
    socket.unref();
    if (rest.length > 0) this.#receive(rest);
    socket.resume();
  }

  get isOpen(): boolean {
    return this.#closed === undefined;
  }

  /** The body of the reply; rejects with a DBusError if the callee returns an error. */
  call(call: MethodCall, { signal, timeoutMs = callMs }: CallOptions = {}): Promise<readonly DBusValue[]> {
    return abortable(signal, (resolve, reject) => {
      if (this.#closed) throw lost(this.#closed);
      const serial = this.#nextSerial();
      const bytes = encodeMessage({ kind: "call", serial, signature: "", body: [], ...call });
      const cancel = this.#o.clock.after(timeoutMs, () =>
        reject(new KubeletError("DBusTimeout", `${call.member}: no reply within ${timeoutMs} ms`)),
      );
      this.#pending.set(serial, { resolve, reject });
      this.#socket.ref();
      this.#socket.write(bytes);
      return () => {
        cancel();
        this.#pending.delete(serial);
        if (this.#pending.size === 0) this.#socket.unref();
      };
    });
  }

  close(): void {
    this.#close(new Error("it was closed"));
  }

  #nextSerial(): number {
    // 0 is not a valid serial.
    this.#serial = this.#serial >= 0xffffffff ? 1 : this.#serial + 1;
    return this.#serial;
  }

  #receive(chunk: Buffer): void {
    try {
      for (const bytes of this.#splitter.push(chunk)) {
        const message = decodeMessage(bytes);
        if (message && !this.#closed) this.#handle(message);
      }
    } catch (error) {
      // After an invalid message the position of the next one is unknown.
      this.#close(error instanceof Error ? error : new Error(messageOf(error)));
    }
  }

  #handle(message: Message): void {
    if (message.kind === "signal") return this.#o.onSignal(message);
    if (message.kind === "call") return this.#rejectCall(message);
    const pending = this.#pending.get(message.replySerial ?? 0);
    // A reply may arrive after the call was aborted or timed out.
    if (!pending) return;
    if (message.kind === "return") return pending.resolve(message.body);
    const [text] = message.body;
    pending.reject(new DBusError(message.errorName ?? "", typeof text === "string" ? text : ""));
  }

  /** This client exports no objects, but a caller must not wait for a reply that never comes. */
  #rejectCall({ serial, sender, member }: Message): void {
    this.#socket.write(
      encodeMessage({
        kind: "error",
        serial: this.#nextSerial(),
        replySerial: serial,
        ...(sender === undefined ? {} : { destination: sender }),
        errorName: "org.freedesktop.DBus.Error.UnknownMethod",
        signature: "s",
        body: [`there is no method ${member ?? ""}`],
      }),
    );
  }

  #close(error: Error): void {
    if (this.#closed) return;
    this.#closed = error;
    this.#socket.destroy();
    for (const pending of [...this.#pending.values()]) pending.reject(lost(error));
    this.#o.onClose(error);
  }
}

function lost(cause: Error): KubeletError {
  return new KubeletError(disconnected, `D-Bus connection lost: ${cause.message}`, { cause });
}

/**
 * SASL EXTERNAL: the peer knows the user of the process from the socket. Resolves with the bytes that followed the
 * handshake; the socket is paused then.
 */
function authenticate(socket: Socket, uid: number): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    let received = Buffer.alloc(0);
    const settle = (done: () => void) => {
      socket.off("data", onData).off("error", onError).off("close", onClose).pause();
      done();
    };
    const fail = (why: string, cause?: unknown) =>
      settle(() => reject(new KubeletError("DBusAuthentication", `D-Bus authentication: ${why}`, { cause })));
    const onData = (chunk: Buffer) => {
      received = Buffer.concat([received, chunk]);
      const end = received.indexOf(lineEnd);
      if (end < 0 && received.length > maxLine) return fail("the response is not a line");
      if (end < 0) return;
      const line = received.toString("latin1", 0, end);
      if (!/^OK(?: |$)/.test(line)) return fail(`user ${uid} was rejected: ${line}`);
      socket.write(`BEGIN${lineEnd}`);
      settle(() => resolve(received.subarray(end + lineEnd.length)));
    };
    const onError = (error: Error) => fail(error.message, error);
    const onClose = () => fail("the connection was closed");
    socket.on("data", onData).on("error", onError).on("close", onClose).resume();
    socket.write(`\0AUTH EXTERNAL ${Buffer.from(String(uid)).toString("hex")}${lineEnd}`);
  });
}
