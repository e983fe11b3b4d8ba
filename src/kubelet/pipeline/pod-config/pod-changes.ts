import {
  annotationSeen,
  annotationSource,
  type Pod,
  type PodSourceName,
  type PodUid,
} from "../../../lib/model/pod.ts";
import { type Operation, operations, type PodChange } from "../../state/pod-change.ts";
import { carryOver, compare } from "./compare.ts";

/** A pod as its source last gave it, and as it was told. */
export interface KnownPod {
  readonly given: Pod;
  readonly told: Pod;
}

export type KnownPods = Map<PodUid, KnownPod>;

/** Compares what is known of a source with its new set, brings it up to date, and says what to tell. */
export function updateKnownPods(
  source: PodSourceName,
  known: KnownPods,
  wanted: readonly Pod[],
  now: Date,
): PodChange[] {
  const byOperation = new Map<Operation, Pod[]>(operations.map((op) => [op, []]));
  const tell = (op: Operation, pod: Pod) => byOperation.get(op)?.push(pod);

  for (const pod of wanted) {
    const { uid } = pod.metadata;
    const before = known.get(uid);
    // Sources that keep what has not changed make a large set cheap to look through.
    if (before?.given === pod) continue;
    if (!before) {
      const seen = annotated(pod, { [annotationSource]: source, [annotationSeen]: now.toISOString() });
      known.set(uid, { given: pod, told: seen });
      tell("ADD", seen);
      continue;
    }
    const difference = compare(before.told, pod);
    const after = difference === "none" ? before.told : carryOver(before, pod);
    known.set(uid, { given: pod, told: after });
    if (difference === "spec") tell("UPDATE", after);
    else if (difference === "deletion") tell("DELETE", after);
    else if (difference === "status") tell("RECONCILE", after);
  }
  // Each is wanted once: with as many as are wanted, none is too many.
  if (known.size > wanted.length) {
    const uids = new Set(wanted.map((pod) => pod.metadata.uid));
    for (const [uid, { told }] of known) {
      if (uids.has(uid)) continue;
      known.delete(uid);
      tell("REMOVE", told);
    }
  }
  // Who came first is let in first, where there is no room for all.
  byOperation.get("ADD")?.sort(byAge);

  return operations
    .map((op) => ({ op, source, pods: byOperation.get(op) ?? [] }))
    .filter((change) => change.pods.length > 0);
}

/** Pods of manifests have no such time: they keep their order, before all others. */
function byAge(a: Pod, b: Pod): number {
  return (
    Date.parse(a.metadata.creationTimestamp ?? "1970-01-01") -
    Date.parse(b.metadata.creationTimestamp ?? "1970-01-01")
  );
}

function annotated(pod: Pod, more: Record<string, string>): Pod {
  return { ...pod, metadata: { ...pod.metadata, annotations: { ...pod.metadata.annotations, ...more } } };
}
