import { type Clock, systemClock } from "../../lib/base/clock.ts";
import { type Health, healthy } from "../../lib/base/component.ts";
import { type Logger, silentLogger } from "../../lib/base/logger.ts";
import { epochMs } from "../../lib/base/time.ts";
import type { ChangeEvent, Scope, WatchEvent } from "./change-event.ts";
import { defaultLimits, type HistoryLimits } from "./compaction-plan.ts";
import { Compactor } from "./compactor.ts";
import { decodeContinue, encodeContinue, type Position } from "./continue-token.ts";
import { alreadyExists, closed, conflict, futureVersion, modified, notFound } from "./errors.ts";
import { Head } from "./head.ts";
import { History } from "./history.ts";
import type { ApiObject, ObjectKey, StoredObject } from "./object.ts";
import { openDatabase } from "./open-database.ts";
import { RecentEvents } from "./recent-events.ts";
import { Revisions } from "./revisions.ts";
import type { VersionMatch } from "./version-match.ts";
import { type WatchOptions, watchEvents } from "./watch.ts";
import { type Decide, Writer } from "./writer.ts";

export interface StoreOptions {
  /** The path of the database; ":memory:" for one that is not persistent. */
  readonly path: string;
  readonly clock?: Clock;
  readonly logger?: Logger;
  readonly limits?: HistoryLimits;
  /** Changes kept in memory for watchers, and the size of their texts. */
  readonly recentEvents?: number;
  readonly recentChars?: number;
  /** The first version of a new database. Default: the time, so that it is later than every version of a database that was lost. */
  readonly firstVersion?: number;
  readonly bookmarkMs?: number;
  readonly freshnessMs?: number;
  /** Maximum number of writes in one transaction. */
  readonly maxBatch?: number;
}

/** Preconditions of a write on the current object. */
export interface Preconditions {
  readonly uid?: string | undefined;
  readonly version?: number | undefined;
}

export interface GetOptions {
  readonly notOlderThan?: number | undefined;
  readonly signal?: AbortSignal | undefined;
}

export interface ListOptions {
  readonly match?: VersionMatch;
  readonly limit?: number | undefined;
  readonly continueToken?: string | undefined;
  readonly signal?: AbortSignal | undefined;
}

export interface ListPage {
  /** The version of the list. */
  readonly version: number;
  readonly items: readonly StoredObject[];
  /** Present if there are more pages. */
  readonly continueToken: string | undefined;
  /** The number of objects after this page; unknown with a selector. */
  readonly remaining: number | undefined;
}

/** Objects with versions and a history, on disk. A write is acknowledged when it is durable. */
export class Store {
  readonly #revisions: Revisions;
  readonly #head: Head;
  readonly #history: History;
  readonly #recent: RecentEvents;
  readonly #writer: Writer;
  readonly #compactor: Compactor;
  readonly #clock: Clock;
  readonly #bookmarkMs: number;
  readonly #freshnessMs: number;
  #health: Health = healthy;

  private constructor(options: StoreOptions) {
    const { path, clock = systemClock, logger = silentLogger, limits = defaultLimits } = options;
    this.#clock = clock;
    this.#bookmarkMs = options.bookmarkMs ?? 60_000;
    this.#freshnessMs = options.freshnessMs ?? 3_000;
    this.#revisions = new Revisions(openDatabase(path, () => options.firstVersion ?? epochMs(clock.wall())));
    const { current, compacted } = this.#revisions.marks();
    const { recentEvents = 1000, recentChars = 8 * 1024 * 1024, maxBatch = 256 } = options;
    this.#head = new Head(clock, current);
    this.#recent = new RecentEvents(current, recentEvents, recentChars);
    this.#history = new History(this.#revisions, this.#recent, this.#head, compacted);
    const shared = { revisions: this.#revisions, history: this.#history, clock, logger };
    this.#compactor = new Compactor({ ...shared, limits });
    this.#writer = new Writer({
      revisions: this.#revisions,
      clock,
      version: current,
      maxBatch,
      committed: (events) => this.#committed(events),
      failed: (error) => {
        this.#health = { ok: false, reason: error.message };
        logger.error("Failed to write to the API database", { err: error.message });
      },
    });
  }

  static open(options: StoreOptions): Store {
    const store = new Store(options);
    store.#compactor.start();
    return store;
  }

  /** The version of the last durable write. */
  get currentVersion(): number {
    return this.#head.version;
  }

  /** Versions before this one are compacted. */
  get compactedVersion(): number {
    return this.#history.compacted;
  }

  health(): Health {
    return this.#health;
  }

  /** Throws NotFound. */
  async get(key: ObjectKey, options: GetOptions = {}): Promise<StoredObject> {
    if (options.notOlderThan) await this.#head.reach(options.notOlderThan, this.#freshnessMs, options.signal);
    this.#assertMayRead();
    const object = this.#revisions.latest(key);
    if (!object) throw notFound(key);
    return object;
  }

  /** Throws Expired, FutureVersion, BadRequest. Without a limit the list is one page. */
  async list(scope: Scope, options: ListOptions = {}): Promise<ListPage> {
    const { version, after } = await this.#pageStart(options);
    this.#assertMayRead();
    const limit = options.limit || Number.POSITIVE_INFINITY;
    const items = this.#history.state(scope, version, after, limit + 1);
    if (items.length <= limit) return { version, items, continueToken: undefined, remaining: undefined };
    items.pop();
    const { namespace, name } = items.at(-1)!.key;
    const position = { namespace, name };
    const continueToken = encodeContinue({ version, after: position });
    const remaining = scope.matches ? undefined : this.#history.count(scope, version, position);
    return { version, items, continueToken, remaining };
  }

  /** Throws AlreadyExists. The object's resourceVersion is replaced. */
  async create(key: ObjectKey, object: ApiObject): Promise<StoredObject> {
    const created = await this.#writer.write(key, (current) => {
      if (current) throw alreadyExists(key);
      return { kind: "put", object };
    });
    return created!;
  }

  /**
   * Updates an object. `mutate` gets a copy and must be synchronous; its errors are rethrown. A result without changes is
   * not written and gets no version. Throws NotFound, Conflict.
   */
  async update(
    key: ObjectKey,
    preconditions: Preconditions,
    mutate: (current: ApiObject) => ApiObject,
  ): Promise<StoredObject> {
    const updated = await this.#writer.write(key, (current) => {
      if (!current) throw notFound(key);
      checkPreconditions(key, current, preconditions);
      return { kind: "put", object: mutate(current.copy()) };
    });
    return updated!;
  }

  /** Returns the last state, at the version of the deletion. Throws NotFound, Conflict. */
  async delete(key: ObjectKey, preconditions: Preconditions = {}): Promise<StoredObject> {
    const last = await this.#writer.write(key, (current) => {
      if (!current) throw notFound(key);
      checkPreconditions(key, current, preconditions);
      return { kind: "delete" };
    });
    return last!;
  }

  /**
   * Any write: decides on the next state from the current object, which may be absent. For create-or-update, and for deletions
   * that only mark an object or end with an update. Returns the stored object, or the last state.
   */
  apply(key: ObjectKey, decide: Decide): Promise<StoredObject | undefined> {
    return this.#writer.write(key, decide);
  }

  /** Its position is fixed by this call; errors (Expired, FutureVersion) are thrown by the iteration. */
  watch(scope: Scope, options: WatchOptions = {}): AsyncGenerator<WatchEvent, void, undefined> {
    const start = options.start ?? { kind: "state", notOlderThan: 0, markEnd: false };
    const source = {
      clock: this.#clock,
      head: this.#head,
      history: this.#history,
      bookmarkMs: this.#bookmarkMs,
      freshnessMs: this.#freshnessMs,
    };
    const fixed = start.kind === "now" ? ({ kind: "after", version: this.#head.version } as const) : start;
    return watchEvents(source, scope, fixed, options);
  }

  /** Compacts all history but the last events. For tests and tools: the store does it itself, by age and size. */
  compact(keepEvents = 0): void {
    this.#assertMayRead();
    const limits = {
      maxAgeMs: Number.POSITIVE_INFINITY,
      maxEvents: keepEvents,
      maxChars: Number.POSITIVE_INFINITY,
    };
    while (this.#compactor.step(limits));
  }

  /** Completes pending writes and ends watches. */
  close(): void {
    if (this.#head.closed) return;
    this.#compactor.stop();
    this.#writer.close();
    this.#head.close();
    this.#compactor.stop();
    this.#revisions.close();
  }

  #committed(events: readonly ChangeEvent[]): void {
    this.#health = healthy;
    this.#recent.add(events);
    this.#compactor.recordWrites(events);
    this.#head.advance(events.at(-1)!.version, new Set(events.map((event) => event.object.key.resource)));
  }

  async #pageStart(options: ListOptions): Promise<{ version: number; after: Position | undefined }> {
    const { match = { kind: "latest" }, continueToken } = options;
    if (continueToken) {
      const token = decodeContinue(continueToken);
      return {
        version: token.version === "latest" ? this.#head.version : this.#known(token.version),
        after: token.after,
      };
    }
    switch (match.kind) {
      case "latest":
        return { version: this.#head.version, after: undefined };
      case "notOlderThan":
        await this.#head.reach(match.version, this.#freshnessMs, options.signal);
        return { version: this.#head.version, after: undefined };
      case "exact":
        return { version: this.#known(match.version), after: undefined };
      default:
        return match satisfies never;
    }
  }

  #known(version: number): number {
    if (version > this.#head.version) throw futureVersion(version, this.#head.version);
    return version;
  }

  #assertMayRead(): void {
    if (this.#head.closed) throw closed();
    // It would see writes that may be rolled back.
    if (this.#writer.deciding) throw new Error("a write that is being decided must not read the store");
  }
}

/** For a Decide that has preconditions: throws Conflict. */
export function checkPreconditions(
  key: ObjectKey,
  current: StoredObject,
  preconditions: Preconditions,
): void {
  if (preconditions.uid !== undefined && preconditions.uid !== current.uid) {
    throw conflict(
      key,
      `Precondition failed: UID in precondition: ${preconditions.uid}, UID in object meta: ${current.uid}`,
    );
  }
  if (preconditions.version !== undefined && preconditions.version !== current.version) throw modified(key);
}
