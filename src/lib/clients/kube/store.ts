/** Identifies one version of one object. */
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
  | { readonly type: "updated"; readonly key: string; readonly object: T; readonly oldObject: T }
  /** Has the final state of the object or, if that was missed, the last known one. */
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

/** The objects of one kind by namespace and name. Each write returns exactly its changes. */
export class Store<T> implements ObjectReader<T> {
  #entries = new Map<string, Stored<T>>();

  get size(): number {
    return this.#entries.size;
  }

  get(namespace: string, name: string): T | undefined {
    return this.#entries.get(objectKey({ namespace, name }))?.object;
  }

  /** The stored version, if it is the same object and not only the same name. */
  previous({ namespace, name, uid }: ObjectVersion): T | undefined {
    const entry = this.#entries.get(objectKey({ namespace, name }));
    return entry?.version.uid === uid ? entry.object : undefined;
  }

  list(): T[] {
    return Array.from(this.#entries.values(), (entry) => entry.object);
  }

  /**
   * Replaces all objects in one step: a handler of the changes finds every one of them done. Objects in `unreadable` exist too, but their
   * current version cannot be decoded: the last readable version is kept.
   */
  replace(entries: Iterable<Stored<T>>, unreadable: Iterable<ObjectVersion>): Change<T>[] {
    const former = this.#entries;
    const changes: Change<T>[] = [];
    this.#entries = new Map();
    for (const entry of entries) this.#entries.set(objectKey(entry.version), entry);
    for (const version of unreadable) {
      const key = objectKey(version);
      const oldEntry = former.get(key);
      if (oldEntry?.version.uid === version.uid && !this.#entries.has(key)) this.#entries.set(key, oldEntry);
    }
    for (const [key, { object }] of former)
      if (!this.#entries.has(key)) changes.push({ type: "deleted", key, object });
    for (const [key, entry] of this.#entries) {
      const oldEntry = former.get(key);
      // Consumers compare objects by identity: the same version remains the same object.
      if (oldEntry && isSameVersion(oldEntry.version, entry.version)) this.#entries.set(key, oldEntry);
      else changes.push(...this.#apply(key, oldEntry, entry));
    }
    return changes;
  }

  /** Stores a newer version of an object; an older one, or the same, changes nothing. */
  put(entry: Stored<T>): Change<T>[] {
    const key = objectKey(entry.version);
    const oldEntry = this.#entries.get(key);
    if (oldEntry && !isNewer(oldEntry.version, entry.version)) return [];
    return this.#apply(key, oldEntry, entry);
  }

  /** Removes an object; `last` is its final state, if it could be decoded. */
  remove(version: ObjectVersion, last: T | undefined): Change<T>[] {
    const key = objectKey(version);
    const oldEntry = this.#entries.get(key);
    if (!oldEntry || isOlderVersion(version.resourceVersion, oldEntry.version.resourceVersion)) return [];
    this.#entries.delete(key);
    return [{ type: "deleted", key, object: last ?? oldEntry.object }];
  }

  #apply(key: string, oldEntry: Stored<T> | undefined, entry: Stored<T>): Change<T>[] {
    const { object } = entry;
    this.#entries.set(key, entry);
    if (!oldEntry) return [{ type: "added", key, object }];
    if (oldEntry.version.uid === entry.version.uid)
      return [{ type: "updated", key, object, oldObject: oldEntry.object }];
    return [
      { type: "deleted", key, object: oldEntry.object },
      { type: "added", key, object },
    ];
  }
}

function isSameVersion(a: ObjectVersion, b: ObjectVersion): boolean {
  return a.uid === b.uid && a.resourceVersion === b.resourceVersion;
}

function isNewer(oldEntry: ObjectVersion, after: ObjectVersion): boolean {
  return !isSameVersion(oldEntry, after) && !isOlderVersion(after.resourceVersion, oldEntry.resourceVersion);
}
