import type { EventEmitter } from "node:events";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { ServerHttp2Stream } from "node:http2";
import type { Duplex } from "node:stream";
import { isAbort, messageOf } from "../../lib/base/errors.ts";
import type { Authenticator } from "../access.ts";
import type { Caller, ConnectRequest } from "../definition.ts";
import type { RestParts } from "./exchange.ts";
import { mustBeAllowed } from "./permission.ts";
import { badRequest, methodNotAllowed, noSuchResource, unauthorized } from "./problems.ts";
import { parsePath, type Target } from "./request-path.ts";
import { type Connection, RequestsInProgress } from "./requests-in-progress.ts";
import { serveResource } from "./resources.ts";
import { ResponseWriter } from "./response-writer.ts";
import { asStatusError, continueTokenOf, type Status, type Subject, statusOf } from "./status.ts";
import { attributesOf, verbOf } from "./verbs.ts";

/** The request and its result, for metrics and logs. */
export interface ServedRequest {
  readonly caller: Caller | undefined;
  readonly verb: string;
  readonly path: string;
  readonly query: string;
  readonly status: number;
}

export interface RestHandlerOptions extends RestParts {
  readonly authenticator: Authenticator;
  /** Serves paths that are not resources; false if the path does not exist. */
  readonly other: (path: string, writer: ResponseWriter, query: URLSearchParams) => Promise<boolean>;
  /** The number of open requests of all callers with limits. */
  readonly limitedRequests: number;
  readonly onRequest?: ((seen: ServedRequest) => void) | undefined;
}

const requestTimeoutMs = 60_000;
const unauthenticated = "system:unauthenticated";

interface Seen {
  caller: Caller | undefined;
  verb: string;
  isCounted: boolean;
}

/** Handles all requests. */
export class RestHandler {
  readonly #o: RestHandlerOptions;
  readonly #open = new Set<AbortController>();
  readonly #inProgress: RequestsInProgress;
  #stopping = false;

  constructor(options: RestHandlerOptions) {
    this.#o = options;
    this.#inProgress = new RequestsInProgress(options.limitsOf, options.limitedRequests);
  }

  /**
   * Serves a request; never throws. False if its caller has no credentials or was rejected: anyone can be that, and nothing limits how many
   * responses they leave unread.
   */
  async serve(request: IncomingMessage, response: ServerResponse): Promise<boolean> {
    const { path, query, text } = splitUrl(request.url ?? "/");
    const writer = new ResponseWriter(request, response, query);
    response.on("error", () => {}); // a client that disconnected is not our error
    const verb = (request.method ?? "").toLowerCase();
    const seen: Seen = { caller: undefined, verb, isCounted: false };
    const controller = this.#begin();
    const onClose = () => controller.abort();
    response.on("close", onClose);
    try {
      // Until the response was read: a client that does not read it keeps it in memory, and its connection.
      await this.#serve(path, query, { writer, controller, seen, closes: response });
    } catch (error) {
      await this.#sendError(writer, error, path, query);
    } finally {
      response.off("close", onClose);
      this.#open.delete(controller);
      this.#log(seen, { path, query: text, status: response.statusCode });
    }
    return seen.isCounted;
  }

  /** Serves a request to upgrade the connection. */
  async upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): Promise<void> {
    const { path, query, text } = splitUrl(request.url ?? "/");
    const seen: Seen = { caller: undefined, verb: "", isCounted: false };
    const controller = this.#begin();
    const onClose = () => controller.abort();
    socket.on("error", () => {}).on("close", onClose);
    let status = 101;
    try {
      const writer = new ResponseWriter(request, noResponse, query);
      const connect: ConnectRequest = { kind: "upgrade", request, socket, head };
      await this.#serve(path, query, { writer, controller, seen, closes: socket, connect });
    } catch (error) {
      const errorStatus = statusOf(asStatusError(error));
      status = errorStatus.code;
      if (!socket.destroyed) socket.end(rawResponse(errorStatus));
    } finally {
      this.#log(seen, { path, query: text, status });
      if (socket.destroyed) this.#open.delete(controller);
      else socket.on("close", () => this.#open.delete(controller));
    }
  }

  /** Ends watches and pending requests. */
  stop(): void {
    this.#stopping = true;
    for (const controller of this.#open) controller.abort();
  }

  #begin(): AbortController {
    const controller = new AbortController();
    if (this.#stopping) controller.abort();
    this.#open.add(controller);
    return controller;
  }

  async #serve(
    path: string,
    query: URLSearchParams,
    o: {
      readonly writer: ResponseWriter;
      readonly controller: AbortController;
      readonly seen: Seen;
      /** Emits "close" when the request no longer uses the connection. */
      readonly closes: EventEmitter;
      readonly connect?: ConnectRequest;
    },
  ): Promise<void> {
    const { authenticator, authorizer, clock } = this.#o;
    const { writer, controller, seen, connect: upgrade } = o;
    const { request } = writer;
    const method = request.method ?? "GET";
    const caller = await authenticator.authenticate(request);
    if (!caller) throw unauthorized();
    seen.caller = caller;
    const target = parsePath(path);
    if (!target) throw badRequest("the path of the request is not well escaped");
    const verb = target.kind === "resource" ? verbOf(method, target, query) : method.toLowerCase();
    seen.verb = verb;
    await mustBeAllowed(authorizer, caller, attributesOf(method, target, verb, query));
    const isLongRunning = this.#isLongRunning(target, verb);
    const hasCredentials = !caller.groups.includes(unauthenticated);
    // Health is checked by callers without credentials, who are all one user.
    if (hasCredentials || target.kind === "resource") {
      const end = this.#inProgress.begin(caller, connectionOf(request), isLongRunning);
      o.closes.once("close", end);
      // The client disconnected in the meantime: the event is over.
      if (controller.signal.aborted) end();
      seen.isCounted = hasCredentials;
    }
    if (target.kind === "other") {
      if (upgrade) throw noSuchResource();
      if (method !== "GET" && method !== "HEAD") throw methodNotAllowed();
      if (!(await this.#o.other(path, writer, query))) throw noSuchResource();
      return;
    }
    if (verb === "") throw methodNotAllowed();
    const cancel = isLongRunning ? () => {} : clock.after(requestTimeoutMs, () => controller.abort());
    const { signal } = controller;
    try {
      await serveResource({ parts: this.#o, target, verb, query, caller, writer, signal }, upgrade);
    } finally {
      cancel();
    }
  }

  /** Watches and connections have no timeout. */
  #isLongRunning(target: Target, verb: string): boolean {
    if (target.kind === "other") return false;
    if (verb === "watch") return true;
    const served = this.#o.dependencies.catalog.find(target.apiVersion, target.resource);
    return served?.definition.subresources?.[target.subresource]?.type === "connect";
  }

  async #sendError(
    writer: ResponseWriter,
    error: unknown,
    path: string,
    query: URLSearchParams,
  ): Promise<void> {
    const { response, request } = writer;
    const problem = asStatusError(error, this.#subject(path));
    if (problem.status === 500 && !isAbort(error))
      this.#o.logger.error("Request failed", { path, query: query.toString(), err: messageOf(error) });
    if (writer.headersSent || response.destroyed) return void response.destroy();
    // An unread body would be parsed as the next request.
    const unread = !request.complete && request.httpVersionMajor === 1;
    const retry = problem.details?.retryAfterSeconds;
    try {
      await writer.object(problem.status, statusOf(problem, continueTokenOf(error)), {
        ...(unread && { connection: "close" }),
        ...(retry !== undefined && { "retry-after": String(retry) }),
      });
      if (isAbort(error)) endUnreadBody(request);
    } catch {
      response.destroy(); // the client has disconnected
    }
  }

  #subject(path: string): Subject | undefined {
    const target = parsePath(path);
    if (target?.kind !== "resource") return undefined;
    const { resource: name, group } = target;
    return { name, group, object: target.name, resource: group ? `${name}.${group}` : name };
  }

  #log({ caller, verb }: Seen, served: Pick<ServedRequest, "path" | "query" | "status">): void {
    const { path, status } = served;
    this.#o.logger.debug(3, "Request", { verb, path, status, user: caller?.name });
    this.#o.onRequest?.({ caller, verb, ...served });
  }
}

/** The connection of a request: the session of HTTP/2, or the socket of HTTP/1.1. */
function connectionOf(request: IncomingMessage): Connection {
  const { stream } = request as { stream?: ServerHttp2Stream };
  return stream?.session ?? request.socket;
}

/** An upgrade has a socket and no response, its handler writes to the socket: nothing else of a response is read. */
const noResponse = { headersSent: false } as unknown as ServerResponse;

function splitUrl(url: string): { path: string; query: URLSearchParams; text: string } {
  const at = url.indexOf("?");
  if (at < 0) return { path: url, query: new URLSearchParams(), text: "" };
  const text = url.slice(at + 1);
  return { path: url.slice(0, at), query: new URLSearchParams(text), text };
}

function rawResponse(status: Status): string {
  const body = `${JSON.stringify(status)}\n`;
  const { retryAfterSeconds } = status.details ?? {};
  return [
    `HTTP/1.1 ${status.code} ${status.reason ?? "Error"}`,
    "Content-Type: application/json",
    `Content-Length: ${Buffer.byteLength(body)}`,
    "Connection: close",
    ...(retryAfterSeconds === undefined ? [] : [`Retry-After: ${retryAfterSeconds}`]),
    "",
    body,
  ].join("\r\n");
}

/**
 * A request that was completed while its body was read: HTTP/2 keeps the stream, and the session, for the rest of the body. No other
 * stream is closed, because the close could overtake the response.
 */
function endUnreadBody(request: IncomingMessage): void {
  const { stream } = request as { stream?: ServerHttp2Stream };
  if (stream && !stream.endAfterHeaders && !request.complete) stream.close();
}
