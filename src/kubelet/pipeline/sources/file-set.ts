import type { Pod } from "../../../lib/model/pod.ts";
import { fullNameOf, podRef } from "../../../lib/model/pod.ts";
import type { SourceProblem } from "./source.ts";

/** The known state of one manifest file. */
export interface FileState {
  /** The stamp of the file as last read. */
  stamp: string | undefined;
  /** The digest of the bytes that were last decoded. */
  digest: string | undefined;
  /** The pod of the last valid content; kept while the file is invalid. */
  pod: Pod | undefined;
  problems: SourceProblem[];
  warnings: SourceProblem[];
}

export interface FileSet {
  pods: Pod[];
  /** Files whose pod is already defined by another file. */
  conflicts: SourceProblem[];
  /** The pods of these files. */
  duplicates: Pod[];
}

/** The pods of all files. If two files define the same pod, the first by name wins. */
export function podsOf(files: ReadonlyMap<string, FileState>): FileSet {
  const set: FileSet = { pods: [], conflicts: [], duplicates: [] };
  const owners = new Map<string, string>();
  for (const [file, { pod }] of [...files].sort(([a], [b]) => (a < b ? -1 : 1))) {
    if (!pod) continue;
    const name = fullNameOf(pod);
    const sameName = owners.get(name);
    const sameUid = owners.get(pod.metadata.uid);
    if (sameName !== undefined || sameUid !== undefined) set.duplicates.push(pod);
    if (sameName !== undefined) {
      const message = `pod ${podRef(pod)} is already defined by ${sameName}: this file is not used`;
      set.conflicts.push({ file, field: "metadata.name", message });
    } else if (sameUid !== undefined) {
      const message = `uid ${pod.metadata.uid} is already used by ${sameUid}: this file is not used`;
      set.conflicts.push({ file, field: "metadata.uid", message });
    } else {
      owners.set(name, file);
      owners.set(pod.metadata.uid, file);
      set.pods.push(pod);
    }
  }
  return set;
}

/** True if both have the same pod objects in the same order. */
export function samePods(a: readonly Pod[] | undefined, b: readonly Pod[]): boolean {
  return a !== undefined && a.length === b.length && a.every((pod, i) => pod === b[i]);
}
