import { rfc3339Nanos } from "../../../lib/base/time.ts";
import {
  annotationSeen,
  annotationSource,
  type Pod,
  type PodSourceName,
  type PodUid,
} from "../../../lib/model/pod.ts";
import { type Operation, operations, type PodChange } from "../../state/pod-change.ts";
import { carryOver, compare } from "./compare.ts";

/** A pod as last received from its source, and as emitted. */
export interface KnownPod {
  readonly received: Pod;
  readonly emitted: Pod;
}

export type KnownPods = Map<PodUid, KnownPod>;

/** Updates the known pods of a source to its new set and returns the changes. */
export function updateKnownPods(
  source: PodSourceName,
  known: KnownPods,
  desired: readonly Pod[],
  now: Date,
): PodChange[] {
  const byOperation = new Map<Operation, Pod[]>(operations.map((op) => [op, []]));
  const emit = (op: Operation, pod: Pod) => byOperation.get(op)?.push(pod);

  for (const pod of desired) {
    const { uid } = pod.metadata;
    const before = known.get(uid);
    // Sources keep unchanged objects, so a large set is cheap to compare.
    if (before?.received === pod) continue;
    if (!before) {
      const annotatedPod = annotated(pod, {
        [annotationSource]: source,
        [annotationSeen]: rfc3339Nanos(now),
      });
      known.set(uid, { received: pod, emitted: annotatedPod });
      emit("ADD", annotatedPod);
      continue;
    }
    const difference = compare(before.emitted, pod);
    const after = difference === "none" ? before.emitted : carryOver(before, pod);
    known.set(uid, { received: pod, emitted: after });
    if (difference === "spec") emit("UPDATE", after);
    else if (difference === "deletion") emit("DELETE", after);
    else if (difference === "status") emit("RECONCILE", after);
  }
  // The desired UIDs are unique and all known: if the sizes are equal, no pod is removed.
  if (known.size > desired.length) {
    const uids = new Set(desired.map((pod) => pod.metadata.uid));
    for (const [uid, { emitted }] of known) {
      if (uids.has(uid)) continue;
      known.delete(uid);
      emit("REMOVE", emitted);
    }
  }
  // If not all of them fit on the node, the oldest is admitted first.
  byOperation.get("ADD")?.sort(byAge);

  return operations
    .map((op) => ({ op, source, pods: byOperation.get(op) ?? [] }))
    .filter((change) => change.pods.length > 0);
}

/**
 * Pods of manifests have no creation time: they keep their order, before all others. Creation times are in seconds: of pods of the same
 * second, those that started before this agent did are first, so that a newer pod does not take their resources after a restart.
 */
function byAge(a: Pod, b: Pod): number {
  return (
    timeOf(a.metadata.creationTimestamp, oldest) - timeOf(b.metadata.creationTimestamp, oldest) ||
    timeOf(a.status?.startTime, newest) - timeOf(b.status?.startTime, newest)
  );
}

const oldest = 0;
const newest = Number.MAX_SAFE_INTEGER;

function timeOf(time: string | undefined, otherwise: number): number {
  return time === undefined ? otherwise : Date.parse(time);
}

function annotated(pod: Pod, more: Record<string, string>): Pod {
  return { ...pod, metadata: { ...pod.metadata, annotations: { ...pod.metadata.annotations, ...more } } };
}
