import { isDeepStrictEqual } from "node:util";
import {
  annotationMirror,
  annotationSeen,
  annotationSource,
  fullNameOf,
  type Pod,
} from "../../../lib/model/pod.ts";

/** Annotations that this node writes itself: a difference is ignored. */
const local = [annotationSource, annotationMirror, annotationSeen];

export type Difference = "none" | "status" | "deletion" | "spec";

/** The kind of change in a new version of a known pod (same UID). */
export function compare(known: Pod, next: Pod): Difference {
  if (isSemanticallyEqual(known, next))
    return isDeepStrictEqual(known.status, next.status) ? "none" : "status";
  return next.metadata.deletionTimestamp === undefined ? "spec" : "deletion";
}

function isSemanticallyEqual(known: Pod, next: Pod): boolean {
  return (
    // A UID in a manifest remains the same when the name changes.
    fullNameOf(known) === fullNameOf(next) &&
    isDeepStrictEqual(known.spec, next.spec) &&
    isDeepStrictEqual(known.metadata.labels ?? {}, next.metadata.labels ?? {}) &&
    known.metadata.deletionTimestamp === next.metadata.deletionTimestamp &&
    known.metadata.deletionGracePeriodSeconds === next.metadata.deletionGracePeriodSeconds &&
    isDeepStrictEqual(sourceAnnotations(known), sourceAnnotations(next))
  );
}

function sourceAnnotations(pod: Pod): Record<string, string> {
  const annotations = { ...pod.metadata.annotations };
  for (const key of local) delete annotations[key];
  return annotations;
}

/** The new version, with the annotations of this node on the known one. */
export function carryOver({ received, emitted }: { received: Pod; emitted: Pod }, next: Pod): Pod {
  const isSame = received.metadata.annotations === next.metadata.annotations;
  const annotations = isSame ? emitted.metadata.annotations : withLocalAnnotations(emitted, next);
  return { ...next, metadata: { ...next.metadata, annotations } };
}

function withLocalAnnotations(emitted: Pod, next: Pod): Record<string, string> {
  const annotations = { ...next.metadata.annotations };
  for (const key of local) {
    const value = emitted.metadata.annotations?.[key];
    if (value !== undefined) annotations[key] = value;
  }
  return annotations;
}
