import { applyPodDefaults } from "../defaults/pod.ts";
import type { Pod } from "../pod.ts";
import { decodePod } from "./decode-pod.ts";
import type { Problem } from "./problem.ts";
import { checkPod } from "./validate-pod.ts";

type Validated = { pod: Pod; unknownFields: string[] } | { problems: Problem[] };

/** Decoding and validation, as for a manifest. */
export function validatePod(input: unknown): Validated {
  const decoded = decodePod(input);
  if ("problems" in decoded) return decoded;
  const pod = applyPodDefaults(decoded.pod) as Pod;
  pod.metadata.namespace ||= "default";
  const problems = checkPod(pod);
  return problems.length > 0 ? { problems } : { pod, unknownFields: decoded.unknownFields };
}
