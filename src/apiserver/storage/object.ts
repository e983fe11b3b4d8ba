/** The parts of an API object that the store uses. */
export interface ApiObject {
  readonly apiVersion?: string;
  readonly kind?: string;
  readonly metadata: ObjectMeta;
  readonly [field: string]: unknown;
}

export interface ObjectMeta {
  readonly name: string;
  /** Absent or empty for cluster-scoped objects. */
  readonly namespace?: string;
  readonly uid: string;
  readonly resourceVersion?: string;
  readonly [field: string]: unknown;
}

export interface ObjectKey {
  /** Plural and group, as in messages: "pods", "leases.coordination.k8s.io". */
  readonly resource: string;
  /** "" for cluster-scoped objects. */
  readonly namespace: string;
  readonly name: string;
}

/** One version of an object. The text includes the resourceVersion and can be sent unchanged. */
export class StoredObject {
  readonly key: ObjectKey;
  readonly uid: string;
  readonly version: number;
  readonly text: string;
  #value: ApiObject | undefined;

  constructor(key: ObjectKey, uid: string, version: number, text: string) {
    this.key = key;
    this.uid = uid;
    this.version = version;
    this.text = text;
  }

  /** Read-only. Parsed once and shared by all readers. */
  get value(): ApiObject {
    this.#value ??= JSON.parse(this.text) as ApiObject;
    return this.#value;
  }

  /** A copy that can be modified. */
  copy(): ApiObject {
    return JSON.parse(this.text) as ApiObject;
  }

  /** The same content as of another version. */
  at(version: number): StoredObject {
    return storedObject(this.key, this.value, version);
  }
}

export function storedObject(key: ObjectKey, object: ApiObject, version: number): StoredObject {
  const metadata = { ...object.metadata, resourceVersion: String(version) };
  return new StoredObject(key, object.metadata.uid, version, JSON.stringify({ ...object, metadata }));
}
