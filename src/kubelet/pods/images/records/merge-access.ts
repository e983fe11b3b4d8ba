import type { WallTime } from "../../../../lib/base/time.ts";
import type {
  ImagePullCredentials,
  ImagePullSecret,
  PulledRecord,
  PullObjectCoordinates,
} from "./pull-record.ts";

/** The record with additional access to the image; the same record if nothing changes. */
export function withAccess(
  record: PulledRecord,
  name: string,
  more: ImagePullCredentials,
  now: WallTime,
): PulledRecord {
  const before = record.access.get(name);
  const after = mergeAccess(before, more);
  if (!after || after === before) return record;
  return { ...record, updatedAt: now, access: new Map([...record.access, [name, after]]) };
}

function mergeAccess(
  before: ImagePullCredentials | undefined,
  more: ImagePullCredentials,
): ImagePullCredentials | undefined {
  const { kubernetesSecrets: newSecrets = [], kubernetesServiceAccounts: newAccounts = [] } = more;
  if (!more.nodePodsAccessible && newSecrets.length === 0 && newAccounts.length === 0) return before;
  if (!before) return more;
  if (before.nodePodsAccessible) return before;
  if (more.nodePodsAccessible) return { nodePodsAccessible: true };
  const { kubernetesSecrets: oldSecrets = [], kubernetesServiceAccounts: oldAccounts = [] } = before;
  const secrets = mergeObjects(oldSecrets, newSecrets, sameSecret);
  const accounts = mergeObjects(oldAccounts, newAccounts, () => true);
  if (secrets === oldSecrets && accounts === oldAccounts) return before;
  return {
    ...(secrets.length > 0 && { kubernetesSecrets: secrets }),
    ...(accounts.length > 0 && { kubernetesServiceAccounts: accounts }),
  };
}

const sameSecret = (a: ImagePullSecret, b: ImagePullSecret) => a.credentialHash === b.credentialHash;

/** Each object once, in its newer version, sorted; the first list itself if nothing changes. */
function mergeObjects<A extends PullObjectCoordinates>(
  before: readonly A[],
  more: readonly A[],
  isSame: (a: A, b: A) => boolean,
): readonly A[] {
  const all = new Map(before.map((object) => [keyOf(object), object]));
  let changed = false;
  for (const object of more) {
    const known = all.get(keyOf(object));
    if (known && isSame(known, object)) continue;
    all.set(keyOf(object), object);
    changed = true;
  }
  if (!changed) return before;
  return [...all].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, object]) => object);
}

/** Sorts by namespace, then name, then UID. */
export function keyOf({ namespace, name, uid }: PullObjectCoordinates): string {
  return `${namespace}\0${name}\0${uid}`;
}
