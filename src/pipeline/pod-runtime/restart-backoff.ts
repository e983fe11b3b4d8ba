import type { Container, Pod } from "../../model/pod.ts";
import type { ObservedContainer } from "../../state/observed-pods.ts";

interface Entry {
  delayMs: number;
  updatedAt: number;
}

export interface RestartDelays {
  initialMs: number;
  maxMs: number;
}

/** A container that ran for longer than this before it ended has run well. */
const longEnoughMs = 600_000;

/** The delays that configuration and gates (KubeletCrashLoopBackOffMax, ReduceDefaultCrashLoopBackOffDecay) ask for. */
export function restartDelays(options: {
  maxContainerRestartPeriodMs?: number;
  crashLoopBackOffMax: boolean;
  reducedDecay: boolean;
}): RestartDelays {
  const initialMs = options.reducedDecay ? 1000 : 10_000;
  const usualMs = options.reducedDecay ? 60_000 : 300_000;
  const maxMs = (options.crashLoopBackOffMax ? options.maxContainerRestartPeriodMs : undefined) ?? usualMs;
  return { initialMs: Math.min(initialMs, maxMs), maxMs };
}

/** What is counted together: a container that gets another image or other resources starts afresh. */
export function restartKey(pod: Pod, { name, image, resources }: Container): string {
  return `${pod.metadata.uid}/${name}/${image ?? ""}/${JSON.stringify(resources ?? {})}`;
}

/**
 * How long a container that keeps ending has to wait: nothing the first time, then 10 s doubling up to the limit,
 * and nothing again after it ran for long enough. What an agent before us counted is taken from the attempt.
 */
export class RestartBackoff {
  readonly #initialMs: number;
  readonly #maxMs: number;
  #entries = new Map<string, Entry>();

  constructor(maxMs: number, initialMs = 10_000) {
    this.#initialMs = Math.min(initialMs, maxMs);
    this.#maxMs = maxMs;
  }

  /** 0 if it may be restarted at once. `hash`: what a container of the spec as it is now would have. */
  restartAt(key: string, ended: ObservedContainer, hash: string = ended.hash): number {
    const entry = this.#entries.get(key) ?? this.#seed(key, ended, hash);
    if (!entry || ranWell(entry, ended)) return 0;
    return ended.finishedAt + entry.delayMs;
  }

  /** The delay that applies to the container as it ended, for messages. */
  delayMs(key: string): number {
    return this.#entries.get(key)?.delayMs ?? 0;
  }

  /** The container is started again at this moment. */
  restarted(key: string, ended: ObservedContainer, now: number): void {
    const entry = this.#entries.get(key);
    const delayMs =
      !entry || ranWell(entry, ended) ? this.#initialMs : Math.min(entry.delayMs * 2, this.#maxMs);
    // What the container was before it changed will not come back.
    if (!entry) this.forget(containerPart(key));
    this.#entries.set(key, { delayMs, updatedAt: now });
  }

  get size(): number {
    return this.#entries.size;
  }

  forget(prefix: string): void {
    for (const key of this.#entries.keys()) if (key.startsWith(prefix)) this.#entries.delete(key);
  }

  #seed(key: string, ended: ObservedContainer, hash: string): Entry | undefined {
    if (ended.attempt === 0 || ended.hash !== hash) return undefined;
    const prefix = containerPart(key);
    // Known under another key: it has changed, and starts afresh.
    for (const other of this.#entries.keys()) if (other.startsWith(prefix)) return undefined;
    const delayMs = Math.min(this.#initialMs * 2 ** Math.min(ended.attempt - 1, 20), this.#maxMs);
    const entry = { delayMs, updatedAt: ended.startedAt || ended.createdAt };
    this.#entries.set(key, entry);
    return entry;
  }
}

function ranWell(entry: Entry, ended: ObservedContainer): boolean {
  return ended.finishedAt - entry.updatedAt > longEnoughMs;
}

/** "uid/name/" of a key. */
function containerPart(key: string): string {
  return key.split("/").slice(0, 2).concat("").join("/");
}
