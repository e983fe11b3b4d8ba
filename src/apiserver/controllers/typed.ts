import type { ObjectRef, Unstructured } from "../definition.ts";
import type { ApiObject } from "../storage/object.ts";

/** An object as its controllers read it; never to be changed. */
export function read(object: ApiObject): Readonly<Unstructured> {
  return object as unknown as Unstructured;
}

export function refTo(resource: string, object: ApiObject | Readonly<Unstructured>): ObjectRef {
  const { name, namespace = "" } = object.metadata as { name: string; namespace?: string };
  return { resource, namespace, name };
}
