import { createServer, type Server, type Socket } from "node:net";
import { decodeMessage, encodeMessage, type Message, MessageSplitter } from "../dbus/message.ts";
import type { DBusValue } from "../dbus/value.ts";

export interface FakeCall {
  readonly member: string;
  readonly body: readonly DBusValue[];
}

/** The result of a method: values, an error, or a job with its result. */
export type FakeReply =
  | { readonly signature: string; readonly body: readonly DBusValue[] }
  | { readonly error: string }
  | { readonly job: string }
  /** The connection is closed instead. */
  | "disconnect";

/** The private socket of systemd, with the methods that the client uses. */
export class FakeSystemd {
  readonly calls: FakeCall[] = [];
  /** "done" for all jobs, nothing for the other methods. */
  reply: (call: FakeCall) => FakeReply | undefined = () => undefined;
  /** Sends JobRemoved before the reply with the job's path, as far as the protocol allows. */
  signalFirst = false;
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  #serial = 0;
  #job = 0;

  constructor() {
    this.#server = createServer((socket) => this.#serve(socket));
  }

  listen(path: string): Promise<void> {
    return new Promise((resolve) => this.#server.listen(path, resolve));
  }

  async close(): Promise<void> {
    this.disconnect();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  disconnect(): void {
    for (const socket of this.#sockets) socket.destroy();
  }

  #serve(socket: Socket): void {
    this.#sockets.add(socket);
    socket.on("close", () => this.#sockets.delete(socket)).on("error", () => {});
    const splitter = new MessageSplitter();
    let text = Buffer.alloc(0);
    let authenticated = false;
    socket.on("data", (chunk) => {
      if (!authenticated) {
        text = Buffer.concat([text, chunk]);
        if (text.includes("AUTH EXTERNAL") && !text.includes("BEGIN"))
          socket.write("OK 0123456789abcdef\r\n");
        const begin = text.indexOf("BEGIN\r\n");
        if (begin < 0) return;
        authenticated = true;
        chunk = text.subarray(begin + "BEGIN\r\n".length);
      }
      for (const bytes of splitter.push(chunk)) {
        const message = decodeMessage(bytes);
        if (message) this.#handle(socket, message);
      }
    });
  }

  #handle(socket: Socket, { serial, member = "", body }: Message): void {
    const call = { member, body };
    this.calls.push(call);
    const reply = this.reply(call) ?? defaultReply(member);
    if (reply === "disconnect") return void socket.destroy();
    const sendReply = (message: Omit<Message, "serial" | "replySerial">) =>
      socket.write(encodeMessage({ serial: ++this.#serial, replySerial: serial, ...message }));
    if ("error" in reply)
      return void sendReply({ kind: "error", errorName: reply.error, signature: "s", body: ["it failed"] });
    if ("signature" in reply) return void sendReply({ kind: "return", ...reply });
    const job = `/org/freedesktop/systemd1/job/${++this.#job}`;
    const removed = () =>
      socket.write(
        encodeMessage({
          kind: "signal",
          serial: ++this.#serial,
          path: "/org/freedesktop/systemd1",
          interface: "org.freedesktop.systemd1.Manager",
          member: "JobRemoved",
          signature: "uoss",
          body: [this.#job, job, String(body[0]), reply.job],
        }),
      );
    const returned = () => sendReply({ kind: "return", signature: "o", body: [job] });
    for (const send of this.signalFirst ? [removed, returned] : [returned, removed]) send();
  }
}

function defaultReply(member: string): FakeReply {
  if (member === "Get") return { signature: "v", body: [{ signature: "s", value: "252.38-1~deb12u1" }] };
  return /^(?:Start|Stop)/.test(member) ? { job: "done" } : { signature: "", body: [] };
}
