import { fullNameOf, type Pod, type PodSourceName, podRef } from "../../model/pod.ts";

/** Who wins when two sources want the same pod, first to last. */
const rank: readonly PodSourceName[] = ["file", "http", "api"];

export interface Conflict {
  source: PodSourceName;
  pod: Pod;
  message: string;
}

export interface Settled {
  wanted: Map<PodSourceName, Pod[]>;
  conflicts: Conflict[];
}

/**
 * Each name and each UID for one pod only. Between a static source and the API a name may repeat, because that is
 * what a mirror pod is.
 */
export function settleConflicts(sets: ReadonlyMap<PodSourceName, readonly Pod[]>): Settled {
  const settled: Settled = { wanted: new Map(), conflicts: [] };
  const uids = new Map<string, PodSourceName>();
  const staticNames = new Map<string, PodSourceName>();
  for (const source of rank) {
    const pods = sets.get(source);
    if (!pods) continue;
    const names = source === "api" ? new Map<string, PodSourceName>() : staticNames;
    const wanted: Pod[] = [];
    for (const pod of pods) {
      const holder = names.get(fullNameOf(pod)) ?? uids.get(pod.metadata.uid);
      if (holder !== undefined) {
        const what = names.has(fullNameOf(pod))
          ? `duplicate pod name "${pod.metadata.name}"`
          : "duplicate UID";
        const message = `Error validating pod ${podRef(pod)} from ${source} due to ${what}, ignoring`;
        settled.conflicts.push({
          source,
          pod,
          message: holder === source ? message : `${message} (the one from ${holder} is used)`,
        });
        continue;
      }
      names.set(fullNameOf(pod), source);
      uids.set(pod.metadata.uid, source);
      wanted.push(pod);
    }
    settled.wanted.set(source, wanted);
  }
  return settled;
}
