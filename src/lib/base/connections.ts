import type { Server } from "node:http";
import type { Socket } from "node:net";

/** How long a connection is idle before the kernel sends keep-alive probes. */
const keepAliveAfterMs = 120_000;

/**
 * The open connections. When the connection limit is reached, the longest-idle connection is closed for a new one; if
 * none is idle, the new one is rejected. So many silent connections do not keep out an active client. A part of the limit may be
 * reserved for preferred clients, whose connections are not closed for others.
 */
export class Connections {
  readonly #limit: number;
  readonly #reserved: number;
  /** The connections that may not use the reserved part. */
  readonly #others = new Set<Socket>();
  /** The longest-idle is first. */
  readonly #idle = new Set<Socket>();
  readonly #busy = new Map<Socket, number>();
  /** Busy connections that do not count, with the number of their requests. */
  readonly #exempt = new Map<Socket, number>();

  /** Whether a busy connection that is not exempt may be closed for a new one, if none is idle. */
  readonly #closesBusy: boolean;

  constructor(limit: number, { reserved = 0, closesBusy = false } = {}) {
    this.#limit = limit;
    this.#reserved = reserved;
    this.#closesBusy = closesBusy;
  }

  get size(): number {
    return this.#idle.size + this.#busy.size;
  }

  get idle(): Iterable<Socket> {
    return this.#idle;
  }

  /** False: it was rejected. */
  add(socket: Socket, isPreferred = true): boolean {
    const othersAreFull = !isPreferred && this.#others.size >= this.#limit - this.#reserved;
    if (othersAreFull || this.size - this.#exempt.size >= this.#limit) {
      const longest = this.#longestIdle(isPreferred) ?? this.#longestBusy();
      if (!longest) {
        socket.destroy();
        return false;
      }
      this.remove(longest);
      longest.destroy();
    }
    this.#idle.add(socket);
    if (!isPreferred) this.#others.add(socket);
    socket.once("close", () => this.remove(socket));
    // A client that follows a silent log and loses power never closes its connection: without this it would stay open
    // forever.
    socket.setKeepAlive(true, keepAliveAfterMs);
    return true;
  }

  /** After the TLS handshake another socket object represents the same connection. */
  replace(oldSocket: Socket, newSocket: Socket): void {
    if (!this.#idle.delete(oldSocket)) return void newSocket.destroy();
    this.#idle.add(newSocket);
    if (this.#others.delete(oldSocket)) this.#others.add(newSocket);
    newSocket.once("close", () => this.remove(newSocket));
  }

  remove(socket: Socket): void {
    this.#idle.delete(socket);
    this.#busy.delete(socket);
    this.#exempt.delete(socket);
    this.#others.delete(socket);
  }

  /** Connections that may not use the reserved part come first. */
  #longestIdle(mayBePreferred: boolean): Socket | undefined {
    for (const socket of this.#idle) if (this.#others.has(socket)) return socket;
    const [longest] = this.#idle;
    return mayBePreferred ? longest : undefined;
  }

  #longestBusy(): Socket | undefined {
    if (!this.#closesBusy) return undefined;
    for (const socket of this.#busy.keys()) if (!this.#exempt.has(socket)) return socket;
    return undefined;
  }

  /**
   * The connection does not count against the limit until the returned function is called: it is a stream of a client that may have it, which
   * can be open for days.
   */
  exempt(socket: Socket): () => void {
    if (!this.#busy.has(socket)) return () => {};
    this.#exempt.set(socket, (this.#exempt.get(socket) ?? 0) + 1);
    let ended = false;
    return () => {
      const count = this.#exempt.get(socket);
      if (ended || count === undefined) return;
      ended = true;
      if (count > 1) this.#exempt.set(socket, count - 1);
      else this.#exempt.delete(socket);
    };
  }

  /** A request is in progress on it, maybe one of several. Returns a function that ends it. */
  busy(socket: Socket): () => void {
    if (!this.#idle.has(socket) && !this.#busy.has(socket)) return () => {};
    this.#idle.delete(socket);
    this.#busy.set(socket, (this.#busy.get(socket) ?? 0) + 1);
    let ended = false;
    return () => {
      const count = this.#busy.get(socket);
      if (ended || count === undefined) return;
      ended = true;
      if (count > 1) this.#busy.set(socket, count - 1);
      else {
        this.#busy.delete(socket);
        this.#idle.add(socket);
      }
    };
  }

  all(): Socket[] {
    return [...this.#idle, ...this.#busy.keys()];
  }
}

/** For a plain HTTP/1.1 server that does not manage its connections otherwise. `closesBusy`: a busy connection only waits until its client reads. */
export function limitConnections(server: Server, limit: number, { closesBusy = false } = {}): void {
  const connections = new Connections(limit, { closesBusy });
  server.on("connection", (socket: Socket) => {
    if (connections.add(socket)) socket.on("error", () => {});
  });
  server.on("request", ({ socket }, response) => {
    response.once("close", connections.busy(socket));
  });
}
