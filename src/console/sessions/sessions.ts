import type { Clock } from "../../lib/base/clock.ts";
import { epochMs, type MonotonicTime, plusMs } from "../../lib/base/time.ts";
import type { ConsoleUser } from "../console-node.ts";
import { secretHash } from "./secrets.ts";

/** A browser that is logged in. */
export interface ConsoleSession {
  readonly user: ConsoleUser;
  /** True if it was started by a link, which only root can request: its user may do everything. */
  readonly isLocal: boolean;
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

/** The sessions of this run of the agent, in memory only, by the hash of their key. */
export class Sessions {
  readonly #clock: Clock;
  /** The oldest first. */
  readonly #sessions = new Map<string, Stored>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** When there are too many sessions, the oldest session of the same user ends; otherwise the oldest that is not root's. */
  create(key: string, user: ConsoleUser, o: { isLocal: boolean; validMs: number }): ConsoleSession {
    if (this.#sessions.size >= maxSessions) this.#endOldest(user.name, o.isLocal);
    const end = new AbortController();
    const session: ConsoleSession = {
      user,
      isLocal: o.isLocal,
      ended: end.signal,
      expiresAt: epochMs(plusMs(this.#clock.wall(), o.validMs)),
    };
    const expiry = plusMs(this.#clock.monotonic(), o.validMs);
    const hash = secretHash(key);
    // Open streams end with it.
    const cancelExpiry = this.#clock.after(o.validMs, () => this.#end(hash));
    this.#sessions.set(hash, { session, expiry, end, cancelExpiry });
    return session;
  }

  /** Undefined if there is none, or it has expired. */
  get(key: string): ConsoleSession | undefined {
    const hash = secretHash(key);
    const stored = this.#sessions.get(hash);
    if (stored && this.#clock.monotonic() >= stored.expiry) this.#end(hash);
    return this.#sessions.get(hash)?.session;
  }

  end(key: string): void {
    this.#end(secretHash(key));
  }

  endAll(): void {
    for (const hash of [...this.#sessions.keys()]) this.#end(hash);
  }

  #end(hash: string): void {
    const stored = this.#sessions.get(hash);
    this.#sessions.delete(hash);
    stored?.cancelExpiry();
    stored?.end.abort();
  }

  #endOldest(name: string, isLocal: boolean): void {
    const all = [...this.#sessions];
    const [hash] =
      // `isLocal` is compared, too: another user may have the same name as the local root.
      all.find(([, { session }]) => session.user.name === name && session.isLocal === isLocal) ??
      all.find(([, { session }]) => !session.isLocal) ??
      all[0] ??
      [];
    if (hash !== undefined) this.#end(hash);
  }
}
