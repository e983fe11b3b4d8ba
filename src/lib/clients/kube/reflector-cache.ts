import { messageOf } from "../../base/errors.ts";
import type { Logger } from "../../base/logger.ts";
import { type Incoming, readObject } from "./reflector-objects.ts";
import { type Change, isOlderVersion, type ObjectReader, objectKey, Store } from "./store.ts";
import { shareEqualParts } from "./store-sharing.ts";
import type { ObjectEvent, RawObject } from "./watch-stream.ts";

export interface ReflectorCacheOptions<T> {
  logger: Logger;
  transform: (raw: RawObject) => T;
  onChange?: ((change: Change<T>) => void) | undefined;
  onBatch?: (() => void) | undefined;
  onUnreadable?: (() => void) | undefined;
}

/** The cached objects of the API server, and the resourceVersion up to which the cache is complete. */
export class ReflectorCache<T> {
  readonly #o: ReflectorCacheOptions<T>;
  readonly #store = new Store<T>();
  readonly #firstList = Promise.withResolvers<void>();
  #resourceVersion = "";
  #hasSynced = false;
  #reported = false;
  #lastRead: T | undefined;

  constructor(options: ReflectorCacheOptions<T>) {
    this.#o = options;
  }

  get store(): ObjectReader<T> {
    return this.#store;
  }

  get resourceVersion(): string {
    return this.#resourceVersion;
  }

  get synced(): Promise<void> {
    return this.#firstList.promise;
  }

  get hasSynced(): boolean {
    return this.#hasSynced;
  }

  /** Decodes a received object. */
  read(raw: RawObject): Incoming<T> {
    const incoming = readObject(raw, this.#o.transform);
    if (!incoming.ok) {
      const object = incoming.version && objectKey(incoming.version);
      this.#o.logger.warn("Failed to decode object from the API server", { object, err: incoming.reason });
      this.#o.onUnreadable?.();
      return incoming;
    }
    // New objects are often created from the same template as the previous ones.
    const similar = this.#store.previous(incoming.version) ?? this.#lastRead;
    this.#lastRead = shared(similar, incoming.object);
    return { ...incoming, object: this.#lastRead };
  }

  /** Replaces the cached objects with a complete list. */
  replace(objects: Iterable<Incoming<T>>, resourceVersion: string): void {
    const readable: Extract<Incoming<T>, { ok: true }>[] = [];
    const unreadable = [];
    for (const object of objects) {
      if (object.ok) readable.push(object);
      else if (object.version) unreadable.push(object.version);
    }
    const changes = this.#store.replace(readable, unreadable);
    this.#resourceVersion = resourceVersion;
    this.#report(changes);
    if (!this.#hasSynced) this.#reported = true;
    this.#hasSynced = true;
    this.endBatch();
    this.#firstList.resolve();
  }

  /** One object has changed. Changes older than the cache are already in it. */
  apply({ type, object: raw }: ObjectEvent): void {
    const incoming = this.read(raw);
    const { version } = incoming;
    if (!version || isOlderVersion(version.resourceVersion, this.#resourceVersion)) return;
    this.#resourceVersion = version.resourceVersion;
    if (type === "DELETED")
      this.#report(this.#store.remove(version, incoming.ok ? incoming.object : undefined));
    // An object that can no longer be decoded keeps its previous version: it still exists.
    else if (incoming.ok) this.#report(this.#store.put(incoming));
  }

  /** A bookmark: all changes up to this resourceVersion have been received. */
  bookmark(resourceVersion: string): void {
    if (!isOlderVersion(resourceVersion, this.#resourceVersion)) this.#resourceVersion = resourceVersion;
  }

  /** No more changes for now. */
  endBatch(): void {
    if (!this.#reported) return;
    this.#reported = false;
    this.#call(() => this.#o.onBatch?.());
  }

  #report(changes: readonly Change<T>[]): void {
    if (changes.length === 0) return;
    this.#reported = true;
    for (const change of changes) this.#call(() => this.#o.onChange?.(change));
  }

  /** A handler that throws must not leave the cache incomplete. */
  #call(handler: () => void): void {
    try {
      handler();
    } catch (error) {
      this.#o.logger.error("Handler of API objects failed", { err: messageOf(error) });
    }
  }
}

/** Sharing only saves memory. It fails for an object that is nested too deep, which must not end the watch of all others. */
function shared<T>(similar: unknown, object: T): T {
  try {
    return shareEqualParts(similar, object);
  } catch (error) {
    if (error instanceof RangeError) return object;
    throw error;
  }
}
