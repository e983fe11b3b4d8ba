import type { Logger } from "../base/logger.ts";
import { type Pod, podRef } from "../model/pod.ts";

/**
 * Fields of a pod that are accepted and change nothing yet. A name leaves this list together with the code that acts
 * on it.
 */
const idleFields: (keyof Pod["spec"])[] = ["runtimeClassName", "volumes"];

export function notActedOn(pod: Pod): string[] {
  return idleFields.filter((field) => isSet(pod.spec[field])).map((field) => `spec.${field}`);
}

/** One line a pod, when it arrives. */
export function warnOfIdleFields(pod: Pod, logger: Logger): void {
  const idle = notActedOn(pod);
  if (idle.length > 0)
    logger.warn("accepted but not acted on yet", { pod: podRef(pod), fields: idle.join(", ") });
}

function isSet(value: unknown): boolean {
  return value !== undefined && value !== null && !(Array.isArray(value) && value.length === 0);
}
