import { fullNameOf, type Pod, type PodSourceName, podRef } from "../../../lib/model/pod.ts";

/** Who wins when two sources want the same pod, first to last. */
const rank: readonly PodSourceName[] = ["file", "http", "applied", "api"];

export interface Conflict {
  source: PodSourceName;
  pod: Pod;
  message: string;
}

export interface Settled {
  wanted: Map<PodSourceName, readonly Pod[]>;
  conflicts: Conflict[];
}

/**
 * Each name and each UID for one pod only. Between a static source and the API a name may repeat, because that is
 * what a mirror pod is; in the API nothing repeats.
 */
export function resolveConflicts(sets: ReadonlyMap<PodSourceName, readonly Pod[]>): Settled {
  const settled: Settled = { wanted: new Map(), conflicts: [] };
  const uids = new Map<string, PodSourceName>();
  const names = new Map<string, PodSourceName>();
  for (const source of rank) {
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
    const losers = new Set<Pod>();
    for (const pod of pods) {
      const conflict = conflictOf(pod);
      if (!conflict) continue;
      losers.add(pod);
      settled.conflicts.push(conflict);
    }
    // A large set without any trouble is passed on as it is.
    settled.wanted.set(source, losers.size === 0 ? pods : pods.filter((pod) => !losers.has(pod)));
  }
  return settled;
}
