import type { IncomingMessage, ServerResponse } from "node:http";
import type { Duplex } from "node:stream";

/** The subresource of the node for which the permission to call a route is checked. */
export interface RouteAttributes {
  readonly verb: string;
  /** The most specific first; one of them is sufficient. */
  readonly subresources: readonly string[];
}

export interface Caller {
  readonly name: string;
  readonly groups: readonly string[];
}

/** An authorized request. */
export interface Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly params: Readonly<Record<string, string>>;
  readonly query: URLSearchParams;
  /** Aborted when the client disconnects, or the server stops. */
  readonly signal: AbortSignal;
  readonly caller: Caller;
}

/** An upgrade request. `response` can still send a plain HTTP response. */
export interface UpgradeExchange extends Exchange {
  readonly socket: Duplex;
  /** Data that was already read after the request head. */
  readonly head: Buffer;
}

export interface Route {
  readonly method: string;
  /** "/containerLogs/{namespace}/{pod}/{container}"; a last "{path...}" matches the rest, including slashes, and may be empty. */
  readonly path: string;
  /** True if the handler authenticates and authorizes each request itself. */
  readonly checksAccess?: true;
  /** True if a request for the path with a trailing slash gets "not found". */
  readonly exact?: boolean;
  readonly attributes: (params: Readonly<Record<string, string>>) => RouteAttributes;
  handle(exchange: Exchange): Promise<void>;
  upgrade?(exchange: UpgradeExchange): Promise<void>;
}
