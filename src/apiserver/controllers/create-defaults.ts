import { httpStatusOf } from "../../lib/base/errors.ts";
import type { Draft, DraftMeta, ObjectRef, Objects } from "../definition.ts";
import type { ApiObject } from "../storage/object.ts";
import type { Mirror } from "./mirror.ts";
import { read } from "./typed.ts";

/** Something that every namespace has: made when it is missing, put right when it was changed. */
export interface DefaultObject {
  readonly resource: string;
  readonly draft: Omit<Draft, "metadata"> & { metadata: Partial<DraftMeta> & { name: string } };
  /** The fields that are put right. */
  readonly kept: readonly string[];
}

export type DefaultObjectStep =
  | { readonly do: "create"; readonly namespace: string }
  | { readonly do: "repair"; readonly ref: ObjectRef; readonly uid: string };

/** What to do so that all namespaces that are not about to end have it. */
function planDefaults(
  defaultObject: DefaultObject,
  namespaces: readonly ApiObject[],
  find: (ref: ObjectRef) => ApiObject | undefined,
): DefaultObjectStep[] {
  const { resource, draft, kept } = defaultObject;
  return namespaces.flatMap(({ metadata }): DefaultObjectStep[] => {
    if (metadata.deletionTimestamp !== undefined) return [];
    const ref = { resource, namespace: metadata.name, name: draft.metadata.name };
    const found = find(ref);
    if (found === undefined) return [{ do: "create", namespace: metadata.name }];
    if (found.metadata.deletionTimestamp !== undefined) return [];
    const good = kept.every((field) => JSON.stringify(found[field]) === JSON.stringify(draft[field]));
    return good ? [] : [{ do: "repair", ref, uid: found.metadata.uid }];
  });
}

export async function createDefaults(
  defaultObject: DefaultObject,
  { objects, mirror }: { objects: Objects; mirror: Mirror },
): Promise<void> {
  const { resource, draft, kept } = defaultObject;
  for (const step of planDefaults(defaultObject, mirror.all("namespaces"), (ref) => mirror.get(ref))) {
    if (step.do === "create") {
      const metadata = { ...draft.metadata, namespace: step.namespace };
      mirror.note(resource, await createIfAllowed(objects, resource, { ...draft, metadata }));
    } else {
      const repaired = await objects.change(
        step.ref,
        (found) => {
          for (const field of kept) found[field] = structuredClone(read(draft as ApiObject)[field]);
        },
        { uid: step.uid },
      );
      mirror.note(resource, repaired);
    }
  }
}

/** Undefined if it was created meanwhile, or if the namespace is terminating or gone. */
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
