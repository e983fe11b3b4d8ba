import { messageOf } from "../../base/errors.ts";
import type { ObjectVersion, Stored } from "./store.ts";
import type { RawObject } from "./watch-stream.ts";

/** A received object: decoded, or why it cannot be decoded. */
export type Incoming<T> =
  | ({ readonly ok: true } & Stored<T>)
  | { readonly ok: false; readonly version: ObjectVersion | undefined; readonly reason: string };

/** Decodes received objects. One object that cannot be decoded does not affect any other. */
export function readObject<T>(raw: RawObject, transform: (raw: RawObject) => T): Incoming<T> {
  const version = versionOf(raw);
  if (!version) return { ok: false, version, reason: "it has no name or no resource version" };
  try {
    return { ok: true, version, object: transform(raw) };
  } catch (error) {
    return { ok: false, version, reason: messageOf(error) };
  }
}

function versionOf(raw: RawObject): ObjectVersion | undefined {
  const { namespace = "", name, uid = "", resourceVersion } = raw?.metadata ?? {};
  const isText = (value: unknown): value is string => typeof value === "string";
  if (!isText(namespace) || !isText(name) || !isText(uid) || !isText(resourceVersion)) return undefined;
  return name === "" || resourceVersion === "" ? undefined : { namespace, name, uid, resourceVersion };
}

/** Managed fields are often a third of an object, and are not used. */
export function withoutManagedFields(raw: RawObject): RawObject {
  if (raw.metadata?.managedFields === undefined) return raw;
  // A copy, because objects with a deleted property take more memory.
  const { managedFields: _, ...metadata } = raw.metadata;
  return { ...raw, metadata };
}
