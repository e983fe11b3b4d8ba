import { isDeepStrictEqual } from "node:util";
import type { Clock } from "../../lib/base/clock.ts";
import { messageOf } from "../../lib/base/errors.ts";
import { epochMs } from "../../lib/base/time.ts";
import type { ChangeEvent } from "./change-event.ts";
import { closed, StoreError } from "./errors.ts";
import { type ApiObject, type ObjectKey, type StoredObject, storedObject } from "./object.ts";
import type { Revisions } from "./revisions.ts";

/** The result of a write. */
export type Change =
  | { readonly kind: "put"; readonly object: ApiObject }
  /** `last` is the last state for watchers and the caller, if it differs from the current state. */
  | { readonly kind: "delete"; readonly last?: ApiObject }
  | { readonly kind: "none" };

/** Called with the current object; must be synchronous. If it throws, nothing is written. */
export type Decide = (current: StoredObject | undefined) => Change;

interface Job {
  readonly key: ObjectKey;
  readonly decide: Decide;
  readonly resolve: (object: StoredObject | undefined) => void;
  readonly reject: (error: unknown) => void;
}

export interface WriterOptions {
  readonly revisions: Revisions;
  readonly clock: Clock;
  readonly version: number;
  readonly maxBatch: number;
  /** Called after each commit, before its writes are acknowledged. */
  readonly committed: (events: readonly ChangeEvent[]) => void;
  readonly failed: (error: StoreError) => void;
}

/**
 * Serializes all writes. Pending writes share one transaction, and so one fsync, which is much faster with many
 * writers. A write is acknowledged and published only after it is on disk.
 */
export class Writer {
  readonly #options: WriterOptions;
  readonly #jobs: Job[] = [];
  /** The last assigned version. It is not reset when a transaction fails. */
  #version: number;
  #scheduled: NodeJS.Immediate | undefined;
  #closed = false;
  #deciding = false;

  constructor(options: WriterOptions) {
    this.#options = options;
    this.#version = options.version;
  }

  /** True while a Decide runs, which must not read the store: the transaction may be rolled back. */
  get deciding(): boolean {
    return this.#deciding;
  }

  write(key: ObjectKey, decide: Decide): Promise<StoredObject | undefined> {
    if (this.#closed) return Promise.reject(closed());
    return new Promise((resolve, reject) => {
      this.#jobs.push({ key, decide, resolve, reject });
      this.#scheduled ??= setImmediate(() => this.#commitBatch());
    });
  }

  /** Completes pending writes and accepts no more. */
  close(): void {
    this.#closed = true;
    clearImmediate(this.#scheduled);
    while (this.#jobs.length > 0) this.#commit();
  }

  #commitBatch(): void {
    this.#scheduled = undefined;
    this.#commit();
    if (this.#jobs.length > 0) this.#scheduled ??= setImmediate(() => this.#commitBatch());
  }

  #commit(): void {
    const { revisions, maxBatch, committed, failed } = this.#options;
    const jobs = this.#jobs.splice(0, maxBatch);
    const events: ChangeEvent[] = [];
    let settlers: (() => void)[];
    try {
      revisions.begin();
      settlers = jobs.map((job) => this.#perform(job, events));
      if (events.length > 0) {
        revisions.setCurrent(this.#version);
        revisions.commit();
      } else {
        revisions.rollback();
      }
    } catch (cause) {
      const error = new StoreError("StorageFailed", `write to the database: ${messageOf(cause)}`, { cause });
      this.#undo();
      failed(error);
      for (const job of jobs) job.reject(error);
      return;
    }
    if (events.length > 0) committed(events);
    for (const settle of settlers) settle();
  }

  /** Returns a callback that settles the caller after the commit. Throws only database errors. */
  #perform(job: Job, events: ChangeEvent[]): () => void {
    const { revisions, clock } = this.#options;
    const current = revisions.latest(job.key);
    const version = this.#version + 1;
    let event: ChangeEvent | undefined;
    this.#deciding = true;
    try {
      event = eventOf(job.key, current, job.decide(current), version);
    } catch (error) {
      return () => job.reject(error);
    } finally {
      this.#deciding = false;
    }
    if (!event) return () => job.resolve(current);
    this.#version = version;
    revisions.insert(event, epochMs(clock.wall()));
    events.push(event);
    return () => job.resolve(event.object);
  }

  #undo(): void {
    try {
      this.#options.revisions.rollback();
    } catch {
      // The original failure is more specific.
    }
  }
}

function eventOf(
  key: ObjectKey,
  previous: StoredObject | undefined,
  change: Change,
  version: number,
): ChangeEvent | undefined {
  switch (change.kind) {
    case "none":
      return undefined;
    case "delete": {
      if (!previous) return undefined;
      const object = change.last ? storedObject(key, change.last, version) : previous.at(version);
      return { type: "DELETED", version, object, previous };
    }
    case "put": {
      checkKey(key, change.object);
      if (previous && isSame(previous, change.object)) return undefined;
      const object = storedObject(key, change.object, version);
      return { type: previous ? "MODIFIED" : "ADDED", version, object, previous };
    }
    default:
      return change satisfies never;
  }
}

/** A write that changes nothing gets no version, so that it wakes no watcher. */
function isSame(previous: StoredObject, next: ApiObject): boolean {
  const same = storedObject(previous.key, next, previous.version);
  return same.text === previous.text || isDeepStrictEqual(same.copy(), previous.value);
}

function checkKey(key: ObjectKey, { metadata }: ApiObject): void {
  if (metadata.name === key.name && (metadata.namespace ?? "") === key.namespace && metadata.uid) return;
  throw new StoreError(
    "BadRequest",
    `an object with name ${JSON.stringify(metadata.name)}, namespace ${JSON.stringify(metadata.namespace)} and uid ` +
      `${JSON.stringify(metadata.uid)} cannot be stored as ${JSON.stringify(`${key.namespace}/${key.name}`)}`,
  );
}
