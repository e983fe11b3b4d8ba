import type { Unstructured } from "../definition.ts";
import type { ApiObject, StoredObject } from "../storage/object.ts";
import { fromStored, type Served } from "./catalog.ts";

/** A copy of a stored object in the requested version. */
export function servedCopy(served: Served, stored: StoredObject): Unstructured {
  const draft: Unstructured = stored.copy();
  fromStored(served, draft);
  return draft;
}

/** The object in the requested version, read-only. */
export function servedValue(served: Served, stored: StoredObject): ApiObject {
  return served.conversion ? servedCopy(served, stored) : stored.value;
}

export function servedText(served: Served, stored: StoredObject): string {
  return served.conversion ? JSON.stringify(servedCopy(served, stored)) : stored.text;
}

/** Items of a list do not have apiVersion and kind: the list does. */
export function itemText(served: Served, stored: StoredObject): string {
  const text = servedText(served, stored);
  const begin = `{"apiVersion":"${served.apiVersion}","kind":"${served.definition.kind}",`;
  return text.startsWith(begin) ? `{${text.slice(begin.length)}` : text;
}
