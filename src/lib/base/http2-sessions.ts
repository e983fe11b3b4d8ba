import type { IncomingMessage } from "node:http";
import type { Http2SecureServer, ServerHttp2Session } from "node:http2";
import type { Socket } from "node:net";
import type { TLSSocket } from "node:tls";
import type { Connections } from "./connections.ts";

interface Session {
  readonly socket: Socket | undefined;
  streams: number;
}

export interface Served {
  readonly socket: Socket;
  readonly inSession: boolean;
  /** Called when the response is sent, the client is gone, or the server waits only for the client and may close its connection for other clients. */
  end(): void;
}

/** The HTTP/2 sessions of a server: each is one connection, and is closed after its idle timeout. */
export class Http2Sessions {
  readonly #connections: Connections;
  readonly #idleMs: number;
  readonly #sessions = new Map<ServerHttp2Session, Session>();
  /** The socket of the last handshake: its session event follows immediately. */
  #newest: Socket | undefined;

  constructor(connections: Connections, idleMs: number) {
    this.#connections = connections;
    this.#idleMs = idleMs;
  }

  follow(server: Http2SecureServer): void {
    server.prependListener("secureConnection", (socket) => {
      socket.on("error", () => {});
      this.#connections.replace(tcpSocketOf(socket), socket);
      this.#newest = socket;
    });
    server.on("session", (session) => this.#begun(session));
    server.on("sessionError", () => {});
  }

  /** A request of either protocol: its connection is busy until the request ends. */
  begin(request: IncomingMessage): Served {
    const http2Session = (request as { stream?: { session?: ServerHttp2Session } }).stream?.session;
    const session = http2Session && this.#sessions.get(http2Session);
    const socket = session?.socket ?? request.socket;
    const idle = this.#connections.busy(socket);
    if (session) session.streams++;
    let hasEnded = false;
    const end = () => {
      if (hasEnded) return;
      hasEnded = true;
      idle();
      // Restart the timeout: it may have expired while a client waited for this response.
      if (session && --session.streams === 0 && !http2Session.closed) http2Session.setTimeout(this.#idleMs);
    };
    return { socket, inSession: session !== undefined, end };
  }

  /** Busy sessions close after their last response, idle connections close now. */
  close(chosen: (socket: Socket) => boolean = () => true): void {
    const ofSessions = new Set([...this.#sessions.values()].map(({ socket }) => socket));
    for (const [session, { socket }] of this.#sessions)
      if (!session.closed && (!socket || chosen(socket))) session.close();
    for (const socket of [...this.#connections.idle])
      if (!ofSessions.has(socket) && chosen(socket)) socket.destroy();
  }

  #begun(session: ServerHttp2Session): void {
    const known: Session = { socket: this.#newest, streams: 0 };
    this.#sessions.set(session, known);
    session.setTimeout(this.#idleMs);
    session.on("timeout", () => {
      if (known.streams === 0) session.close();
    });
    session.on("error", () => {});
    session.on("close", () => this.#sessions.delete(session));
  }
}

/** The connection below a TLS socket, which Node.js has and its types lack. */
export function tcpSocketOf(socket: TLSSocket): Socket {
  return (socket as unknown as { readonly _parent: Socket })._parent;
}
