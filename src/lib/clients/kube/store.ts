/** What distinguishes one version of one object from any other. */
export interface ObjectVersion {
  /** Empty for a cluster-scoped object. */
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly resourceVersion: string;
}

export interface Stored<T> {
  readonly version: ObjectVersion;
  readonly object: T;
}

/** A change of one object. A name with another UID is a deletion and an addition. */
export type Change<T> =
  | { readonly type: "added"; readonly key: string; readonly object: T }
  /** Parts that are equal in both versions are the same object in both. */
  | { readonly type: "updated"; readonly key: string; readonly object: T; readonly before: T }
  /** With the final state of the object, or the last known one. */
  | { readonly type: "deleted"; readonly key: string; readonly object: T };

/** A read-only store. Consumers must not change its objects: versions and even objects share equal parts. */
export interface ObjectReader<T> {
  get(namespace: string, name: string): T | undefined;
  list(): T[];
  readonly size: number;
}

export function objectKey({ namespace, name }: Pick<ObjectVersion, "namespace" | "name">): string {
  return namespace === "" ? name : `${namespace}/${name}`;
}

const number = /^[1-9][0-9]*$/;

/** True if both are numbers and the first is smaller: other versions cannot be ordered. */
export function isOlderVersion(version: string, than: string): boolean {
  if (!number.test(version) || !number.test(than)) return false;
  return version.length === than.length ? version < than : version.length < than.length;
}

/** The objects of one kind by namespace and name. Each write returns what it changed, and only what it changed. */
export class Store<T> implements ObjectReader<T> {
  #entries = new Map<string, Stored<T>>();

  get size(): number {
    return this.#entries.size;
  }

  get(namespace: string, name: string): T | undefined {
    return this.#entries.get(objectKey({ namespace, name }))?.object;
  }

  /** The stored version, if it is the same object and not only the same name. */
  former({ namespace, name, uid }: ObjectVersion): T | undefined {
    const entry = this.#entries.get(objectKey({ namespace, name }));
    return entry?.version.uid === uid ? entry.object : undefined;
  }

  list(): T[] {
    return Array.from(this.#entries.values(), (entry) => entry.object);
  }

  /**
   * Replaces all objects in one step: a handler of the changes finds every one of them done. Those in `unreadable` exist
   * too, in a version that cannot be decoded: of them the last readable version stays.
   */
  replace(entries: Iterable<Stored<T>>, unreadable: Iterable<ObjectVersion>): Change<T>[] {
    const former = this.#entries;
    const changes: Change<T>[] = [];
    this.#entries = new Map();
    for (const entry of entries) this.#entries.set(objectKey(entry.version), entry);
    for (const version of unreadable) {
      const key = objectKey(version);
      const kept = former.get(key);
      if (kept?.version.uid === version.uid && !this.#entries.has(key)) this.#entries.set(key, kept);
    }
    for (const [key, { object }] of former)
      if (!this.#entries.has(key)) changes.push({ type: "deleted", key, object });
    for (const [key, entry] of this.#entries) {
      const before = former.get(key);
      // Consumers compare objects by identity: the same version stays the same object.
      if (before && isSameVersion(before.version, entry.version)) this.#entries.set(key, before);
      else changes.push(...this.#apply(key, before, entry));
    }
    return changes;
  }

  /** Stores a newer version of an object; an older one, or the same, changes nothing. */
  put(entry: Stored<T>): Change<T>[] {
    const key = objectKey(entry.version);
    const before = this.#entries.get(key);
    if (before && !isNewer(before.version, entry.version)) return [];
    return this.#apply(key, before, entry);
  }

  /** Removes an object; `last` is its final state, if it could be decoded. */
  remove(version: ObjectVersion, last: T | undefined): Change<T>[] {
    const key = objectKey(version);
    const before = this.#entries.get(key);
    if (!before || isOlderVersion(version.resourceVersion, before.version.resourceVersion)) return [];
    this.#entries.delete(key);
    return [{ type: "deleted", key, object: last ?? before.object }];
  }

  #apply(key: string, before: Stored<T> | undefined, entry: Stored<T>): Change<T>[] {
    const { object } = entry;
    this.#entries.set(key, entry);
    if (!before) return [{ type: "added", key, object }];
    if (before.version.uid === entry.version.uid)
      return [{ type: "updated", key, object, before: before.object }];
    return [
      { type: "deleted", key, object: before.object },
      { type: "added", key, object },
    ];
  }
}

function isSameVersion(a: ObjectVersion, b: ObjectVersion): boolean {
  return a.uid === b.uid && a.resourceVersion === b.resourceVersion;
}

function isNewer(before: ObjectVersion, after: ObjectVersion): boolean {
  return !isSameVersion(before, after) && !isOlderVersion(after.resourceVersion, before.resourceVersion);
}
