import { whenAborted } from "../../../lib/base/abort.ts";
import { type Clock, msSince } from "../../../lib/base/clock.ts";
import { KubeletError } from "../../../lib/base/errors.ts";
import type { Logger } from "../../../lib/base/logger.ts";
import { runPeriodically } from "../../../lib/base/run-periodically.ts";
import type { MonotonicTime } from "../../../lib/base/time.ts";
import { within } from "../../../lib/base/wait.ts";
import type { Change } from "../../../lib/clients/kube/store.ts";
import { type ApiObject, notFound, notRegistered } from "./api-object.ts";
import type { ObjectChange, ObjectStore } from "./object-store.ts";
import { ObjectWatch } from "./object-watch.ts";
import { type ObjectRef, refKey } from "./objects-of.ts";
import type { ObjectApi } from "./uncached-objects.ts";

export interface WatchedObjectsOptions {
  api: ObjectApi;
  clock: Clock;
  logger: Logger;
  /** How long `get` waits for the first list of its object. */
  firstListMs: number;
  /** A watch is stopped if its object was not requested for this long and is in no volume (`isLive`). */
  idleMs: number;
  isLive: (key: string) => boolean;
  onChange: (change: ObjectChange) => void;
}

interface Entry {
  readonly ref: ObjectRef;
  requestedAt: MonotonicTime;
  watch: ObjectWatch | undefined;
  /** An immutable object needs no watch. */
  final: ApiObject | undefined;
  /** A caller has received the object or an error. */
  served: boolean;
}

const idleCheckMs = 60_000;

/** Keeps each object that pods refer to up to date with its own watch. */
export class WatchedObjects implements ObjectStore {
  readonly #o: WatchedObjectsOptions;
  readonly #entries = new Map<string, Entry>();
  readonly #running = new Set<Promise<void>>();
  #state: "new" | "running" | "ended" = "new";
  #idleLoop: Promise<void> = Promise.resolve();

  constructor(options: WatchedObjectsOptions) {
    this.#o = options;
  }

  /** The objects that are watched. */
  get watched(): string[] {
    return [...this.#entries].filter(([, entry]) => entry.watch).map(([key]) => key);
  }

  get done(): Promise<unknown> {
    return this.#idleLoop.then(() => Promise.all(this.#running));
  }

  start(signal: AbortSignal): void {
    this.#state = "running";
    for (const entry of this.#entries.values()) this.#watch(entry);
    whenAborted(signal, () => this.#endAll());
    const { clock } = this.#o;
    const round = async () => this.#endIdle();
    this.#idleLoop = runPeriodically(round, { clock, everyMs: idleCheckMs, signal, onError: () => {} });
  }

  addReference(ref: ObjectRef): void {
    const key = refKey(ref);
    if (this.#entries.has(key)) return;
    const entry: Entry = {
      ref,
      requestedAt: this.#o.clock.monotonic(),
      watch: undefined,
      final: undefined,
      served: false,
    };
    this.#entries.set(key, entry);
    this.#watch(entry);
  }

  drop(ref: ObjectRef): void {
    const key = refKey(ref);
    const entry = this.#entries.get(key);
    this.#entries.delete(key);
    entry?.watch?.stop();
  }

  async get(ref: ObjectRef, signal: AbortSignal): Promise<ApiObject> {
    for (;;) {
      signal.throwIfAborted();
      const entry = this.#entries.get(refKey(ref));
      if (!entry) throw notRegistered(ref);
      entry.requestedAt = this.#o.clock.monotonic();
      if (entry.final) return entry.final;
      const watch = this.#watch(entry);
      if (watch && !(await this.#firstList(entry, watch, signal))) continue;
      entry.served = true;
      const object = watch?.current ?? entry.final;
      if (object) return object;
      throw watch ? notFound(ref) : this.#notInTime(ref);
    }
  }

  /** The watch of the entry, started if there is none; undefined before start and after stop. */
  #watch(entry: Entry): ObjectWatch | undefined {
    if (entry.watch || entry.final || this.#state !== "running") return entry.watch;
    const { api, clock, logger } = this.#o;
    const watch = new ObjectWatch(entry.ref, {
      api,
      clock,
      logger,
      onChange: (change) => this.#changed(entry, change),
    });
    entry.watch = watch;
    const run = watch.run().finally(() => this.#running.delete(run));
    this.#running.add(run);
    return watch;
  }

  /** False if the watch was stopped in the meantime: it was replaced, the object is immutable, or no pod refers to it. */
  async #firstList(entry: Entry, watch: ObjectWatch, signal: AbortSignal): Promise<boolean> {
    if (watch.hasSynced) return true;
    const { clock, firstListMs: ms } = this.#o;
    const either = AbortSignal.any([signal, watch.stopped]);
    const timeoutError = () => {
      entry.served = true;
      return this.#notInTime(entry.ref);
    };
    try {
      await within({ clock, ms, signal: either, timeoutError }, () => watch.synced);
      return true;
    } catch (error) {
      if (watch.stopped.aborted && !signal.aborted) return false;
      throw error;
    }
  }

  #notInTime({ kind }: ObjectRef): KubeletError {
    const what = kind.toLowerCase();
    return new KubeletError("NotSynced", `failed to sync ${what} cache: timed out waiting for the condition`);
  }

  #changed(entry: Entry, change: Change<ApiObject>): void {
    const { kind, namespace, name } = entry.ref;
    if (change.type === "deleted") return this.#o.onChange({ kind, namespace, name });
    const { object } = change;
    if (object.immutable) {
      entry.final = object;
      entry.watch?.stop();
      entry.watch = undefined;
    }
    // No caller has an older version, and waiting callers are about to get this one.
    if (entry.served) this.#o.onChange({ kind, namespace, name, object });
  }

  #endIdle(): void {
    const { clock, idleMs, isLive, logger } = this.#o;
    for (const [key, entry] of this.#entries) {
      // Do not cancel a first list that a busy API server is working on.
      if (!entry.watch?.hasSynced || msSince(clock, entry.requestedAt) <= idleMs || isLive(key)) continue;
      entry.watch.stop();
      entry.watch = undefined;
      logger.debug(4, "Stopped watching unreferenced object", { object: key });
    }
  }

  #endAll(): void {
    this.#state = "ended";
    for (const entry of this.#entries.values()) {
      entry.watch?.stop();
      entry.watch = undefined;
    }
  }
}
