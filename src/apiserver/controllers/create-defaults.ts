import { httpStatusOf } from "../../lib/base/errors.ts";
import type { NewObject, ObjectRef, Objects } from "../definition.ts";
import type { ApiObject } from "../storage/object.ts";
import type { ObjectCache } from "./object-cache.ts";

/** An object that every namespace has: created when it is missing, reset when it was changed. */
export interface DefaultObject {
  readonly resource: string;
  readonly draft: NewObject & { metadata: { name: string } };
  /** The fields that are reset. */
  readonly reconciledFields: readonly string[];
}

export type DefaultObjectStep =
  | { readonly do: "create"; readonly namespace: string }
  | { readonly do: "repair"; readonly ref: ObjectRef; readonly uid: string };

/** The steps after which all namespaces that are not terminating have it. */
function planDefaults(
  defaultObject: DefaultObject,
  namespaces: readonly ApiObject[],
  find: (ref: ObjectRef) => ApiObject | undefined,
): DefaultObjectStep[] {
  const { resource, draft, reconciledFields } = defaultObject;
  return namespaces.flatMap(({ metadata }): DefaultObjectStep[] => {
    if (metadata.deletionTimestamp !== undefined) return [];
    const ref = { resource, namespace: metadata.name, name: draft.metadata.name };
    const found = find(ref);
    if (found === undefined) return [{ do: "create", namespace: metadata.name }];
    if (found.metadata.deletionTimestamp !== undefined) return [];
    const isCurrent = reconciledFields.every(
      (field) => JSON.stringify(found[field]) === JSON.stringify(draft[field]),
    );
    return isCurrent ? [] : [{ do: "repair", ref, uid: found.metadata.uid }];
  });
}

export async function createDefaults(
  defaultObject: DefaultObject,
  { objects, cache }: { objects: Objects; cache: ObjectCache },
): Promise<void> {
  const { resource, draft, reconciledFields } = defaultObject;
  for (const step of planDefaults(defaultObject, cache.all("namespaces"), (ref) => cache.get(ref))) {
    if (step.do === "create") {
      const metadata = { ...draft.metadata, namespace: step.namespace };
      cache.record(resource, await createIfAllowed(objects, resource, { ...draft, metadata }));
    } else {
      const repaired = await objects.change(
        step.ref,
        (found) => {
          for (const field of reconciledFields) found[field] = structuredClone(draft[field]);
        },
        { uid: step.uid },
      );
      cache.record(resource, repaired);
    }
  }
}

/** Undefined if it was created in the meantime, or if the namespace is terminating or gone. */
async function createIfAllowed(
  objects: Objects,
  resource: string,
  draft: DefaultObject["draft"],
): Promise<ApiObject | undefined> {
  try {
    return await objects.create(resource, draft);
  } catch (error) {
    if ([403, 404, 409].includes(httpStatusOf(error) ?? 0)) return undefined;
    throw error;
  }
}
