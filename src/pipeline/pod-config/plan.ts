import {
  annotationSeen,
  annotationSource,
  type Pod,
  type PodSourceName,
  type PodUid,
} from "../../model/pod.ts";
import { type Operation, operations, type PodChange } from "./change.ts";
import { carryOver, compare } from "./compare.ts";

export type KnownPods = ReadonlyMap<PodUid, Pod>;

/** Compares what is known of a source with its new set, and says what to tell and what to know from now on. */
export function planChanges(
  source: PodSourceName,
  known: KnownPods,
  wanted: readonly Pod[],
  now: Date,
): { changes: PodChange[]; known: Map<PodUid, Pod> } {
  const byOperation = new Map<Operation, Pod[]>(operations.map((op) => [op, []]));
  const tell = (op: Operation, pod: Pod) => byOperation.get(op)?.push(pod);
  const next = new Map<PodUid, Pod>();

  for (const pod of wanted) {
    const { uid } = pod.metadata;
    const before = known.get(uid);
    if (!before) {
      const seen = annotated(pod, { [annotationSource]: source, [annotationSeen]: now.toISOString() });
      next.set(uid, seen);
      tell("ADD", seen);
      continue;
    }
    const difference = compare(before, pod);
    const after = difference === "none" ? before : carryOver(before, pod);
    next.set(uid, after);
    if (difference === "spec") tell("UPDATE", after);
    else if (difference === "deletion") tell("DELETE", after);
    else if (difference === "status") tell("RECONCILE", after);
  }
  for (const [uid, pod] of known) if (!next.has(uid)) tell("REMOVE", pod);

  const changes = operations
    .map((op) => ({ op, source, pods: byOperation.get(op) ?? [] }))
    .filter((change) => change.pods.length > 0);
  return { changes, known: next };
}

function annotated(pod: Pod, more: Record<string, string>): Pod {
  return { ...pod, metadata: { ...pod.metadata, annotations: { ...pod.metadata.annotations, ...more } } };
}
