import { type IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { whenAborted } from "../../../lib/base/abort.ts";
import { isAbort, messageOf } from "../../../lib/base/errors.ts";
import type { Logger } from "../../../lib/base/logger.ts";
import { anonymous } from "../auth/identity.ts";
import { type AccessFilter, attributesOf } from "../auth/node-access.ts";
import { HttpError } from "../http-error.ts";
import { replyText } from "../replies.ts";
import type { Exchange, Route } from "../route.ts";
import type { RequestMetrics } from "./request-metrics.ts";
import { requestTarget } from "./request-target.ts";
import type { RouteTable } from "./route-table.ts";
import { type ServerTracing, tracedExchange } from "./traced-exchange.ts";

export interface DispatcherOptions {
  readonly table: RouteTable;
  readonly access: AccessFilter;
  readonly metrics: RequestMetrics;
  readonly logger: Logger;
  readonly tracing?: ServerTracing | undefined;
}

export interface RequestContext {
  /** Aborts the request. */
  readonly stop: AbortSignal;
  /** Notified when an authenticated client was authorized. */
  readonly admitted?: () => void;
}

interface Upgrade {
  readonly socket: Socket;
  readonly head: Buffer;
}

/** Dispatches each request to its route, after authentication and authorization. An error affects that request only. */
export class Dispatcher {
  readonly #o: DispatcherOptions;

  constructor(options: DispatcherOptions) {
    this.#o = options;
  }

  /** Resolves when the request has completed; never rejects. */
  serve(request: IncomingMessage, response: ServerResponse, context: RequestContext): Promise<void> {
    return this.#handle(request, response, context);
  }

  /** An upgrade request. If its route has no upgrade, it is handled as a plain request. */
  async upgrade(request: IncomingMessage, upgrade: Upgrade, context: RequestContext): Promise<void> {
    const { socket } = upgrade;
    const response = new ServerResponse(request);
    response.shouldKeepAlive = false;
    try {
      response.assignSocket(socket);
    } catch {
      // An earlier request of this connection is still in progress: it cannot be upgraded before that.
      return void socket.destroy();
    }
    response.on("finish", () => socket.destroySoon());
    await this.#handle(request, response, context, upgrade);
  }

  async #handle(
    request: IncomingMessage,
    response: ServerResponse,
    { stop, admitted }: RequestContext,
    upgrade?: Upgrade,
  ): Promise<void> {
    const target = requestTarget(request.url);
    const method = request.method ?? "";
    const over = this.#o.metrics.start(method, target.kind === "path" ? target.path : "");
    const disconnected = new AbortController();
    const onDisconnect = () => disconnected.abort();
    const side = upgrade?.socket ?? response;
    side.once("close", onDisconnect);
    using _ = whenAborted(stop, onDisconnect);
    try {
      // The parser still accepts a line without a version as a request: HTTP/0.9 has been obsolete for thirty years.
      if (target.kind === "bad" || request.httpVersionMajor < 1)
        throw new HttpError(400, "400 Bad Request\n");
      if (target.kind === "redirect") return redirect(response, target.to);
      const { path, query } = target;
      const signal = disconnected.signal;
      await this.#route({ request, response, query, signal }, path, { upgrade, admitted });
    } catch (error) {
      this.#replyError(request, response, error, upgrade);
    } finally {
      side.off("close", onDisconnect);
      over();
    }
  }

  async #route(
    parts: Omit<Exchange, "params" | "caller">,
    path: string,
    { upgrade, admitted }: { upgrade: Upgrade | undefined; admitted: RequestContext["admitted"] },
  ): Promise<void> {
    const { request } = parts;
    const method = request.method ?? "";
    const found = this.#o.table.find(method, path);
    if (found.kind === "unknown") throw new HttpError(404, "404 page not found\n");
    // A route for all methods cannot distinguish which of them is requested.
    const attributes =
      found.kind === "route" && found.route.method !== "*"
        ? found.route.attributes(found.params)
        : attributesOf(method, path);
    const checksAccess = found.kind === "route" && found.route.checksAccess === true;
    const caller = checksAccess ? anonymous : await this.#o.access.authorize(request, attributes);
    if (caller.name !== anonymous.name) admitted?.();
    switch (found.kind) {
      case "missing":
        throw new HttpError(404, "404: Page Not Found");
      case "method": {
        const headers = { allow: found.allow.join(", ") };
        throw new HttpError(405, "405: Method Not Allowed", { headers });
      }
      case "redirect":
        return redirect(parts.response, `${encodeURI(found.to)}${searchOf(parts.query)}`);
      case "route": {
        const exchange = { ...parts, params: found.params, caller };
        const { tracing } = this.#o;
        if (!tracing) return await act(found.route, exchange, upgrade);
        return await tracedExchange(tracing, found.route.path, exchange, () =>
          act(found.route, exchange, upgrade),
        );
      }
      default:
        return found satisfies never;
    }
  }

  #replyError(request: IncomingMessage, response: ServerResponse, error: unknown, upgrade?: Upgrade): void {
    const httpError = error instanceof HttpError ? error : undefined;
    if (!httpError && !isAbort(error))
      this.#o.logger.error("Request failed", { path: request.url?.slice(0, 200), err: messageOf(error) });
    const isUpgraded =
      upgrade !== undefined && upgrade.socket.bytesWritten > (written.get(upgrade.socket) ?? 0);
    if (response.headersSent || isUpgraded) {
      // Too late for an error message: closing the connection is the only way left to signal that something is missing.
      (upgrade?.socket ?? response).destroy();
      return;
    }
    const text = httpError?.message ?? `${messageOf(error)}\n`;
    const status = httpError?.status ?? (isAbort(error) ? 503 : 500);
    replyText(response, status, text, httpError?.headers);
  }
}

/** How many bytes a connection had sent before its upgrade. */
const written = new WeakMap<Socket, number>();

export function noteWritten(socket: Socket): void {
  written.set(socket, socket.bytesWritten);
}

async function act(route: Route, exchange: Exchange, upgrade: Upgrade | undefined): Promise<void> {
  if (upgrade && route.upgrade) await route.upgrade({ ...exchange, ...upgrade });
  else await route.handle(exchange);
}

function redirect(response: ServerResponse, to: string): void {
  replyText(response, 307, "", { location: to });
}

function searchOf(query: URLSearchParams): string {
  const search = query.toString();
  return search === "" ? "" : `?${search}`;
}
