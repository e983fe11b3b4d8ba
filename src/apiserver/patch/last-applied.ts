import { isTooDeep } from "../../lib/base/json-value.ts";
import { FieldSet } from "./field-set.ts";
import { canonicalText, isObject, type Json, type JsonObject } from "./json-value.ts";
import type { Schema } from "./schema.ts";
import { compareObjects } from "./typed-compare.ts";
import { fieldSetOf } from "./typed-set.ts";

const annotation = "kubectl.kubernetes.io/last-applied-configuration";

/**
 * Fields that kubectl may take from other managers without force, because it set them by client-side apply: the fields
 * of the annotation that still have those values.
 */
export function allowedByLastApplied(live: JsonObject, schema: Schema): FieldSet {
  const text = annotationsOf(live)[annotation];
  const applied = typeof text === "string" ? parsed(text) : undefined;
  if (!isObject(applied) || applied.apiVersion !== schema.apiVersion) return new FieldSet();
  const { added, modified, removed } = compareObjects(applied, live, schema.root);
  return fieldSetOf(applied, schema.root).difference(added.union(modified).union(removed));
}

/** Updates the annotation, so that a later client-side apply finds the configuration that was applied here. */
export function withLastApplied(object: JsonObject, applied: JsonObject): JsonObject {
  const annotations = annotationsOf(object);
  if (!annotations[annotation]) return object;
  const { [annotation]: _, ...rest } = annotationsOf(applied);
  const metadata = isObject(applied.metadata) ? applied.metadata : {};
  const { annotations: __, ...others } = metadata;
  const shown = {
    ...applied,
    metadata: Object.keys(rest).length > 0 ? { ...others, annotations: rest } : others,
  };
  return {
    ...object,
    metadata: {
      ...(object.metadata as JsonObject),
      annotations: { ...annotations, [annotation]: `${canonicalText(shown)}\n` },
    },
  };
}

function annotationsOf(object: JsonObject): JsonObject {
  const annotations = isObject(object.metadata) ? object.metadata.annotations : undefined;
  return isObject(annotations) ? annotations : {};
}

function parsed(text: string): Json | undefined {
  try {
    const value = JSON.parse(text) as Json;
    return isTooDeep(value) ? undefined : value;
  } catch {
    return undefined;
  }
}
