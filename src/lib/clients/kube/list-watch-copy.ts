import { messageOf } from "../../base/errors.ts";
import type { Logger } from "../../base/logger.ts";
import { type Incoming, readObject } from "./list-watch-objects.ts";
import { type Change, isOlderVersion, type ObjectReader, objectKey, Store } from "./store.ts";
import { shareEqualParts } from "./store-sharing.ts";
import type { ObjectEvent, RawObject } from "./watch-stream.ts";

export interface ObjectCopyOptions<T> {
  logger: Logger;
  transform: (raw: RawObject) => T;
  onChange?: ((change: Change<T>) => void) | undefined;
  onBatch?: (() => void) | undefined;
  onUnreadable?: (() => void) | undefined;
}

/** Our copy of the server's objects, and the version of the server's history up to which it is complete. */
export class ObjectCopy<T> {
  readonly #o: ObjectCopyOptions<T>;
  readonly #store = new Store<T>();
  readonly #firstList = Promise.withResolvers<void>();
  #version = "";
  #hasSynced = false;
  #reported = false;
  #lastRead: T | undefined;

  constructor(options: ObjectCopyOptions<T>) {
    this.#o = options;
  }

  get store(): ObjectReader<T> {
    return this.#store;
  }

  get version(): string {
    return this.#version;
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
    const similar = this.#store.former(incoming.version) ?? this.#lastRead;
    this.#lastRead = shareEqualParts(similar, incoming.object);
    return { ...incoming, object: this.#lastRead };
  }

  /** Replaces the copy with a complete list. */
  replace(objects: Iterable<Incoming<T>>, version: string): void {
    const readable: Extract<Incoming<T>, { ok: true }>[] = [];
    const unreadable = [];
    for (const object of objects) {
      if (object.ok) readable.push(object);
      else if (object.version) unreadable.push(object.version);
    }
    const changes = this.#store.replace(readable, unreadable);
    this.#version = version;
    this.#report(changes);
    if (!this.#hasSynced) this.#reported = true;
    this.#hasSynced = true;
    this.endBatch();
    this.#firstList.resolve();
  }

  /** One object has changed. Changes older than the copy are already known. */
  apply({ type, object: raw }: ObjectEvent): void {
    const incoming = this.read(raw);
    const { version } = incoming;
    if (!version || isOlderVersion(version.resourceVersion, this.#version)) return;
    this.#version = version.resourceVersion;
    if (type === "DELETED")
      this.#report(this.#store.remove(version, incoming.ok ? incoming.object : undefined));
    // An object that can no longer be decoded keeps its previous version: it still exists.
    else if (incoming.ok) this.#report(this.#store.put(incoming));
  }

  /** Everything up to this version has been reported. */
  completeUpTo(version: string): void {
    if (!isOlderVersion(version, this.#version)) this.#version = version;
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

  /** A consumer that throws must not leave the copy incomplete. */
  #call(consumer: () => void): void {
    try {
      consumer();
    } catch (error) {
      this.#o.logger.error("Handler of API objects failed", { err: messageOf(error) });
    }
  }
}
