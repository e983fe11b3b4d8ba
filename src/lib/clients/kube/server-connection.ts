import type { Readable } from "node:stream";

export interface Exchange {
  readonly method: string;
  /** The path and the query. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer | undefined;
  /** Ends the exchange, even while the response is being read. */
  readonly signal: AbortSignal;
}

export interface HttpResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: Readable;
  /** Must be checked at the end of the body: a lost connection may look like the end. */
  isWhole(): boolean;
}

/** The connection was lost before the response started. */
export class ConnectionLost extends Error {
  /** True if the server has certainly not processed the request, so that it can be retried. */
  readonly unprocessed: boolean;
  /** True if the connection was reused: the server may have closed it as idle. */
  readonly reused: boolean;
  constructor(message: string, options: { unprocessed: boolean; reused: boolean; cause?: unknown }) {
    super(message, { cause: options.cause });
    this.name = "ConnectionLost";
    this.unprocessed = options.unprocessed;
    this.reused = options.reused;
  }
}

/** One or more connections to the server with the same identity. */
export interface ServerConnection {
  readonly protocol: "h2" | "http/1.1";
  /** False when it is full or closing: another connection has to be opened. */
  hasCapacity(): boolean;
  exchange(exchange: Exchange): Promise<HttpResponse>;
  /** An exchange timed out: check that the server is alive. */
  suspect(): void;
  /** Accepts no new exchanges and closes when those in progress have ended. */
  retire(): void;
  destroy(): void;
}
