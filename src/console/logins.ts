import type { IncomingMessage, ServerResponse } from "node:http";
import type { Clock } from "../lib/base/clock.ts";
import type { ConsoleExchange, ConsoleNode } from "../lib/model/console-node.ts";
import { readJson } from "./http/body.ts";
import { ConsoleProblem } from "./http/problem.ts";
import { reply, replyJson } from "./http/response-headers.ts";
import type { ApiRoute } from "./http/routes.ts";
import { consolePath, type LoginInfo, type Session } from "./protocol.ts";
import { mayDo } from "./rights.ts";
import { cookieHeader, cookieName, readCookie } from "./sessions/cookie.ts";
import { OneTimeTokens } from "./sessions/one-time-tokens.ts";
import { type ConsoleSession, Sessions } from "./sessions/sessions.ts";

const linkValidMs = 30 * 60_000;
const localSessionMs = 12 * 3_600_000;
/** A token or a certificate may be revoked: then the user cannot log in again. */
const userSessionMs = 3_600_000;

/** Logs browsers in and out, by link, client certificate or bearer token, and finds their sessions by cookie. */
export class Logins {
  readonly #node: ConsoleNode;
  readonly #tokens: OneTimeTokens;
  readonly #sessions: Sessions;
  /** With a session. */
  readonly routes: readonly ApiRoute[];

  constructor(node: ConsoleNode, clock: Clock) {
    this.#node = node;
    this.#tokens = new OneTimeTokens(clock, linkValidMs);
    this.#sessions = new Sessions(clock);
    this.routes = [
      // Handled before a session is required.
      { method: "POST", path: "login", action: undefined },
      {
        method: "GET",
        path: "session",
        action: "read",
        handle: async ({ session, response }) => replyJson(response, 200, await this.#describe(session)),
      },
      {
        method: "POST",
        path: "logout",
        action: undefined,
        handle: async ({ request, response }) => {
          this.#sessions.end(this.#cookie(request) ?? "");
          this.#setCookie(response, undefined, 0);
          response.writeHead(204).end();
        },
      },
    ];
  }

  link(): string {
    return `${consolePath}/login?token=${this.#tokens.create()}`;
  }

  /** Undefined without a valid cookie. */
  find(request: IncomingMessage): ConsoleSession | undefined {
    return this.#sessions.get(this.#cookie(request) ?? "");
  }

  require(request: IncomingMessage): ConsoleSession {
    const session = this.find(request);
    if (session) return session;
    throw new ConsoleProblem("unauthenticated", "not logged in, or the session has expired", {
      login: this.#loginInfo(),
    });
  }

  /** `GET /console/login?token=…` */
  useLink({ request, response }: ConsoleExchange, query: URLSearchParams): void {
    // A browser that only loads pages in advance must not use up the link.
    const isPrefetch = /prefetch|prerender/.test(String(request.headers["sec-purpose"] ?? ""));
    if (isPrefetch || !this.#tokens.use(query.get("token") ?? ""))
      return reply(response, 401, "text/html; charset=utf-8", expiredPage(this.#node.linkCommand));
    const user = { name: "root (link)", groups: [] };
    const { id } = this.#sessions.create(user, { isLocal: true, validMs: localSessionMs });
    this.#setCookie(response, id, localSessionMs);
    reply(response, 303, "text/plain; charset=utf-8", "", { location: "/console/" });
  }

  /** `POST /console/api/login` */
  async logIn({ request, response }: ConsoleExchange): Promise<void> {
    await readJson(request, 4096);
    const user = await this.#node.access?.authenticate(request);
    if (!user)
      throw new ConsoleProblem("unauthenticated", "no valid client certificate or bearer token", {
        login: this.#loginInfo(),
      });
    if (!(await mayDo(this.#node, { isLocal: false, user }, "read")))
      throw new ConsoleProblem("forbidden", `${user.name} may not read this node (get nodes/proxy)`);
    const { id, session } = this.#sessions.create(user, { isLocal: false, validMs: userSessionMs });
    this.#setCookie(response, id, userSessionMs);
    replyJson(response, 200, await this.#describe(session));
  }

  stop(): void {
    this.#tokens.clear();
    this.#sessions.endAll();
  }

  async #describe(session: ConsoleSession): Promise<Session> {
    const { changes, whyReadOnly, name } = this.#node;
    const canChange = changes !== undefined;
    const [exec, apply, deletePods, restart] = await Promise.all(
      (["exec", "apply", "delete", "restart"] as const).map((action) => mayDo(this.#node, session, action)),
    );
    const may = {
      logs: true,
      exec: exec ?? false,
      apply: canChange && (apply ?? false),
      deletePods: canChange && (deletePods ?? false),
      restart: canChange && (restart ?? false),
    };
    const denied = may.apply || may.deletePods || may.restart ? null : `${session.user.name} may only read`;
    return {
      user: session.user.name,
      node: name,
      csrf: session.csrf,
      expiresAt: session.expiresAt,
      may,
      readOnlyBecause: canChange ? denied : whyReadOnly,
    };
  }

  #loginInfo(): LoginInfo {
    return { method: this.#node.access ? "token" : "link", command: this.#node.linkCommand };
  }

  #cookie(request: IncomingMessage): string | undefined {
    return readCookie(request.headers, this.#cookieName());
  }

  #cookieName(): string {
    return cookieName(this.#node.origins()[0] ?? "http://localhost");
  }

  #setCookie(response: ServerResponse, id: string | undefined, validMs: number): void {
    const secure = this.#node.origins()[0]?.startsWith("https:") ?? true;
    const header = cookieHeader(this.#cookieName(), id, { maxAgeSeconds: validMs / 1000, secure });
    response.setHeader("set-cookie", header);
  }
}

function expiredPage(command: string): string {
  const escaped = command.replace(/[<>&"]/g, (character) => `&#${character.charCodeAt(0)};`);
  return `<!doctype html><html lang="en"><meta charset="utf-8"><title>Link expired</title>
<h1>This link was used before, or has expired</h1><p>Run <code>${escaped}</code> for a new one.</p></html>
`;
}
