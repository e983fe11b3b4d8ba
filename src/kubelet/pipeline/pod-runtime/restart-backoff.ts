import { type Clock, monotonicOf } from "../../../lib/base/clock.ts";
import {
  earliest,
  epochMs,
  type MonotonicTime,
  msBetween,
  plusMs,
  type WallTime,
} from "../../../lib/base/time.ts";
import type { ContainerId } from "../../../lib/clients/cri/cri.ts";
import type { Container, Pod, PodUid } from "../../../lib/model/pod.ts";
import type { ObservedContainer } from "../../state/observed-pods.ts";

interface Entry {
  delayMs: number;
  updatedAt: MonotonicTime;
}

export interface RestartDelays {
  initialMs: number;
  maxMs: number;
}

interface Replaced {
  id: ContainerId;
  previous: ObservedContainer | undefined;
}

/** How long after a restart it is remembered. */
const keptMs = 600_000;

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
 * How long a container that keeps ending has to wait: nothing the first time, then 10 s doubling up to the limit, from
 * the end of the container; nothing again 10 minutes after the last restart. What an agent before us counted is taken
 * from the attempt.
 *
 * One that we ended to replace it is first judged by the container that had ended before it, as nothing else has ended
 * when that is decided. If none had, it is replaced at once and not counted. If that one allows no start yet, its own end
 * counts.
 */
export class RestartBackoff {
  readonly #initialMs: number;
  readonly #maxMs: number;
  readonly #clock: Clock;
  #entries = new Map<string, Entry>();
  /** By "uid/name/": when containers ended. Noted when they are first judged: the wall clock may be set meanwhile. */
  #ends = new Map<string, Map<ContainerId, MonotonicTime>>();
  /** By "uid/name/": the container that we ended and is to be judged by another. */
  #replaced = new Map<string, Replaced>();

  constructor(clock: Clock, maxMs: number, initialMs = 10_000) {
    this.#clock = clock;
    this.#initialMs = Math.min(initialMs, maxMs);
    this.#maxMs = maxMs;
  }

  /** This container is being ended so that another takes its place; `previous` is the last of its name that ended before. */
  replacing(
    uid: PodUid,
    { id, name }: Pick<ObservedContainer, "id" | "name">,
    previous?: ObservedContainer,
  ): void {
    this.#replaced.set(`${uid}/${name}/`, { id, previous });
  }

  /** Undefined if it may be restarted at once. `hash`: what a container of the spec as it is now would have. */
  restartAt(key: string, ended: ObservedContainer, hash: string = ended.hash): MonotonicTime | undefined {
    const replaced = this.#replacedBy(key, ended);
    if (replaced) {
      const { previous } = replaced;
      if (!previous || !this.#until(key, previous, ended, hash)) return undefined;
      this.#replaced.delete(containerPart(key));
    }
    return this.#until(key, ended, ended, hash);
  }

  /** The delay that applies to the container as it ended, for messages. */
  delayMs(key: string): number {
    return this.#entries.get(key)?.delayMs ?? 0;
  }

  /** The container is started again at this moment. */
  restarted(key: string, ended: ObservedContainer): void {
    const now = this.#clock.monotonic();
    const replaced = this.#replacedBy(key, ended);
    const part = containerPart(key);
    this.#replaced.delete(part);
    // The next one may be judged by this one.
    this.#ends.set(part, new Map([[ended.id, this.#endOf(key, ended)]]));
    if (replaced && !replaced.previous) return;
    const entry = this.#entries.get(key);
    const isFirst = !entry || msBetween(entry.updatedAt, now) >= keptMs;
    const delayMs = isFirst ? this.#initialMs : Math.min(entry.delayMs * 2, this.#maxMs);
    // What the container was before it changed will not come back.
    if (!entry) this.#drop(part);
    this.#entries.set(key, { delayMs, updatedAt: now });
  }

  get size(): number {
    return this.#entries.size + this.#replaced.size + this.#ends.size;
  }

  forget(prefix: string): void {
    this.#drop(prefix);
    for (const map of [this.#replaced, this.#ends])
      for (const key of map.keys()) if (key.startsWith(prefix)) map.delete(key);
  }

  #drop(prefix: string): void {
    for (const key of this.#entries.keys()) if (key.startsWith(prefix)) this.#entries.delete(key);
  }

  #replacedBy(key: string, { id }: ObservedContainer): Replaced | undefined {
    const replaced = this.#replaced.get(containerPart(key));
    return replaced?.id === id ? replaced : undefined;
  }

  /** Undefined if that has passed. `last`: the newest container of the name, which `judged` may be. */
  #until(
    key: string,
    judged: ObservedContainer,
    last: ObservedContainer,
    hash: string,
  ): MonotonicTime | undefined {
    const entry = this.#entries.get(key) ?? this.#seed(key, judged, last, hash);
    if (!entry) return undefined;
    const until = earliest(plusMs(this.#endOf(key, judged), entry.delayMs), plusMs(entry.updatedAt, keptMs));
    return until <= this.#clock.monotonic() ? undefined : until;
  }

  /** Not in the future, whatever the clocks say: nobody waits longer than the delay. */
  #endOf(key: string, { id, finishedAt }: ObservedContainer): MonotonicTime {
    const part = containerPart(key);
    const ends = this.#ends.get(part) ?? new Map<ContainerId, MonotonicTime>();
    this.#ends.set(part, ends);
    const end = ends.get(id) ?? monotonicOf(this.#clock, finishedAt);
    ends.set(id, end);
    return end;
  }

  #seed(key: string, judged: ObservedContainer, last: ObservedContainer, hash: string): Entry | undefined {
    if (judged.attempt === 0 || judged.hash !== hash) return undefined;
    const prefix = containerPart(key);
    // Known under another key: it has changed, and starts afresh.
    for (const other of this.#entries.keys()) if (other.startsWith(prefix)) return undefined;
    const delayMs = Math.min(this.#initialMs * 2 ** Math.min(judged.attempt - 1, 20), this.#maxMs);
    const entry = { delayMs, updatedAt: monotonicOf(this.#clock, startOf(last)) };
    this.#entries.set(key, entry);
    return entry;
  }
}

/** One that could not be started has no time of that. */
function startOf({ startedAt, createdAt }: ObservedContainer): WallTime {
  return epochMs(startedAt) > 0 ? startedAt : createdAt;
}

/** "uid/name/" of a key. */
function containerPart(key: string): string {
  return key.split("/").slice(0, 2).concat("").join("/");
}
