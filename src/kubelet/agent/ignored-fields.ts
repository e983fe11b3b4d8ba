import type { Logger } from "../../lib/base/logger.ts";
import { type Pod, podRef } from "../../lib/model/pod.ts";

/** Fields of a pod that are accepted but have no effect yet. A field is removed from this list when it is implemented. */
const ignoredEverywhere: (keyof Pod["spec"])[] = [];
/** Without an API server the objects that these refer to do not exist. */
const ignoredWithoutApi: (keyof Pod["spec"])[] = ["runtimeClassName"];

export function ignoredFields(pod: Pod, hasApi: boolean): string[] {
  const fields = hasApi ? ignoredEverywhere : [...ignoredWithoutApi, ...ignoredEverywhere];
  return fields.filter((field) => isSet(pod.spec[field])).map((field) => `spec.${field}`);
}

/** Logs one line per pod that is added. */
export function warnAboutIgnoredFields(pod: Pod, hasApi: boolean, logger: Logger): void {
  const ignored = ignoredFields(pod, hasApi);
  if (ignored.length > 0)
    logger.warn("Pod has fields that are not implemented yet", {
      pod: podRef(pod),
      fields: ignored.join(", "),
    });
}

function isSet(value: unknown): boolean {
  return value !== undefined && value !== null && !(Array.isArray(value) && value.length === 0);
}
