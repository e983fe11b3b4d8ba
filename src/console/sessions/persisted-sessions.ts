import { createHmac } from "node:crypto";
import { readFileSync } from "node:fs";
import type { Clock } from "../../lib/base/clock.ts";
import { messageOf } from "../../lib/base/errors.ts";
import type { Logger } from "../../lib/base/logger.ts";
import { epochMs } from "../../lib/base/time.ts";
import { CheckpointFile } from "../../lib/host/checkpoint-file.ts";
import { newSecret } from "./secrets.ts";

const maxPersisted = 64;

export interface PersistedSession {
  /** The page has it in memory only, as a key that cannot be exported, and never sends it. */
  readonly resumeKey: string;
  /** Wall-clock time in milliseconds. */
  readonly expiresAt: number;
}

/**
 * Sessions that continue after a restart of the agent, in a file that only root can read. Their keys do not: while the agent is down, another
 * process may listen on its port and receive the key that a page sends. So the page derives a new one from its resume key, for
 * this run of the agent and this origin.
 */
export class PersistedSessions {
  readonly #file: CheckpointFile;
  readonly #clock: Clock;
  /** New for each run: a key that was derived for another run has no value. */
  readonly challenge = newSecret();
  #persisted: readonly PersistedSession[];
  #isClosed = false;

  constructor(o: { readonly path: string; readonly clock: Clock; readonly logger: Logger }) {
    const { path, clock, logger } = o;
    this.#clock = clock;
    this.#persisted = readPersisted(path);
    this.#file = new CheckpointFile({
      path,
      content: () => `${JSON.stringify(this.#persisted)}\n`,
      onError: (error) =>
        logger.warn("Failed to store console sessions, they end with the kubelet", {
          path,
          err: messageOf(error),
        }),
    });
  }

  /** The sessions that have not expired. */
  valid(): readonly PersistedSession[] {
    const now = epochMs(this.#clock.wall());
    return this.#persisted.filter(({ expiresAt }) => now < expiresAt);
  }

  /** Resolves when the session is in the file. */
  async add(added: PersistedSession): Promise<void> {
    this.#persisted = [...this.valid(), added].slice(-maxPersisted);
    await this.#write();
  }

  async remove(resumeKey: string): Promise<void> {
    const rest = this.valid().filter((persisted) => persisted.resumeKey !== resumeKey);
    if (this.#isClosed || rest.length === this.#persisted.length) return;
    this.#persisted = rest;
    await this.#write();
  }

  /** Resolves when the file has the current sessions. */
  async written(): Promise<void> {
    await this.#file.flushed();
  }

  /** Keeps the file as it is: the sessions continue with the next run. */
  close(): void {
    this.#isClosed = true;
  }

  async #write(): Promise<void> {
    await this.#file.save().catch(() => {});
  }
}

/** The key of a session in the run of the agent with this challenge; the page derives the same. */
export function runKey(resumeKey: string, challenge: string, origin: string): string {
  return createHmac("sha256", resumeKey).update(`${challenge} ${origin}`).digest("base64url");
}

/** None if the file does not exist, or is not ours. */
function readPersisted(path: string): PersistedSession[] {
  try {
    const all: unknown = JSON.parse(readFileSync(path, "utf8"));
    return Array.isArray(all) ? all.filter(isPersisted).slice(-maxPersisted) : [];
  } catch {
    return [];
  }
}

function isPersisted(value: unknown): value is PersistedSession {
  const { resumeKey, expiresAt } = (value ?? {}) as Partial<Record<keyof PersistedSession, unknown>>;
  return typeof resumeKey === "string" && resumeKey !== "" && typeof expiresAt === "number";
}
