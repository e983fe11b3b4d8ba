import type { Pod } from "../pod.ts";
import { checkContainers } from "./containers.ts";
import { checkMetadata } from "./metadata.ts";
import { type Problem, Problems } from "./problem.ts";
import { checkOverhead, checkPodResources } from "./resources.ts";
import { checkPodSecurity } from "./security.ts";
import { checkSpecFields } from "./spec.ts";
import { checkVolumes } from "./volumes.ts";

/** The semantic half of validation, for a pod that is complete: defaults filled in, name and namespace set. */
export function checkPod(
  pod: Pod,
  problems = new Problems(),
  options: { readonly comparesTaints?: boolean } = {},
): Problem[] {
  checkMetadata(pod, problems);
  const volumes = checkVolumes(pod.spec, problems);
  checkContainers(pod.spec, volumes, problems);
  checkPodResources(pod.spec, problems);
  checkSpecFields(pod.spec, problems, options);
  checkPodSecurity(pod.spec, problems);
  checkOverhead(pod.spec.overhead, problems);
  return problems.list;
}
