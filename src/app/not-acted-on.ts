import type { Logger } from "../base/logger.ts";
import { type Container, type Pod, podRef } from "../model/pod.ts";

const ofContainers: (keyof Container)[] = [
  "livenessProbe",
  "readinessProbe",
  "startupProbe",
  "lifecycle",
  "restartPolicyRules",
];
const ofPods: (keyof Pod["spec"])[] = [
  "activeDeadlineSeconds",
  "readinessGates",
  "runtimeClassName",
  "volumes",
];

/**
 * Fields of a pod that are accepted and change nothing yet. A name leaves these lists together with the code that acts
 * on it.
 */
export function notActedOn(pod: Pod): string[] {
  const { initContainers = [], containers } = pod.spec;
  const found = ofPods.filter((field) => isSet(pod.spec[field])).map((field) => `spec.${field}`);
  const look = (list: readonly Container[], name: string) =>
    list.flatMap((container, i) =>
      ofContainers.filter((field) => isSet(container[field])).map((field) => `spec.${name}[${i}].${field}`),
    );
  return [...found, ...look(initContainers, "initContainers"), ...look(containers, "containers")];
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
