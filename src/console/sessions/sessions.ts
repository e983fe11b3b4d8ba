import type { Clock } from "../../lib/base/clock.ts";
import { epochMs, type MonotonicTime, plusMs } from "../../lib/base/time.ts";
import type { ConsoleUser } from "../../lib/model/console-node.ts";
import { newSecret, secretHash } from "./secrets.ts";

/** A browser that is logged in. */
export interface ConsoleSession {
  readonly user: ConsoleUser;
  /** True if it was started by a link, which only root can request: its user may do everything. */
  readonly isLocal: boolean;
  /** Sent by the page with each change; other sites cannot read it. */
  readonly csrf: string;
  /** Known to the page only, which resumes a kept session with it. */
  readonly resumeKey: string;
  /** Wall-clock time in milliseconds, for display. */
  readonly expiresAt: number;
  /** Aborted when the session ends. */
  readonly ended: AbortSignal;
}

interface Stored {
  readonly session: ConsoleSession;
  readonly expiry: MonotonicTime;
  readonly end: AbortController;
  readonly cancelExpiry: () => void;
}

const maxSessions = 64;

/** The sessions, in memory only. */
export class Sessions {
  readonly #clock: Clock;
  /** By key, the oldest first. */
  readonly #sessions = new Map<string, Stored>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** The value of the cookie. When there are too many sessions, the oldest ends: that of the same user, if there is one. */
  create(
    user: ConsoleUser,
    o: { isLocal: boolean; validMs: number },
  ): { id: string; session: ConsoleSession } {
    if (this.#sessions.size >= maxSessions) this.#endOldest(user);
    const id = newSecret();
    const end = new AbortController();
    const session: ConsoleSession = {
      ...{ user, isLocal: o.isLocal, csrf: newSecret(), resumeKey: newSecret(), ended: end.signal },
      expiresAt: epochMs(plusMs(this.#clock.wall(), o.validMs)),
    };
    const expiry = plusMs(this.#clock.monotonic(), o.validMs);
    const key = secretHash(id);
    // Open streams end with it.
    const cancelExpiry = this.#clock.after(o.validMs, () => this.#end(key));
    this.#sessions.set(key, { session, expiry, end, cancelExpiry });
    return { id, session };
  }

  /** Undefined if there is none, or it has expired. */
  get(id: string): ConsoleSession | undefined {
    const key = secretHash(id);
    const stored = this.#sessions.get(key);
    if (stored && this.#clock.monotonic() >= stored.expiry) this.#end(key);
    return this.#sessions.get(key)?.session;
  }

  end(id: string): void {
    this.#end(secretHash(id));
  }

  endAll(): void {
    for (const key of [...this.#sessions.keys()]) this.#end(key);
  }

  #end(key: string): void {
    const stored = this.#sessions.get(key);
    this.#sessions.delete(key);
    stored?.cancelExpiry();
    stored?.end.abort();
  }

  #endOldest({ name }: ConsoleUser): void {
    const all = [...this.#sessions];
    const [key] = all.find(([, { session }]) => session.user.name === name) ?? all[0] ?? [];
    if (key !== undefined) this.#end(key);
  }
}
