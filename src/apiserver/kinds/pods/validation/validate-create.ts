import type { Problem } from "../../../../lib/model/validation/problem.ts";
import type { Unstructured } from "../../../definition.ts";
import { FieldProblems } from "../../field-problems.ts";
import { checkAppArmorAgrees } from "../app-armor.ts";
import { asPod } from "../pod-draft.ts";
import { checkSeccompAgrees } from "./annotations.ts";
import { checkWholePod } from "./check-pod.ts";

export function validateCreate(draft: Unstructured): Problem[] {
  const problems = new FieldProblems();
  const pod = asPod(draft);
  checkWholePod(draft, problems);
  if (pod.spec.ephemeralContainers?.length)
    problems.forbidden("spec.ephemeralContainers", "cannot be set on create");
  if (pod.spec.nodeName && pod.spec.schedulingGates?.length)
    problems.forbidden("spec.nodeName", "cannot be set until all schedulingGates have been cleared");
  checkSeccompAgrees(pod, problems);
  checkAppArmorAgrees(pod, problems);
  return problems.list;
}
