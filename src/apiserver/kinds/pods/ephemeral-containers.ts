import type { Problem } from "../../../lib/model/validation/problem.ts";
import type { Unstructured, UpdateSubresource } from "../../definition.ts";
import type { ApiObject } from "../../storage/object.ts";
import { FieldProblems } from "../field-problems.ts";
import { checkMetaUpdate } from "../metadata.ts";
import { asPod, isMirror } from "./pod-draft.ts";
import { jsonDiff, sameJson } from "./spec-diff.ts";
import { allBut, keepTheRest } from "./subresource-meta.ts";
import { checkWholePod } from "./validation/check-pod.ts";

/** The subresource for debugging a running pod: it can only add containers. */
export const ephemeralContainersSubresource: UpdateSubresource = {
  type: "update",
  ignored: allBut("ephemeralContainers"),
  prepareUpdate(draft, oldObject) {
    const pod = asPod(draft);
    const old = asPod(oldObject);
    const added = pod.spec.ephemeralContainers;
    pod.spec = structuredClone(old.spec);
    if (added) pod.spec.ephemeralContainers = added;
    else delete pod.spec.ephemeralContainers;
    keepTheRest(pod, old);
  },
  validateUpdate,
};

function validateUpdate(draft: Unstructured, oldObject: ApiObject): readonly Problem[] {
  const pod = asPod(draft);
  const old = asPod(oldObject);
  const problems = new FieldProblems();
  if (isMirror(old)) {
    problems.forbidden("", "static pods do not support ephemeral containers");
    return problems.list;
  }
  checkMetaUpdate(draft, oldObject, problems);
  checkWholePod(draft, problems);
  const path = "spec.ephemeralContainers";
  const byName = new Map((pod.spec.ephemeralContainers ?? []).map((each) => [each.name, each]));
  // Patches may change the order, so each is looked up by its name.
  for (const oldContainer of old.spec.ephemeralContainers ?? []) {
    const name = JSON.stringify(oldContainer.name);
    const same = byName.get(oldContainer.name);
    if (!same) problems.forbidden(path, `existing ephemeral containers ${name} may not be removed\n`);
    else if (!sameJson(oldContainer, same))
      problems.forbidden(
        path,
        `existing ephemeral containers ${name} may not be changed\n${jsonDiff(oldContainer, same)}`,
      );
  }
  return problems.list;
}
