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

/** The back-off of a container is reset this long after its last restart. */
const resetMs = 600_000;

/** The delays by configuration and gates (KubeletCrashLoopBackOffMax, ReduceDefaultCrashLoopBackOffDecay). */
export function restartDelays(options: {
  maxContainerRestartPeriodMs?: number;
  crashLoopBackOffMax: boolean;
  reducedDecay: boolean;
}): RestartDelays {
  const initialMs = options.reducedDecay ? 1000 : 10_000;
  const defaultMs = options.reducedDecay ? 60_000 : 300_000;
  const maxMs = (options.crashLoopBackOffMax ? options.maxContainerRestartPeriodMs : undefined) ?? defaultMs;
  return { initialMs: Math.min(initialMs, maxMs), maxMs };
}

/** The key of the back-off: a container with another image or other resources starts without a delay. */
export function restartKey(pod: Pod, { name, image, resources }: Container): string {
  return `${pod.metadata.uid}/${name}/${image ?? ""}/${JSON.stringify(resources ?? {})}`;
}

/**
 * The restart delay of a container that keeps exiting: none the first time, then 10 s doubling up to the limit, from the exit of the
 * container; none again 10 minutes after the last restart. After a restart of the agent the delay is derived from the attempt.
 *
 * A container that was stopped to be replaced has not exited yet when its delay is decided: the exit of the container before it counts
 * first. Without one it is replaced immediately and not counted. If that exit allows no start yet, its own exit is used.
 */
export class RestartBackoff {
  readonly #initialMs: number;
  readonly #maxMs: number;
  readonly #clock: Clock;
  #entries = new Map<string, Entry>();
  /** When containers exited, by "uid/name/". The times are recorded at the first check, because the wall clock may be set later. */
  #ends = new Map<string, Map<ContainerId, MonotonicTime>>();
  /** The container that was stopped to be replaced, and the one before it, by "uid/name/". */
  #replaced = new Map<string, Replaced>();

  constructor(clock: Clock, maxMs: number, initialMs = 10_000) {
    this.#clock = clock;
    this.#initialMs = Math.min(initialMs, maxMs);
    this.#maxMs = maxMs;
  }

  /** This container is being stopped to be replaced; `previous` is the last of its name that exited before. */
  replacing(
    uid: PodUid,
    { id, name }: Pick<ObservedContainer, "id" | "name">,
    previous?: ObservedContainer,
  ): void {
    this.#replaced.set(`${uid}/${name}/`, { id, previous });
  }

  /** Undefined if it may be restarted immediately. `hash`: the hash of the current spec. */
  restartAt(key: string, exited: ObservedContainer, hash: string = exited.hash): MonotonicTime | undefined {
    const replaced = this.#replacedBy(key, exited);
    if (replaced) {
      const { previous } = replaced;
      if (!previous || !this.#until(key, previous, exited, hash)) return undefined;
      this.#replaced.delete(containerPart(key));
    }
    return this.#until(key, exited, exited, hash);
  }

  /** The delay that applies to the exited container, for messages. */
  delayMs(key: string): number {
    return this.#entries.get(key)?.delayMs ?? 0;
  }

  /** The container is started again at this moment. */
  restarted(key: string, exited: ObservedContainer): void {
    const now = this.#clock.monotonic();
    const replaced = this.#replacedBy(key, exited);
    const part = containerPart(key);
    this.#replaced.delete(part);
    // The exit of this one may affect the next.
    this.#ends.set(part, new Map([[exited.id, this.#endOf(key, exited)]]));
    if (replaced && !replaced.previous) return;
    const entry = this.#entries.get(key);
    const isFirst = !entry || msBetween(entry.updatedAt, now) >= resetMs;
    const delayMs = isFirst ? this.#initialMs : Math.min(entry.delayMs * 2, this.#maxMs);
    // The spec has changed: the back-off of the old spec no longer applies.
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

  /** The end of the back-off; undefined if it has passed. `last`: the newest container of that name. It may be the same as `exited`. */
  #until(
    key: string,
    exited: ObservedContainer,
    last: ObservedContainer,
    hash: string,
  ): MonotonicTime | undefined {
    const entry = this.#entries.get(key) ?? this.#seed(key, exited, last, hash);
    if (!entry) return undefined;
    const until = earliest(plusMs(this.#endOf(key, exited), entry.delayMs), plusMs(entry.updatedAt, resetMs));
    return until <= this.#clock.monotonic() ? undefined : until;
  }

  /** Never in the future, regardless of the clocks: no wait is longer than the delay. */
  #endOf(key: string, { id, finishedAt }: ObservedContainer): MonotonicTime {
    const part = containerPart(key);
    const ends = this.#ends.get(part) ?? new Map<ContainerId, MonotonicTime>();
    this.#ends.set(part, ends);
    const end = ends.get(id) ?? monotonicOf(this.#clock, finishedAt);
    ends.set(id, end);
    return end;
  }

  #seed(key: string, exited: ObservedContainer, last: ObservedContainer, hash: string): Entry | undefined {
    if (exited.attempt === 0 || exited.hash !== hash) return undefined;
    const prefix = containerPart(key);
    // Known under another key: the spec has changed, so there is no delay.
    for (const other of this.#entries.keys()) if (other.startsWith(prefix)) return undefined;
    const delayMs = Math.min(this.#initialMs * 2 ** Math.min(exited.attempt - 1, 20), this.#maxMs);
    const entry = { delayMs, updatedAt: monotonicOf(this.#clock, startOf(last)) };
    this.#entries.set(key, entry);
    return entry;
  }
}

/** A container that could not be started has no start time. */
function startOf({ startedAt, createdAt }: ObservedContainer): WallTime {
  return epochMs(startedAt) > 0 ? startedAt : createdAt;
}

/** "uid/name/" of a key. */
function containerPart(key: string): string {
  return key.split("/").slice(0, 2).concat("").join("/");
}
