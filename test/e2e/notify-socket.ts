import { rmSync } from "node:fs";
import { createRequire } from "node:module";

const familyUnix = 1;
const typeDatagram = 2;
const nonBlocking = 0o4000;
const closeOnExec = 0o2000000;

/** The socket of a service manager. Node.js has no unix datagram sockets, so this calls libc. */
export class NotifySocket {
  readonly path: string;
  readonly #fd: number;
  readonly #recv: (fd: number, data: Buffer, size: number, flags: number) => number;
  readonly #close: (fd: number) => number;
  #received: string[] = [];

  constructor(path: string) {
    this.path = path;
    const koffi = createRequire(import.meta.url)("koffi") as typeof import("koffi").default;
    const libc = koffi.load("libc.so.6");
    const socket = libc.func("int socket(int domain, int type, int protocol)");
    const bind = libc.func("int bind(int fd, const void *address, uint32 length)");
    this.#recv = libc.func("int64 recv(int fd, _Out_ void *data, size_t size, int flags)");
    this.#close = libc.func("int close(int fd)");
    this.#fd = socket(familyUnix, typeDatagram | nonBlocking | closeOnExec, 0) as number;
    const name = Buffer.from(path);
    const address = Buffer.concat([Buffer.from([familyUnix, 0]), name, Buffer.alloc(1)]);
    if (this.#fd < 0 || (bind(this.#fd, address, address.length) as number) < 0)
      throw new Error(`cannot listen on ${path}`);
  }

  /** All messages so far. */
  received(): readonly string[] {
    const data = Buffer.alloc(4096);
    for (;;) {
      const length = Number(this.#recv(this.#fd, data, data.length, 0));
      if (length < 0) return this.#received;
      this.#received.push(data.toString("utf8", 0, length));
    }
  }

  close(): void {
    this.#close(this.#fd);
    rmSync(this.path, { force: true });
  }
}
