import type { Readable } from "node:stream";

export interface Exchange {
  readonly method: string;
  /** With the query. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer | undefined;
  /** Ends the exchange, also while the answer is being read. */
  readonly signal: AbortSignal;
}

export interface HttpResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: Readable;
  /** To be checked when the body has ended: a lost connection may look just like the end of it. */
  isWhole(): boolean;
}

/** The connection was lost before the answer began. */
export class ConnectionLost extends Error {
  /** True if the server has certainly not begun with it, so that anything may be sent again. */
  readonly untouched: boolean;
  /** True if the connection had served before: the server may just have closed an idle one. */
  readonly reused: boolean;
  constructor(message: string, options: { untouched: boolean; reused: boolean; cause?: unknown }) {
    super(message, { cause: options.cause });
    this.name = "ConnectionLost";
    this.untouched = options.untouched;
    this.reused = options.reused;
  }
}

/** One or more connections to the server with the same identity. */
export interface Link {
  readonly protocol: "h2" | "http/1.1";
  /** False when it is full or going away: another one has to be opened. */
  hasCapacity(): boolean;
  exchange(exchange: Exchange): Promise<HttpResponse>;
  /** An exchange timed out: check that the server is alive. */
  suspect(): void;
  /** Takes no new exchanges and goes when those under way have ended. */
  retire(): void;
  destroy(): void;
}
