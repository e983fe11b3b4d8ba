import type { Pod, PodStatus } from "../../../lib/model/pod.ts";

type Fields = Record<string, unknown>;

/** A strategic merge patch of pods/status. */
export interface StatusPatch {
  /**
   * Both are preconditions. The UID: another pod of the name is not ours to write to. The resource version: what we made
   * the patch from is still what the API has, so that nothing of others is undone.
   */
  metadata: { uid: string; resourceVersion?: string };
  status: Fields;
}

/** Lists whose items the API merges by this key. The others, as container statuses, are replaced as a whole. */
const mergeKeys: Record<string, string> = { conditions: "type", podIPs: "ip", hostIPs: "ip" };
/** The order of addresses has a meaning: the first is the primary one. */
const ordered = new Set(["podIPs", "hostIPs"]);

/** What makes the status of a pod in the API this one; undefined if it is that already. */
export function statusPatch(api: Pod, after: PodStatus): StatusPatch | undefined {
  const status = changes((api.status ?? {}) as Fields, after as Fields, mergeKeys);
  if (Object.keys(status).length === 0) return undefined;
  const { uid, resourceVersion } = api.metadata;
  return { metadata: { uid, ...(resourceVersion ? { resourceVersion } : {}) }, status };
}

function changes(before: Fields, after: Fields, keys: Record<string, string> = {}): Fields {
  const patch: Fields = {};
  for (const field of new Set([...Object.keys(before), ...Object.keys(after)])) {
    const [old, now] = [before[field], after[field]];
    const key = keys[field];
    if (isSame(old, now)) continue;
    if (isNothing(now)) patch[field] = null;
    else if (isNothing(old)) patch[field] = now;
    else if (key) Object.assign(patch, listChanges(field, key, old as Fields[], now as Fields[]));
    else if (isFields(old) && isFields(now)) patch[field] = changes(old, now);
    else patch[field] = now;
  }
  return patch;
}

function listChanges(field: string, key: string, before: Fields[], after: Fields[]): Fields {
  const items: Fields[] = [];
  for (const item of after) {
    const old = before.find((b) => b[key] === item[key]);
    const changed = old ? changes(old, item) : item;
    if (Object.keys(changed).length > 0) items.push({ ...changed, [key]: item[key] });
  }
  for (const old of before)
    if (!after.some((a) => a[key] === old[key])) items.push({ $patch: "delete", [key]: old[key] });
  const names = (list: Fields[]) => list.map((item) => item[key]).join("\n");
  const moved = ordered.has(field) && names(before) !== names(after);
  if (items.length === 0 && !moved) return {};
  return {
    [`$setElementOrder/${field}`]: after.map((item) => ({ [key]: item[key] })),
    ...(items.length > 0 ? { [field]: items } : {}),
  };
}

/** In the API, null, an empty text, an empty list and an empty object are all the same as no such field. */
function isNothing(value: unknown): boolean {
  if (value === null || value === undefined || value === "") return true;
  return typeof value === "object" && Object.keys(value).length === 0;
}

function isFields(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function isSame(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (isNothing(a) || isNothing(b)) return isNothing(a) && isNothing(b);
  if (Array.isArray(a) && Array.isArray(b))
    return a.length === b.length && a.every((item, i) => isSame(item, b[i]));
  if (!isFields(a) || !isFields(b)) return false;
  return [...new Set([...Object.keys(a), ...Object.keys(b)])].every((field) => isSame(a[field], b[field]));
}
