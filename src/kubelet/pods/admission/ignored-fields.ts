import type { Logger } from "../../../lib/base/logger.ts";
import { type Pod, podRef } from "../../../lib/model/pod.ts";

/** Fields of a pod that are accepted but have no effect: without an API server there are no RuntimeClasses. */
export function ignoredFields({ spec }: Pod, hasApi: boolean): string[] {
  return spec.runtimeClassName && !hasApi ? ["spec.runtimeClassName"] : [];
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
