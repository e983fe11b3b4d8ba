import { isDeepStrictEqual } from "node:util";
import {
  annotationMirror,
  annotationSeen,
  annotationSource,
  fullNameOf,
  type Pod,
} from "../../../lib/model/pod.ts";

/** Annotations that this node writes itself: no news when they differ. */
const local = [annotationSource, annotationMirror, annotationSeen];

export type Difference = "none" | "status" | "deletion" | "spec";

/** What a new version of a known pod (same UID) means. */
export function compare(known: Pod, next: Pod): Difference {
  if (sameMeaning(known, next)) return isDeepStrictEqual(known.status, next.status) ? "none" : "status";
  return next.metadata.deletionTimestamp === undefined ? "spec" : "deletion";
}

function sameMeaning(known: Pod, next: Pod): boolean {
  return (
    // A UID that was written into a manifest stays when its name is changed.
    fullNameOf(known) === fullNameOf(next) &&
    isDeepStrictEqual(known.spec, next.spec) &&
    isDeepStrictEqual(known.metadata.labels ?? {}, next.metadata.labels ?? {}) &&
    known.metadata.deletionTimestamp === next.metadata.deletionTimestamp &&
    known.metadata.deletionGracePeriodSeconds === next.metadata.deletionGracePeriodSeconds &&
    isDeepStrictEqual(foreignAnnotations(known), foreignAnnotations(next))
  );
}

function foreignAnnotations(pod: Pod): Record<string, string> {
  const annotations = { ...pod.metadata.annotations };
  for (const key of local) delete annotations[key];
  return annotations;
}

/** The new version, with what this node had noted on the known one. */
export function carryOver({ given, told }: { given: Pod; told: Pod }, next: Pod): Pod {
  const isSame = given.metadata.annotations === next.metadata.annotations;
  const annotations = isSame ? told.metadata.annotations : withNotes(told, next);
  return { ...next, metadata: { ...next.metadata, annotations } };
}

function withNotes(told: Pod, next: Pod): Record<string, string> {
  const annotations = { ...next.metadata.annotations };
  for (const key of local) {
    const value = told.metadata.annotations?.[key];
    if (value !== undefined) annotations[key] = value;
  }
  return annotations;
}
