import type { IncomingMessage } from "node:http";
import { whenAborted } from "../lib/base/abort.ts";
import type { Clock } from "../lib/base/clock.ts";
import { epochMs } from "../lib/base/time.ts";
import type { ConsoleExchange, ConsoleNode } from "./console-node.ts";
import { readJson } from "./http/body.ts";
import { ConsoleProblem } from "./http/problem.ts";
import { replyJson } from "./http/response-headers.ts";
import type { ApiRoute } from "./http/routes.ts";
import { mayDo } from "./permissions.ts";
import {
  consolePath,
  type Login,
  type LoginInfo,
  type LoginRequest,
  loginFragment,
  type Session,
} from "./protocol.ts";
import { OneTimeTokens } from "./sessions/one-time-tokens.ts";
import { type PersistedSessions, runKey } from "./sessions/persisted-sessions.ts";
import { newSecret } from "./sessions/secrets.ts";
import { keyOf } from "./sessions/session-key.ts";
import { type ConsoleSession, Sessions } from "./sessions/sessions.ts";

const linkValidMs = 30 * 60_000;
const localSessionMs = 12 * 3_600_000;
/** A session ends after this time, because its token or certificate may have been revoked. */
const userSessionMs = 3_600_000;

/** Logs browsers in and out, by link, client certificate or bearer token, and finds their sessions by key. */
export class Logins {
  readonly #node: ConsoleNode;
  readonly #tokens: OneTimeTokens;
  readonly #sessions: Sessions;
  readonly #clock: Clock;
  readonly #persisted: PersistedSessions | undefined;
  #isRestored = false;
  /** The routes that require a session. */
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
          this.#sessions.end(keyOf(request.headers, false) ?? "");
          // The session is no longer in the file when the page reads this.
          await this.#persisted?.written();
          response.writeHead(204).end();
        },
      },
    ];
  }

  link(): string {
    return `${consolePath}/${loginFragment}${this.#tokens.create()}`;
  }

  /** Undefined without a valid key. */
  find({ headers }: IncomingMessage, isUpgrade: boolean): ConsoleSession | undefined {
    this.#restore();
    return this.#sessions.get(keyOf(headers, isUpgrade) ?? "");
  }

  require(request: IncomingMessage, isUpgrade: boolean): ConsoleSession {
    const session = this.find(request, isUpgrade);
    if (session) return session;
    throw this.#unauthenticated("not logged in, or the session has expired");
  }

  /** `POST /console/api/login` */
  async logIn({ request, response }: ConsoleExchange): Promise<void> {
    this.#restore();
    const { token } = (await readJson(request, 4096)) as Partial<LoginRequest>;
    const login = token === undefined ? await this.#byCredentials(request) : await this.#byLink(token);
    replyJson(response, 200, login);
  }

  stop(): void {
    this.#persisted?.close();
    this.#tokens.clear();
    this.#sessions.endAll();
  }

  async #byCredentials(request: IncomingMessage): Promise<Login> {
    const user = await this.#node.access?.authenticate(request);
    if (!user) throw this.#unauthenticated("no valid client certificate or bearer token");
    if (!(await mayDo(this.#node, { isLocal: false, user }, "read")))
      throw new ConsoleProblem("forbidden", `${user.name} may not read this node (get nodes/proxy)`);
    const key = newSecret();
    const session = this.#sessions.create(key, user, { isLocal: false, validMs: userSessionMs });
    return { key, resumeKey: null, session: await this.#describe(session) };
  }

  async #byLink(token: unknown): Promise<Login> {
    if (!this.#tokens.use(String(token)))
      throw this.#unauthenticated("this link was used before, or has expired");
    if (!this.#persisted) {
      const key = newSecret();
      return { key, resumeKey: null, session: await this.#describe(this.#startLocal(key, localSessionMs)) };
    }
    const resumeKey = newSecret();
    const { key, session } = this.#startPersisted(resumeKey, localSessionMs);
    await this.#persisted.add({ resumeKey, expiresAt: session.expiresAt });
    return { key, resumeKey, session: await this.#describe(session) };
  }

  /** The sessions of the previous run, once: when the port, and with it the origin, is known. */
  #restore(): void {
    if (this.#isRestored) return;
    this.#isRestored = true;
    for (const { resumeKey, expiresAt } of this.#persisted?.valid() ?? []) {
      // The wall clock may have been set back.
      const validMs = Math.min(localSessionMs, expiresAt - epochMs(this.#clock.wall()));
      this.#startPersisted(resumeKey, validMs);
    }
  }

  #startPersisted(resumeKey: string, validMs: number): { key: string; session: ConsoleSession } {
    const [origin = ""] = this.#node.origins();
    const key = runKey(resumeKey, this.#persisted?.challenge ?? "", origin);
    const session = this.#startLocal(key, validMs);
    whenAborted(session.ended, () => void this.#persisted?.remove(resumeKey));
    return { key, session };
  }

  #startLocal(key: string, validMs: number): ConsoleSession {
    const user = { name: "root (link)", groups: [] };
    return this.#sessions.create(key, user, { isLocal: true, validMs });
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
      expiresAt: session.expiresAt,
      may,
      readOnlyBecause: canChange ? denied : whyReadOnly,
    };
  }

  #unauthenticated(message: string): ConsoleProblem {
    const { access, linkCommand: command } = this.#node;
    const login: LoginInfo = {
      method: access ? "token" : "link",
      command,
      ...(this.#persisted && { challenge: this.#persisted.challenge }),
    };
    return new ConsoleProblem("unauthenticated", message, { login });
  }
}
