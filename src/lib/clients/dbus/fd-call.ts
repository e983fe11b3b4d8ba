import { closeSync } from "node:fs";
import { type Clock, msFromNow, msUntil, sleep } from "../../base/clock.ts";
import { KubeletError } from "../../base/errors.ts";
import { DBusError, type MethodCall } from "./connection.ts";
import { openFdSocket } from "./fd-socket.ts";
import { decodeMessage, encodeMessage, type Message, MessageSplitter } from "./message.ts";

export interface FdCallOptions {
  /** The socket of a bus. */
  readonly socketPath: string;
  readonly clock: Clock;
  readonly signal?: AbortSignal;
  readonly timeoutMs?: number;
}

const callMs = 25_000;
/** The socket has no events in Node.js; a call takes a few milliseconds. */
const pollMs = 5;
const maxLine = 16_384;
const hello = {
  destination: "org.freedesktop.DBus",
  path: "/org/freedesktop/DBus",
  interface: "org.freedesktop.DBus",
};

/**
 * Calls a method whose reply is a file descriptor, on a connection of its own, which ends with the call. The descriptor belongs to the caller and
 * is closed in child processes.
 */
export async function callForFd(call: MethodCall, o: FdCallOptions): Promise<number> {
  const deadline = msFromNow(o.clock, o.timeoutMs ?? callMs);
  const fds: number[] = [];
  const socket = await openFdSocket(o.socketPath);
  const wait = async () => {
    if (msUntil(o.clock, deadline) <= 0)
      throw new KubeletError("DBusTimeout", `${call.member}: no reply in time`);
    await sleep(o.clock, pollMs, o.signal);
  };
  const send = async (bytes: Buffer) => {
    for (let sent = 0; sent < bytes.length; ) {
      const count = socket.send(bytes.subarray(sent));
      sent += count;
      if (count === 0) await wait();
    }
  };
  const receive = async (): Promise<Buffer> => {
    for (;;) {
      const received = socket.receive();
      if (received) {
        fds.push(...received.fds);
        if (received.bytes.length > 0) return received.bytes;
        throw new KubeletError("DBusDisconnected", `${call.member}: D-Bus connection lost`);
      }
      await wait();
    }
  };
  let taken: number | undefined;
  try {
    const rest = await authenticate(send, receive);
    await send(
      encodeMessage({ kind: "call", serial: 1, signature: "", body: [], ...hello, member: "Hello" }),
    );
    await send(encodeMessage({ kind: "call", serial: 2, signature: "", body: [], ...call }));
    const { signature, body } = await reply(rest, receive);
    const [index] = body;
    taken = signature === "h" ? fds[index as number] : undefined;
    if (taken === undefined)
      throw new KubeletError("InvalidDBusData", `${call.member}: the reply has no file descriptor`);
    return taken;
  } finally {
    socket.close();
    for (const fd of fds) if (fd !== taken) closeSync(fd);
  }
}

type Send = (bytes: Buffer) => Promise<void>;
type Receive = () => Promise<Buffer>;

/** SASL EXTERNAL with file descriptors. Returns what was received after the handshake. */
async function authenticate(send: Send, receive: Receive): Promise<Buffer> {
  let received = Buffer.alloc(0);
  const line = async (expected: RegExp) => {
    while (!received.includes("\r\n")) {
      if (received.length > maxLine) throw unexpected("the response is not a line");
      received = Buffer.concat([received, await receive()]);
    }
    const end = received.indexOf("\r\n");
    const text = received.toString("latin1", 0, end);
    received = received.subarray(end + 2);
    if (!expected.test(text)) throw unexpected(text);
  };
  const user = Buffer.from(String(process.getuid?.() ?? 0)).toString("hex");
  await send(Buffer.from(`\0AUTH EXTERNAL ${user}\r\n`));
  await line(/^OK(?: |$)/);
  await send(Buffer.from("NEGOTIATE_UNIX_FD\r\n"));
  await line(/^AGREE_UNIX_FD$/);
  await send(Buffer.from("BEGIN\r\n"));
  return received;
}

function unexpected(text: string): KubeletError {
  return new KubeletError("DBusAuthentication", `D-Bus authentication: ${text}`);
}

/** The reply to the second call; signals and the reply to Hello are skipped. */
async function reply(rest: Buffer, receive: Receive): Promise<Message> {
  const splitter = new MessageSplitter();
  for (let bytes = rest; ; bytes = await receive())
    for (const one of splitter.push(bytes)) {
      const message = decodeMessage(one);
      if (message?.kind === "error") {
        const [text] = message.body;
        throw new DBusError(message.errorName ?? "", typeof text === "string" ? text : "");
      }
      if (message?.kind === "return" && message.replySerial === 2) return message;
    }
}
