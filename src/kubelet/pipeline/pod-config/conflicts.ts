import { fullNameOf, type Pod, type PodSourceName, podRef } from "../../../lib/model/pod.ts";

/** Precedence of the sources that specify the same pod, highest first. */
const precedence: readonly PodSourceName[] = ["file", "http", "applied", "api"];

export interface Conflict {
  source: PodSourceName;
  pod: Pod;
  message: string;
}

export interface ResolvedSets {
  desired: Map<PodSourceName, readonly Pod[]>;
  conflicts: Conflict[];
}

/**
 * Keeps one pod for each name and each UID. A pod from the API server may have the name of a static pod: usually it is its mirror pod. The API
 * has no duplicates.
 */
export function resolveConflicts(sets: ReadonlyMap<PodSourceName, readonly Pod[]>): ResolvedSets {
  const resolved: ResolvedSets = { desired: new Map(), conflicts: [] };
  const uids = new Map<string, PodSourceName>();
  const names = new Map<string, PodSourceName>();
  for (const source of precedence) {
    const pods = sets.get(source);
    if (!pods) continue;
    const conflictOf = (pod: Pod): Conflict | undefined => {
      const nameHolder = source === "api" ? undefined : names.get(fullNameOf(pod));
      const holder = nameHolder ?? uids.get(pod.metadata.uid);
      if (holder === undefined) {
        if (source === "api") return undefined;
        names.set(fullNameOf(pod), source);
        uids.set(pod.metadata.uid, source);
        return undefined;
      }
      const what = nameHolder ? `duplicate pod name "${pod.metadata.name}"` : "duplicate UID";
      const message = `Error validating pod ${podRef(pod)} from ${source} due to ${what}, ignoring`;
      return {
        source,
        pod,
        message: holder === source ? message : `${message} (the one from ${holder} is used)`,
      };
    };
    const rejected = new Set<Pod>();
    for (const pod of pods) {
      const conflict = conflictOf(pod);
      if (!conflict) continue;
      rejected.add(pod);
      resolved.conflicts.push(conflict);
    }
    // A large set without conflicts is not copied.
    resolved.desired.set(source, rejected.size === 0 ? pods : pods.filter((pod) => !rejected.has(pod)));
  }
  return resolved;
}
