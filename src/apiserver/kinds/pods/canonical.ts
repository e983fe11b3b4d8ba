import { canonicalQuantity } from "../../../lib/model/quantity-form.ts";
import type { PodDraft } from "./pod-draft.ts";

type Fields = Record<string, unknown>;

/** Maps with user-defined keys: their entries are not fields. */
const userMaps = new Set([
  ...["nodeSelector", "labels", "annotations", "matchLabels", "limits", "requests", "overhead"],
  ...["options", "volumeAttributes", "userAnnotations"],
]);

/** Lists that are kept when empty: validation reports them. */
const keptLists = new Set(["containers", "nodeSelectorTerms"]);

/**
 * Fields in which an empty string, false or 0 means the same as absence. By parent where the name alone is ambiguous.
 */
const zeroIsAbsent = new Set([
  ...["hostNetwork", "hostPID", "hostIPC", "stdin", "stdinOnce", "tty", "volumeMounts.readOnly"],
  ...["hostPort", "initialDelaySeconds"],
  ...["nodeName", "hostname", "subdomain", "priorityClassName", "serviceAccountName", "serviceAccount"],
  ...["schedulerName", "workingDir", "hostIP", "subPath", "subPathExpr", "prefix", "medium", "host"],
  ...["targetContainerName", "ports.name", "containerName", "fsType", "env.value"],
  ...["tolerations.key", "tolerations.value", "tolerations.operator", "tolerations.effect"],
]);

/** Quantities outside of resource lists; those are rounded with the defaults. */
const quantities = new Set(["sizeLimit", "divisor"]);

/**
 * Equal values get equal notations: empty fields are omitted, and quantities are normalized. So if two specs differ, their meanings differ.
 */
export function canonicalize(pod: PodDraft): void {
  cleanInside(pod.spec, "spec");
  for (const field of ["labels", "annotations", "finalizers", "ownerReferences"] as const)
    if (isEmptyContainer(pod.metadata[field])) delete pod.metadata[field];
}

function clean(fields: Fields, parent: string): void {
  for (const [key, value] of Object.entries(fields)) {
    if (isEmpty(key, value, parent)) delete fields[key];
    else if (Array.isArray(value)) for (const item of value) cleanInside(item, key);
    else if (quantities.has(key)) fields[key] = canonicalQuantity(value as string | number) ?? value;
    else if (!userMaps.has(key)) cleanInside(value, key);
  }
}

function cleanInside(value: unknown, key: string): void {
  if (typeof value === "object" && value !== null) clean(value as Fields, key);
}

function isEmpty(key: string, value: unknown, parent: string): boolean {
  if (value === undefined || value === null) return true;
  if (Array.isArray(value)) return value.length === 0 && !keptLists.has(key);
  if (typeof value === "object") return userMaps.has(key) && isEmptyContainer(value);
  if (value !== "" && value !== false && value !== 0) return false;
  return zeroIsAbsent.has(key) || zeroIsAbsent.has(`${parent}.${key}`);
}

function isEmptyContainer(value: unknown): boolean {
  return typeof value === "object" && value !== null && Object.keys(value).length === 0;
}
