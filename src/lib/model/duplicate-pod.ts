import type { Pod, PodSourceName } from "./pod.ts";
import type { PodEvents } from "./pod-events.ts";

/** Records that a pod does not run because another pod has its name or UID. */
export function reportDuplicate(
  events: Pick<PodEvents, "warning"> | undefined,
  pod: Pod,
  source: PodSourceName,
): void {
  const { name, namespace, uid } = pod.metadata;
  const message = `Error validating pod ${name}_${namespace}(${uid}) from ${source} due to duplicate pod name "${name}", ignoring`;
  events?.warning(pod, "FailedValidation", message);
}
