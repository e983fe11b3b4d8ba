import type { JsonObject } from "../../lib/base/json-value.ts";
import type { DraftMeta, Unstructured } from "../definition.ts";

/** A stored object. It is never changed: `Unstructured` is the same object before it is stored. */
export interface ApiObject {
  readonly apiVersion?: string;
  readonly kind?: string;
  readonly metadata: ObjectMeta;
  // biome-ignore lint/suspicious/noExplicitAny: the definition of the kind knows what is inside.
  readonly [field: string]: any;
}

export type ObjectMeta = Readonly<DraftMeta>;

/** The same object as the type of its kind: the types of its fields were checked when it was decoded. */
export function typed<T extends object>(object: ApiObject | undefined): T {
  const any: unknown = object;
  return any as T;
}

/** JSON of which at least the metadata was checked, as an object. */
export function fromJson(json: JsonObject): Unstructured {
  const any: unknown = json;
  return any as Unstructured;
}

/** Gives a field the value that it has in another object. */
export function restoreField<T extends object>(object: T, other: Readonly<T>, field: keyof T): void {
  if (other[field] === undefined) delete object[field];
  else object[field] = other[field];
}

/** The same object as JSON, for code that knows nothing of its kind. An interface such as ApiObject has no index signature of JSON values. */
export function asJson(object: ApiObject): JsonObject {
  return typed<JsonObject>(object);
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
