import type { IncomingMessage, ServerResponse } from "node:http";
import type { Clock } from "../lib/base/clock.ts";
import { epochMs } from "../lib/base/time.ts";
import { whenAborted } from "../lib/base/when-aborted.ts";
import type { ConsoleExchange, ConsoleNode } from "../lib/model/console-node.ts";
import { readJson } from "./http/body.ts";
import { ConsoleProblem } from "./http/problem.ts";
import { reply, replyJson } from "./http/response-headers.ts";
import type { ApiRoute } from "./http/routes.ts";
import { mayDo } from "./permissions.ts";
import { consolePath, type LoginInfo, type Session } from "./protocol.ts";
import { cookieHeader, cookieName, readCookie } from "./sessions/cookie.ts";
import { OneTimeTokens } from "./sessions/one-time-tokens.ts";
import type { PersistedSessions } from "./sessions/persisted-sessions.ts";
import { secretHash } from "./sessions/secrets.ts";
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
  readonly #clock: Clock;
  readonly #persisted: PersistedSessions | undefined;
  /** With a session. */
  readonly routes: readonly ApiRoute[];

  /** Without `persisted`, sessions end with the agent. */
  constructor(node: ConsoleNode, clock: Clock, persisted?: PersistedSessions) {
    this.#node = node;
    this.#clock = clock;
    this.#persisted = persisted;
    this.#tokens = new OneTimeTokens(clock, linkValidMs);
    this.#sessions = new Sessions(clock);
    this.routes = [
      // Handled before a session is required.
      { method: "POST", path: "login", action: undefined },
      { method: "POST", path: "resume", action: undefined },
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
          const cookie = this.#cookie(request) ?? "";
          this.#sessions.end(cookie);
          await this.#persisted?.remove(secretHash(cookie));
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
    throw this.#unauthenticated(request, "not logged in, or the session has expired");
  }

  /** `GET /console/login?token=…` */
  async useLink({ request, response }: ConsoleExchange, query: URLSearchParams): Promise<void> {
    // A browser that only loads pages in advance must not use up the link.
    const isPrefetch = /prefetch|prerender/.test(String(request.headers["sec-purpose"] ?? ""));
    if (isPrefetch || !this.#tokens.use(query.get("token") ?? ""))
      return reply(response, 401, "text/html; charset=utf-8", expiredPage(this.#node.linkCommand));
    await this.#startLocal(response, localSessionMs);
    reply(response, 303, "text/plain; charset=utf-8", "", { location: "/console/" });
  }

  /** `POST /console/api/login` */
  async logIn({ request, response }: ConsoleExchange): Promise<void> {
    await readJson(request, 4096);
    const user = await this.#node.access?.authenticate(request);
    if (!user) throw this.#unauthenticated(request, "no valid client certificate or bearer token");
    if (!(await mayDo(this.#node, { isLocal: false, user }, "read")))
      throw new ConsoleProblem("forbidden", `${user.name} may not read this node (get nodes/proxy)`);
    const { id, session } = this.#sessions.create(user, { isLocal: false, validMs: userSessionMs });
    this.#setCookie(response, id, userSessionMs);
    replyJson(response, 200, await this.#describe(session));
  }

  /** `POST /console/api/resume`: a page whose session was started by a link continues after a restart of the agent. */
  async resume({ request, response }: ConsoleExchange): Promise<void> {
    const { proof } = await readJson(request, 4096);
    const origin = (request.headers.origin ?? "").toLowerCase();
    const expiresAt = await this.#persisted?.resume(this.#cookie(request) ?? "", String(proof), origin);
    if (expiresAt === undefined) throw this.#unauthenticated(request, "the session has ended");
    // The wall clock may have been set back.
    const validMs = Math.min(localSessionMs, expiresAt - epochMs(this.#clock.wall()));
    replyJson(response, 200, await this.#describe(await this.#startLocal(response, validMs)));
  }

  stop(): void {
    this.#persisted?.close();
    this.#tokens.clear();
    this.#sessions.endAll();
  }

  async #startLocal(response: ServerResponse, validMs: number): Promise<ConsoleSession> {
    const user = { name: "root (link)", groups: [] };
    const { id, session } = this.#sessions.create(user, { isLocal: true, validMs });
    await this.#persisted?.add(id, session);
    const key = secretHash(id);
    whenAborted(session.ended, () => void this.#persisted?.remove(key));
    this.#setCookie(response, id, validMs);
    return session;
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
      resumeKey: this.#persisted && session.isLocal ? session.resumeKey : null,
      expiresAt: session.expiresAt,
      may,
      readOnlyBecause: canChange ? denied : whyReadOnly,
    };
  }

  #unauthenticated(request: IncomingMessage, message: string): ConsoleProblem {
    const { access, linkCommand: command } = this.#node;
    const canResume = this.#persisted?.has(this.#cookie(request) ?? "");
    const login: LoginInfo = {
      ...{ method: access ? "token" : "link", command },
      ...(canResume && { challenge: this.#persisted?.challenge }),
    };
    return new ConsoleProblem("unauthenticated", message, { login });
  }

  #cookie(request: IncomingMessage): string | undefined {
    return readCookie(request.headers, this.#cookieName());
  }

  #cookieName(): string {
    return cookieName(this.#node.origins()[0] ?? "http://localhost");
  }

  #setCookie(response: ServerResponse, id: string | undefined, validMs: number): void {
    const secure = this.#node.origins()[0]?.startsWith("https:") ?? true;
    const header = cookieHeader(this.#cookieName(), id, { maxAgeSeconds: Math.ceil(validMs / 1000), secure });
    response.setHeader("set-cookie", header);
  }
}

function expiredPage(command: string): string {
  const escaped = command.replace(/[<>&"]/g, (character) => `&#${character.charCodeAt(0)};`);
  return `<!doctype html><html lang="en"><meta charset="utf-8"><title>Link expired</title>
<h1>This link was used before, or has expired</h1><p>Run <code>${escaped}</code> for a new one.</p></html>
`;
}
