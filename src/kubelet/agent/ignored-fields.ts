import type { Logger } from "../../lib/base/logger.ts";
import { type Pod, podRef } from "../../lib/model/pod.ts";

/**
 * Fields of a pod that are accepted and change nothing yet. A name leaves this list together with the code that acts
 * on it.
 */
const ignoredEverywhere: (keyof Pod["spec"])[] = [];
/** Without an API server there are no objects that these could mean. */
const ignoredWithoutApi: (keyof Pod["spec"])[] = ["runtimeClassName"];

export function ignoredFields(pod: Pod, hasApi: boolean): string[] {
  const fields = hasApi ? ignoredEverywhere : [...ignoredWithoutApi, ...ignoredEverywhere];
  return fields.filter((field) => isSet(pod.spec[field])).map((field) => `spec.${field}`);
}

/** One line a pod, when it arrives. */
export function warnAboutIgnoredFields(pod: Pod, hasApi: boolean, logger: Logger): void {
  const ignored = ignoredFields(pod, hasApi);
  if (ignored.length > 0)
    logger.warn("accepted but not acted on yet", { pod: podRef(pod), fields: ignored.join(", ") });
}

function isSet(value: unknown): boolean {
  return value !== undefined && value !== null && !(Array.isArray(value) && value.length === 0);
}
