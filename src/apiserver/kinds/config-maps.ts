import { configMapKey } from "../../lib/base/name-rules.ts";
import { defineKind } from "./define.ts";
import type { FieldProblems } from "./field-problems.ts";
import { nameIsSubdomain } from "./names.ts";
import { same } from "./same.ts";

/** All values of a ConfigMap or Secret together. */
export const dataBytes = 1024 * 1024;

const immutableDetail = "field is immutable when `immutable` is set";

export const configMaps = defineKind({
  group: "",
  version: "v1",
  name: "configmaps",
  singular: "configmap",
  kind: "ConfigMap",
  namespaced: true,
  shortNames: ["cm"],
  nameRule: nameIsSubdomain,
  check({ data, binaryData }, problems) {
    let bytes = 0;
    for (const [key, value] of entries(data)) {
      problems.check(`data[${key}]`, key, configMapKey(key));
      if (binaryData && Object.hasOwn(binaryData, key))
        problems.invalid(`data[${key}]`, key, "duplicate of key present in binaryData");
      bytes += Buffer.byteLength(value);
    }
    for (const [key, value] of entries(binaryData)) {
      problems.check(`binaryData[${key}]`, key, configMapKey(key));
      bytes += decodedBytes(value);
    }
    if (bytes > dataBytes) problems.tooLong("", dataBytes);
  },
  checkUpdate(draft, oldObject, problems) {
    checkImmutable(draft, oldObject, ["data", "binaryData"], problems);
  },
});

/** An immutable object remains immutable, and these fields cannot be changed. */
export function checkImmutable(
  draft: Readonly<Record<string, unknown>>,
  oldObject: Readonly<Record<string, unknown>>,
  fields: readonly string[],
  problems: FieldProblems,
): void {
  if (oldObject.immutable !== true) return;
  if (draft.immutable !== true) problems.forbidden("immutable", immutableDetail);
  for (const field of fields)
    if (!same(draft[field], oldObject[field])) problems.forbidden(field, immutableDetail);
}

export function entries(data: unknown): [string, string][] {
  return Object.entries((data ?? {}) as Record<string, string>);
}

/** The decoded length of base64. */
export function decodedBytes(base64: string): number {
  const padding = base64.endsWith("==") ? 2 : base64.endsWith("=") ? 1 : 0;
  return Math.floor((base64.length * 3) / 4) - padding;
}
