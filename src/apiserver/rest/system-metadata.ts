import { randomUUID } from "node:crypto";
import type { Problem } from "../../lib/model/validation/problem.ts";
import type { DraftMeta, ResourceDefinition, Unstructured } from "../definition.ts";
import { fixedFields } from "../kinds/metadata.ts";
import { type Json, jsonEqual } from "../patch/json-value.ts";
import { wireTime } from "../patch/managed-fields.ts";
import { compareText } from "../patch/text-order.ts";
import { type ApiObject, restoreField } from "../storage/object.ts";
import { badRequest } from "./problems.ts";

/** Sets the namespace of the request, and rejects an object with another namespace. */
export function applyNamespace(draft: Unstructured, namespace: string): void {
  const { metadata } = draft;
  if (metadata.namespace && metadata.namespace !== namespace)
    throw badRequest("the namespace of the provided object does not match the namespace sent on the request");
  if (namespace === "") delete metadata.namespace;
  else metadata.namespace = namespace;
}

/** Sets the metadata that only the server sets in a new object. */
export function initMetadata(draft: Unstructured, now: number): void {
  const meta = draft.metadata;
  meta.uid = randomUUID();
  meta.creationTimestamp = wireTime(now);
  delete meta.deletionTimestamp;
  delete meta.deletionGracePeriodSeconds;
  delete meta.resourceVersion;
  dropSelfLink(meta);
}

/** Keeps the metadata that only the server sets. */
export function keepMetadata(draft: Unstructured, oldObject: ApiObject): void {
  for (const field of serverFields) restoreField(draft.metadata, oldObject.metadata, field);
  delete draft.metadata.resourceVersion;
  dropSelfLink(draft.metadata);
}

const serverFields = [...fixedFields, "generation"] as const;

function dropSelfLink(meta: DraftMeta): void {
  delete (meta as { selfLink?: string }).selfLink;
}

/** metadata.generation counts changes of the desired state, not of the status. */
export function setGeneration(
  definition: ResourceDefinition,
  draft: Unstructured,
  oldObject: ApiObject | undefined,
): void {
  const counts = definition.countsGenerations ?? (draft.spec !== undefined || oldObject?.spec !== undefined);
  const old = oldObject?.metadata.generation as number | undefined;
  if (!counts) {
    if (old === undefined) delete draft.metadata.generation;
  } else if (!oldObject) draft.metadata.generation = 1;
  else if (hasSameSpec(draft, oldObject)) {
    if (old !== undefined) draft.metadata.generation = old;
  } else draft.metadata.generation = (old ?? 0) + 1;
}

const notCounted = new Set(["apiVersion", "kind", "metadata", "status"]);

function hasSameSpec(draft: Unstructured, oldObject: ApiObject): boolean {
  const fields = new Set([...Object.keys(draft), ...Object.keys(oldObject)]);
  return [...fields].every(
    (field) => notCounted.has(field) || jsonEqual(draft[field] as Json, oldObject[field] as Json),
  );
}

/** Names of all kinds must be valid path segments. */
export function nameProblems({ metadata: { name } }: Unstructured): Problem[] {
  if (!name) return [{ path: "metadata.name", message: "Required value: name or generateName is required" }];
  const wrong =
    name === "." || name === ".."
      ? `may not be '${name}'`
      : ["/", "%"].filter((char) => name.includes(char)).map((char) => `may not contain '${char}'`)[0];
  return wrong
    ? [{ path: "metadata.name", message: `Invalid value: ${JSON.stringify(name)}: ${wrong}` }]
    : [];
}

/** No finalizers can be added to an object that is being deleted. */
export function finalizerProblems(draft: Unstructured, oldObject: ApiObject): Problem[] {
  if (oldObject.metadata.deletionTimestamp === undefined) return [];
  const old = (oldObject.metadata.finalizers as string[] | undefined) ?? [];
  const more = [...new Set(draft.metadata.finalizers ?? [])]
    .filter((name) => !old.includes(name))
    .sort(compareText);
  if (more.length === 0) return [];
  const list = more.map((name) => JSON.stringify(name)).join(", ");
  const message = `Forbidden: no new finalizers can be added if the object is being deleted, found new finalizers []string{${list}}`;
  return [{ path: "metadata.finalizers", message }];
}
