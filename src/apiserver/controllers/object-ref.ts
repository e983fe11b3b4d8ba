import type { ObjectRef } from "../definition.ts";
import type { ApiObject } from "../storage/object.ts";

export function refTo(resource: string, { metadata }: ApiObject): ObjectRef {
  return { resource, namespace: metadata.namespace ?? "", name: metadata.name };
}
