import type { Container, PodSpec } from "../../../../lib/model/pod.ts";
import type { Problem } from "../../../../lib/model/validation/problem.ts";
import type { Unstructured } from "../../../definition.ts";
import { canonicalText, type JsonObject } from "../../../patch/json-value.ts";
import type { ApiObject } from "../../../storage/object.ts";
import { FieldProblems } from "../../field-problems.ts";
import { checkMetaUpdate } from "../../metadata.ts";
import { asPod } from "../pod-draft.ts";
import { jsonDiff, sameJson } from "../spec-diff.ts";
import { checkAnnotationUpdates } from "./annotations.ts";
import { checkWholePod } from "./check-pod.ts";
import { checkGatedPlacement } from "./gated-placement.ts";

const changeable = [
  "`spec.containers[*].image`",
  "`spec.initContainers[*].image`",
  "`spec.activeDeadlineSeconds`",
  "`spec.tolerations` (only additions to existing tolerations)",
  "`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)",
].join(",");

/** Nearly all of a pod's spec is immutable. */
export function validateUpdate(draft: Unstructured, oldObject: ApiObject): Problem[] {
  const problems = new FieldProblems();
  const pod = asPod(draft);
  const old = asPod(oldObject);
  checkMetaUpdate(draft, oldObject, problems);
  checkWholePod(draft, problems);
  checkAnnotationUpdates(pod, old, problems);
  checkSpecUpdate(pod.spec, old.spec, problems);
  return problems.list;
}

function checkSpecUpdate(spec: PodSpec, old: PodSpec, problems: FieldProblems): void {
  for (const kind of ["containers", "initContainers"] as const)
    if ((spec[kind]?.length ?? 0) !== (old[kind]?.length ?? 0)) {
      problems.forbidden(`spec.${kind}`, "pod updates may not add or remove containers");
      return;
    }
  if (!checkDeadline(spec, old, problems)) return;
  checkAddedTolerations(spec, old, problems);
  checkRemovedGates(spec, old, problems);
  if (sameJson(spec, old)) return;
  const masked = withOldImages(spec, old);
  restore(masked, old, "activeDeadlineSeconds");
  restore(masked, old, "schedulingGates");
  restore(masked, old, "tolerations");
  if ((old.terminationGracePeriodSeconds ?? 0) < 0 && spec.terminationGracePeriodSeconds === 1)
    restore(masked, old, "terminationGracePeriodSeconds");
  if (old.schedulingGates?.length) checkGatedPlacement(masked, old, problems);
  if (!sameJson(masked, old))
    problems.forbidden(
      "spec",
      `pod updates may not change fields other than ${changeable}\n${jsonDiff(old, masked)}`,
    );
}

/** It may be set, and shortened. False if validation should stop here. */
function checkDeadline(spec: PodSpec, old: PodSpec, problems: FieldProblems): boolean {
  const path = "spec.activeDeadlineSeconds";
  const [newValue, oldValue] = [spec.activeDeadlineSeconds, old.activeDeadlineSeconds];
  if (newValue === undefined) {
    if (oldValue !== undefined)
      problems.invalid(path, undefined, "must not update from a positive integer to nil value");
    return true;
  }
  if (newValue < 0 || newValue > 2147483647) return false; // already reported
  if (oldValue === undefined || newValue <= oldValue) return true;
  problems.invalid(path, newValue, "must be less than or equal to previous value");
  return false;
}

function checkAddedTolerations(spec: PodSpec, old: PodSpec, problems: FieldProblems): void {
  const texts = ({ tolerations = [] }: PodSpec) =>
    new Set(tolerations.map(({ tolerationSeconds: _, ...rest }) => canonicalText(rest as JsonObject)));
  if (!texts(old).isSubsetOf(texts(spec)))
    problems.forbidden(
      "spec.tolerations",
      "existing toleration can not be modified except its tolerationSeconds",
    );
}

function checkRemovedGates(spec: PodSpec, old: PodSpec, problems: FieldProblems): void {
  const known = new Set((old.schedulingGates ?? []).map(({ name }) => name));
  for (const [i, { name }] of (spec.schedulingGates ?? []).entries())
    if (!known.has(name))
      problems.forbidden(
        `spec.schedulingGates[${i}].name`,
        `only deletion is allowed, but found new scheduling gate '${name}'`,
      );
}

function withOldImages(spec: PodSpec, old: PodSpec): PodSpec {
  const withImages = (newValue: Container[], oldValue: Container[] | undefined) =>
    newValue.map((container, i) => {
      const { image, ...rest } = { ...container, image: oldValue?.[i]?.image };
      return image === undefined ? rest : { ...rest, image };
    });
  const masked: PodSpec = { ...spec, containers: withImages(spec.containers, old.containers) };
  if (spec.initContainers) masked.initContainers = withImages(spec.initContainers, old.initContainers);
  return masked;
}

function restore<K extends keyof PodSpec>(spec: PodSpec, old: PodSpec, field: K): void {
  if (old[field] === undefined) delete spec[field];
  else spec[field] = old[field];
}
