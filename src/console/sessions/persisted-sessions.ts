import { createHmac, timingSafeEqual } from "node:crypto";
import { readFileSync } from "node:fs";
import type { Clock } from "../../lib/base/clock.ts";
import { messageOf } from "../../lib/base/errors.ts";
import type { Logger } from "../../lib/base/logger.ts";
import { epochMs } from "../../lib/base/time.ts";
import { replaceDurably } from "../../lib/host/durable-file.ts";
import { newSecret, secretHash } from "./secrets.ts";

const maxPersisted = 64;

interface PersistedSession {
  /** The hash of the cookie. */
  readonly id: string;
  /** The page has it in memory and never sends it. */
  readonly resumeKey: string;
  /** Wall-clock time in milliseconds. */
  readonly expiresAt: number;
}

/**
 * Sessions that a page may resume after a restart of the agent, in a file that only root can read. The cookie is not sufficient: while the
 * agent is down, another process may listen on its port, and the browser sends the cookie to it. The page proves that it has the session's key,
 * for this run of the agent and this origin, without sending the key.
 */
export class PersistedSessions {
  readonly #path: string;
  readonly #clock: Clock;
  readonly #logger: Logger;
  /** New for each run: a proof for another run has no value. */
  readonly challenge = newSecret();
  #persisted: readonly PersistedSession[];
  #isClosed = false;
  #written: Promise<void> = Promise.resolve();

  constructor(o: { readonly path: string; readonly clock: Clock; readonly logger: Logger }) {
    this.#path = o.path;
    this.#clock = o.clock;
    this.#logger = o.logger;
    this.#persisted = readPersisted(o.path);
  }

  has(cookie: string): boolean {
    return this.#find(cookie) !== undefined;
  }

  /** Resolves when the session is in the file. */
  async add(cookie: string, { resumeKey, expiresAt }: Omit<PersistedSession, "id">): Promise<void> {
    const added = { id: secretHash(cookie), resumeKey, expiresAt };
    this.#persisted = [...this.#valid(), added].slice(-maxPersisted);
    await this.#write();
  }

  /** By the hash of the cookie. Resolves when the file is written. */
  async remove(id: string): Promise<void> {
    if (this.#isClosed || !this.#persisted.some((persisted) => persisted.id === id))
      return await this.#written;
    this.#persisted = this.#valid().filter((persisted) => persisted.id !== id);
    await this.#write();
  }

  /** When the session expires, if the proof is right. A session is resumed once: the page gets another cookie. */
  async resume(cookie: string, proof: string, origin: string): Promise<number | undefined> {
    const persisted = this.#find(cookie);
    if (!persisted || !isEqual(proof, resumeProof(persisted.resumeKey, this.challenge, origin)))
      return undefined;
    await this.remove(persisted.id);
    return persisted.expiresAt;
  }

  /** Keeps the file as it is: the sessions end with the agent, and their pages resume them. */
  close(): void {
    this.#isClosed = true;
  }

  #find(cookie: string): PersistedSession | undefined {
    const id = secretHash(cookie);
    return this.#valid().find((persisted) => persisted.id === id);
  }

  #valid(): PersistedSession[] {
    const now = epochMs(this.#clock.wall());
    return this.#persisted.filter(({ expiresAt }) => now < expiresAt);
  }

  #write(): Promise<void> {
    this.#written = this.#written.then(() =>
      replaceDurably(this.#path, `${JSON.stringify(this.#persisted)}\n`, 0o600).catch((error: unknown) =>
        this.#logger.warn("Failed to store console sessions, they end with the kubelet", {
          path: this.#path,
          err: messageOf(error),
        }),
      ),
    );
    return this.#written;
  }
}

/** The page computes the same. */
export function resumeProof(resumeKey: string, challenge: string, origin: string): string {
  return createHmac("sha256", resumeKey).update(`${challenge} ${origin}`).digest("hex");
}

function isEqual(a: string, b: string): boolean {
  return timingSafeEqual(Buffer.from(secretHash(a)), Buffer.from(secretHash(b)));
}

/** None if the file does not exist, or is not one of ours. */
function readPersisted(path: string): PersistedSession[] {
  try {
    const all: unknown = JSON.parse(readFileSync(path, "utf8"));
    return Array.isArray(all) ? all.filter(isPersisted).slice(-maxPersisted) : [];
  } catch {
    return [];
  }
}

function isPersisted(value: unknown): value is PersistedSession {
  const { id, resumeKey, expiresAt } = (value ?? {}) as Partial<Record<keyof PersistedSession, unknown>>;
  return (
    typeof id === "string" &&
    typeof resumeKey === "string" &&
    resumeKey !== "" &&
    typeof expiresAt === "number"
  );
}
