import { annotationMirror, isStatic, type Pod } from "./pod.ts";

const systemCritical = 2_000_000_000;

/** The value of the built-in priority classes, for pods without a priority. */
const systemClasses: Readonly<Record<string, number>> = {
  "system-node-critical": systemCritical + 1000,
  "system-cluster-critical": systemCritical,
};

/** The start priority: higher starts first. */
export function startPriority({ spec }: Pod): number {
  return spec.priority ?? systemClasses[spec.priorityClassName ?? ""] ?? 0;
}

/** A critical pod: static, or with a system-critical priority. */
export function isCritical(pod: Pod): boolean {
  const mirror = pod.metadata.annotations?.[annotationMirror] !== undefined;
  return isStatic(pod) || mirror || (pod.spec.priority ?? 0) >= systemCritical;
}

/**
 * True if a critical pod may preempt the other: any that is not critical; of critical ones, those with a lower priority if both have
 * one.
 */
export function isPreemptable(other: Pod, preemptor: Pod): boolean {
  if (isCritical(preemptor) && !isCritical(other)) return true;
  const [theirs, own] = [other.spec.priority, preemptor.spec.priority];
  return theirs !== undefined && own !== undefined && own > theirs;
}
