import type { ServerResponse } from "node:http";
import type { Clock } from "../lib/base/clock.ts";
import { isAbort, messageOf } from "../lib/base/errors.ts";
import type { Logger } from "../lib/base/logger.ts";
import { changeRoutes } from "./change-routes.ts";
import type { ConsoleExchange, ConsoleNode, ConsoleUpgrade, NodeConsole } from "./console-node.ts";
import { ConsoleProblem, notFound } from "./http/problem.ts";
import { type RequestPath, requestPath } from "./http/request-path.ts";
import { reply, replyJson, setSecurityHeaders } from "./http/response-headers.ts";
import { type ApiRoute, findRoute, methodNotAllowed } from "./http/routes.ts";
import { checkHost, checkReader, checkWriter } from "./http/same-origin.ts";
import { StaticFiles } from "./http/static-files.ts";
import { Logins } from "./logins.ts";
import { mayDo, permissionText } from "./permissions.ts";
import { podRoutes } from "./pod-routes.ts";
import { PersistedSessions } from "./sessions/persisted-sessions.ts";
import { removeKey } from "./sessions/session-key.ts";
import { Feed } from "./stream/feed.ts";
import { streamTo } from "./stream/viewer.ts";
import { ViewerLimits } from "./stream/viewer-limits.ts";

export interface ConsoleOptions {
  readonly node: ConsoleNode;
  /** The directory with the files of the page. */
  readonly pageDir: string;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Where sessions that a link started are kept for the next run of the agent; unless set, they end with it. */
  readonly sessionsFile?: string;
}

/** The console of one node: its page, its login, its data and its changes, below /console. */
export function createConsole(o: ConsoleOptions): NodeConsole {
  const { node, clock, logger } = o;
  const feed = new Feed({ node, clock, logger });
  const { sessionsFile: path } = o;
  const persisted = path === undefined ? undefined : new PersistedSessions({ path, clock, logger });
  const logins = new Logins(node, clock, persisted);
  const files = new StaticFiles(o.pageDir);
  const stopping = new AbortController();
  const viewers = new ViewerLimits();
  const stream: ApiRoute = {
    method: "GET",
    path: "stream",
    action: "read",
    async handle(exchange) {
      const { session, request } = exchange;
      const lastId = request.headers["last-event-id"];
      const closed = viewers.add(session);
      await streamTo({
        feed,
        clock,
        exchange,
        sessionEnded: session.ended,
        stopping: stopping.signal,
        lastId: typeof lastId === "string" ? lastId : undefined,
        mayRead: async () => logins.find(request, false) === session && (await mayDo(node, session, "read")),
      }).finally(closed);
    },
  };
  const routes = [stream, ...logins.routes, ...podRoutes(node, feed, clock), ...changeRoutes(node, logger)];

  async function serve(exchange: ConsoleExchange, upgrade?: ConsoleUpgrade): Promise<void> {
    const { request, response } = exchange;
    setSecurityHeaders(response);
    checkHost(request.headers, node.origins());
    const path = requestPath(request.url);
    if (!path) throw notFound();
    const [first] = path.segments;
    if (first === "api") return await serveApi(exchange, path, upgrade);
    const method = request.method ?? "";
    if (method !== "GET" && method !== "HEAD") throw methodNotAllowed(["GET", "HEAD"]);
    if (first === undefined && !path.hasTrailingSlash)
      return reply(response, 308, "text/plain; charset=utf-8", "", { location: "/console/" });
    if (first !== undefined && (first !== "assets" || path.segments.length !== 2)) throw notFound();
    await files.serve(request, response, path.segments.join("/") || "index.html");
  }

  async function serveApi(
    exchange: ConsoleExchange,
    path: RequestPath,
    upgrade?: ConsoleUpgrade,
  ): Promise<void> {
    const { request } = exchange;
    const { headers } = request;
    const { route, params } = findRoute(routes, request.method ?? "", path.segments.slice(1));
    const origins = node.origins();
    if (route.method === "POST" || upgrade) checkWriter(headers, origins);
    else checkReader(headers, origins);
    if (route.path === "login") return await logins.logIn(exchange);
    const session = logins.require(request, upgrade !== undefined);
    if (route.action && !(await mayDo(node, session, route.action)))
      throw new ConsoleProblem(
        "forbidden",
        `${session.user.name} may not do this: ${permissionText(route.action)}`,
      );
    const { query } = path;
    if (route.upgrade) {
      if (!upgrade) throw new ConsoleProblem("bad-request", "this path needs a WebSocket");
      removeKey(request);
      return await route.upgrade({ ...upgrade, session, params, query });
    }
    await route.handle?.({ ...exchange, session, params, query });
  }

  const guarded = async (exchange: ConsoleExchange, upgrade?: ConsoleUpgrade) => {
    try {
      await serve(exchange, upgrade);
    } catch (error) {
      if (exchange.response.headersSent) throw error;
      replyError(exchange.response, error);
      if (!(error instanceof ConsoleProblem) && !isAbort(error) && statusOf(error) === undefined)
        logger.error("Console request failed", {
          path: requestPath(exchange.request.url)?.segments.join("/"),
          err: messageOf(error),
        });
    }
  };
  return {
    handle: (exchange) => guarded(exchange),
    upgrade: (exchange) => guarded(exchange, exchange),
    podChanged: (uid) => feed.podChanged(uid),
    podRemoved: (uid) => feed.podRemoved(uid),
    nodeChanged: () => feed.nodeChanged(),
    event: (event) => feed.event(event),
    link: () => logins.link(),
    stop() {
      // Before the sessions end: a page whose session ends shows the login.
      stopping.abort();
      logins.stop();
      feed.stop();
    },
  };
}

/** The status of an error response of the kubelet API. */
function statusOf(error: unknown): number | undefined {
  const { status } = error as { status?: unknown };
  return typeof status === "number" && status >= 400 && status <= 599 ? status : undefined;
}

function replyError(response: ServerResponse, error: unknown): void {
  if (error instanceof ConsoleProblem) return replyJson(response, error.status, error.body, error.headers);
  const status = statusOf(error) ?? (isAbort(error) ? 503 : 500);
  const code =
    status === 404 ? "not-found" : status === 503 ? "unavailable" : status < 500 ? "bad-request" : "internal";
  const problem = new ConsoleProblem(code, messageOf(error).trim());
  replyJson(response, status, problem.body);
}
