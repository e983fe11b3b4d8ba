import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { closeSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createConnection, Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import koffi from "koffi";
import { decodeMessage, encodeMessage, type Message, MessageSplitter } from "../dbus/message.ts";
import type { DBusValue } from "../dbus/value.ts";

/** Why tests with a bus are skipped; false if they run. */
export const noBus =
  spawnSync("dbus-daemon", ["--version"]).status === 0 ? false : "dbus-daemon is not installed";

/** A private bus of the D-Bus project. */
export class TestBus {
  readonly dir = mkdtempSync(join(tmpdir(), "bus-test-"));
  readonly socketPath = join(this.dir, "bus");
  #daemon: ChildProcess | undefined;

  async start(): Promise<void> {
    rmSync(this.socketPath, { force: true });
    const args = ["--session", "--nofork", "--nopidfile", `--address=unix:path=${this.socketPath}`];
    this.#daemon = spawn("dbus-daemon", [...args, "--print-address"], {
      stdio: ["ignore", "pipe", "ignore"],
    });
    await once(this.#daemon.stdout!, "data");
  }

  async stop(): Promise<void> {
    const daemon = this.#daemon;
    this.#daemon = undefined;
    if (!daemon) return;
    daemon.kill("SIGKILL");
    await once(daemon, "exit");
  }

  async remove(): Promise<void> {
    await this.stop();
    rmSync(this.dir, { recursive: true, force: true });
  }
}

export interface FakeLock {
  readonly args: readonly DBusValue[];
  /** Set when the holder has closed its descriptor. */
  isReleased: boolean;
}

const login1 = "org.freedesktop.login1";
const manager = { path: "/org/freedesktop/login1", interface: `${login1}.Manager` };

/** logind on a private bus: its locks are pipes, whose other ends the holders have. Also the method of systemd that reloads it. */
export class FakeLogind {
  readonly locks: FakeLock[] = [];
  readonly calls: string[] = [];
  delayMs = 5000;
  isPreparing = false;
  /** Reads the configuration again. */
  onReload: () => void = () => {};
  readonly #socketPath: string;
  #socket: Socket | undefined;
  #serial = 0;
  readonly #replies = new Map<number, () => void>();

  constructor(socketPath: string) {
    this.#socketPath = socketPath;
  }

  get held(): number {
    return this.locks.filter(({ isReleased }) => !isReleased).length;
  }

  /** Resolves when it has its names on the bus. */
  async start(): Promise<void> {
    const socket = createConnection({ path: this.#socketPath });
    this.#socket = socket;
    socket.on("error", () => {});
    const splitter = new MessageSplitter();
    let text: Buffer | undefined = Buffer.alloc(0);
    const agreed = Promise.withResolvers<void>();
    socket.on("data", (chunk) => {
      if (text) {
        text = Buffer.concat([text, chunk]);
        if (!text.includes("AGREE_UNIX_FD\r\n")) return;
        text = undefined;
        return agreed.resolve();
      }
      for (const bytes of splitter.push(chunk)) {
        const message = decodeMessage(bytes);
        if (message) this.#handle(message);
      }
    });
    const user = Buffer.from(String(process.getuid?.() ?? 0)).toString("hex");
    socket.write(`\0AUTH EXTERNAL ${user}\r\nNEGOTIATE_UNIX_FD\r\n`);
    await agreed.promise;
    socket.write("BEGIN\r\n");
    await this.#busCall("Hello", "", []);
    for (const name of [login1, "org.freedesktop.systemd1"])
      await this.#busCall("RequestName", "su", [name, 0]);
  }

  async stop(): Promise<void> {
    const socket = this.#socket;
    if (!socket) return;
    const closed = once(socket, "close");
    socket.destroy();
    await closed;
  }

  /** Begins a shutdown, or cancels it, and sends PrepareForShutdown. */
  prepare(isActive: boolean): void {
    this.isPreparing = isActive;
    this.signal(isActive);
  }

  /** The signal alone, as any user could send it. */
  signal(isActive: boolean): void {
    this.#send({
      kind: "signal",
      ...manager,
      member: "PrepareForShutdown",
      signature: "b",
      body: [isActive],
    });
  }

  #handle(message: Message): void {
    if (message.kind === "return") return this.#replies.get(message.replySerial ?? 0)?.();
    if (message.kind !== "call") return;
    const { member = "", body } = message;
    this.calls.push(member);
    if (member === "Get") return this.#reply(message, "v", [this.#property(String(body[1]))]);
    if (member === "KillUnit") {
      this.onReload();
      return this.#reply(message, "", []);
    }
    if (member !== "Inhibit") return this.#error(message, "org.freedesktop.DBus.Error.UnknownMethod", member);
    if (this.isPreparing)
      return this.#error(
        message,
        `${login1}.OperationInProgress`,
        "The operation inhibition has been requested for is already running",
      );
    this.#inhibit(message);
  }

  #property(name: string): { signature: string; value: DBusValue } {
    if (name === "InhibitDelayMaxUSec") return { signature: "t", value: BigInt(this.delayMs) * 1000n };
    return { signature: "b", value: this.isPreparing };
  }

  #inhibit(call: Message): void {
    const ends = [0, 0];
    pipe(ends);
    const [readEnd = 0, writeEnd = 0] = ends;
    const lock: FakeLock = { args: call.body, isReleased: false };
    this.locks.push(lock);
    new Socket({ fd: readEnd, readable: true, writable: false })
      .on("close", () => {
        lock.isReleased = true;
      })
      .on("error", () => {})
      .unref()
      .resume();
    const bytes = this.#encode({ ...replyTo(call), kind: "return", unixFds: 1, signature: "h", body: [0] });
    // Node.js has the descriptor, its types do not.
    sendWithFd((this.#socket as unknown as { _handle: { fd: number } })._handle.fd, bytes, writeEnd);
    closeSync(writeEnd);
  }

  #busCall(member: string, signature: string, body: readonly DBusValue[]): Promise<void> {
    const bus = { destination: "org.freedesktop.DBus", path: "/org/freedesktop/DBus" };
    return new Promise((resolve) => {
      this.#replies.set(this.#serial + 1, resolve);
      this.#send({ kind: "call", ...bus, interface: "org.freedesktop.DBus", member, signature, body });
    });
  }

  #reply(call: Message, signature: string, body: readonly DBusValue[]): void {
    this.#send({ ...replyTo(call), kind: "return", signature, body });
  }

  #error(call: Message, errorName: string, text: string): void {
    this.#send({ ...replyTo(call), kind: "error", errorName, signature: "s", body: [text] });
  }

  #send(message: Omit<Message, "serial">): void {
    this.#socket?.write(this.#encode(message));
  }

  #encode(message: Omit<Message, "serial">): Buffer {
    return encodeMessage({ serial: ++this.#serial, ...message });
  }
}

/** The delay in a drop-in file of logind, in milliseconds. */
export function delayIn(path: string): number {
  return Number(/^InhibitDelayMaxSec=(\d+)$/m.exec(readFileSync(path, "utf8"))?.[1]) * 1000;
}

function replyTo({ serial, sender }: Message) {
  return { replySerial: serial, ...(sender !== undefined && { destination: sender }) };
}

const libc = koffi.load(null);
const pipe2 = libc.func("int pipe2(_Out_ int *ends, int flags)");
const sendmsg = libc.func("int64 sendmsg(int fd, void *message, int flags)");

function pipe(ends: number[]): void {
  if ((pipe2(ends, 0o2000000) as number) < 0) throw new Error(`pipe2: errno ${koffi.errno()}`);
}

function sendWithFd(socket: number, data: Buffer, fd: number): void {
  const control = Buffer.alloc(24); // struct cmsghdr with one descriptor
  control.writeBigUInt64LE(20n, 0);
  control.writeInt32LE(1, 8);
  control.writeInt32LE(1, 12);
  control.writeInt32LE(fd, 16);
  const vector = Buffer.alloc(16);
  vector.writeBigUInt64LE(koffi.address(data), 0);
  vector.writeBigUInt64LE(BigInt(data.length), 8);
  const message = Buffer.alloc(56);
  message.writeBigUInt64LE(koffi.address(vector), 16);
  message.writeBigUInt64LE(1n, 24);
  message.writeBigUInt64LE(koffi.address(control), 32);
  message.writeBigUInt64LE(BigInt(control.length), 40);
  const sent = Number(sendmsg(socket, message, 0));
  if (sent !== data.length) throw new Error(`sendmsg: ${sent}, errno ${koffi.errno()}`);
}
