import { applyPodDefaults } from "../defaults/pod.ts";
import type { Pod } from "../pod.ts";
import { checkContainers } from "./containers.ts";
import { decodePod } from "./decode-pod.ts";
import { checkMetadata } from "./metadata.ts";
import { type Problem, Problems } from "./problem.ts";
import { checkOverhead, checkPodResources } from "./resources.ts";
import { checkPodSecurity } from "./security.ts";
import { checkSpecFields } from "./spec.ts";
import { checkVolumes } from "./volumes.ts";

export type Validated = { pod: Pod; unknownFields: string[] } | { problems: Problem[] };

/** The semantic half of validation, for a pod that is complete: defaults filled in, name and namespace set. */
export function checkPod(pod: Pod): Problem[] {
  const problems = new Problems();
  checkMetadata(pod, problems);
  const volumes = checkVolumes(pod.spec, problems);
  checkContainers(pod.spec, volumes, problems);
  checkPodResources(pod.spec, problems);
  checkSpecFields(pod.spec, problems);
  checkPodSecurity(pod.spec, problems);
  checkOverhead(pod.spec.overhead, problems);
  return problems.list;
}

/** Anything that was parsed, to a Pod that is complete and sound, or to all that is wrong with it. */
export function validatePod(input: unknown): Validated {
  const decoded = decodePod(input);
  if ("problems" in decoded) return decoded;
  const pod = applyPodDefaults(decoded.pod) as Pod;
  pod.metadata.namespace ||= "default";
  const problems = checkPod(pod);
  return problems.length > 0 ? { problems } : { pod, unknownFields: decoded.unknownFields };
}
