import type { Draft, ObjectRef } from "../definition.ts";
import type { ApiObject } from "../storage/object.ts";

/** An object as its controllers read it; never to be changed. */
export function read(object: ApiObject): Readonly<Draft> {
  return object as unknown as Draft;
}

export function refTo(resource: string, object: ApiObject | Readonly<Draft>): ObjectRef {
  const { name, namespace = "" } = object.metadata as { name: string; namespace?: string };
  return { resource, namespace, name };
}
