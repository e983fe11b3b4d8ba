import { annotationMirror, isStatic, type Pod } from "./pod.ts";

const systemCritical = 2_000_000_000;

/** A pod that the node cannot do without: static, or of a priority that only the system's own pods have. */
export function isCritical(pod: Pod): boolean {
  const mirror = pod.metadata.annotations?.[annotationMirror] !== undefined;
  return isStatic(pod) || mirror || (pod.spec.priority ?? 0) >= systemCritical;
}
