import type { Logger } from "../../lib/base/logger.ts";
import { type Pod, podRef } from "../../lib/model/pod.ts";

/**
 * Fields of a pod that are accepted and change nothing yet. A name leaves this list together with the code that acts
 * on it.
 */
const idleFields: (keyof Pod["spec"])[] = [];
/** Without an API server there are no objects that these could mean. */
const idleAlone: (keyof Pod["spec"])[] = ["runtimeClassName"];

export function notActedOn(pod: Pod, hasApi: boolean): string[] {
  const fields = hasApi ? idleFields : [...idleAlone, ...idleFields];
  return fields.filter((field) => isSet(pod.spec[field])).map((field) => `spec.${field}`);
}

/** One line a pod, when it arrives. */
export function warnOfIdleFields(pod: Pod, hasApi: boolean, logger: Logger): void {
  const idle = notActedOn(pod, hasApi);
  if (idle.length > 0)
    logger.warn("accepted but not acted on yet", { pod: podRef(pod), fields: idle.join(", ") });
}

function isSet(value: unknown): boolean {
  return value !== undefined && value !== null && !(Array.isArray(value) && value.length === 0);
}
