import type { IncomingMessage, ServerResponse } from "node:http";
import type { Duplex } from "node:stream";

/** The subresource of the node for which the permission to call a route is checked. */
export interface RouteAttributes {
  readonly verb: string;
  /** The finest first; one of them is enough. */
  readonly subresources: readonly string[];
}

export interface Caller {
  readonly name: string;
  readonly groups: readonly string[];
}

/** One request, to one who may make it. */
export interface Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly params: Readonly<Record<string, string>>;
  readonly query: URLSearchParams;
  /** Aborted when the caller has gone, or the server stops. */
  readonly signal: AbortSignal;
  readonly caller: Caller;
}

/** A request to turn the connection into something else. `response` still answers it in plain HTTP. */
export interface UpgradeExchange extends Exchange {
  readonly socket: Duplex;
  /** What has already been read behind the request's head. */
  readonly head: Buffer;
}

export interface Route {
  readonly method: string;
  /** "/containerLogs/{namespace}/{pod}/{container}"; a last "{path...}" takes all the rest, slashes and nothing included. */
  readonly path: string;
  /** True if the same path with a slash at its end is another, which is not there. */
  readonly exact?: boolean;
  readonly attributes: (params: Readonly<Record<string, string>>) => RouteAttributes;
  handle(exchange: Exchange): Promise<void>;
  upgrade?(exchange: UpgradeExchange): Promise<void>;
}
