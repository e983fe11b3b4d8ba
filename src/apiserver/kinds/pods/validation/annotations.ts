import { annotationMirror } from "../../../../lib/model/pod.ts";
import { descendingPath } from "../../../../lib/model/validation/paths.ts";
import type { FieldProblems } from "../../field-problems.ts";
import { checkAppArmorAnnotations, isAppArmorAnnotation } from "../app-armor.ts";
import { containersOf, isMirror, type PodDraft } from "../pod-draft.ts";

const deletionCost = "controller.kubernetes.io/pod-deletion-cost";
const seccompPod = "seccomp.security.alpha.kubernetes.io/pod";
const seccompContainer = "container.seccomp.security.alpha.kubernetes.io/";

type Profile = { type?: string; localhostProfile?: string };

/** Pod annotations with a meaning to Kubernetes. */
export function checkPodAnnotations(pod: PodDraft, problems: FieldProblems): void {
  const annotations = pod.metadata.annotations ?? {};
  if (isMirror(pod) && !pod.spec.nodeName)
    problems.invalid(
      `metadata.annotations[${annotationMirror}]`,
      annotations[annotationMirror],
      "must set spec.nodeName if mirror pod annotation is set",
    );
  const cost = annotations[deletionCost];
  if (cost !== undefined && !isInt32(cost))
    problems.invalid(`metadata.annotations[${deletionCost}]`, cost, "must be a 32bit integer");
  for (const [key, value] of Object.entries(annotations))
    if (key === seccompPod || key.startsWith(seccompContainer))
      checkSeccomp(value, `metadata.annotations.${key}`, problems);
  checkAppArmorAnnotations(pod, problems);
}

/** Annotations that are immutable after creation. */
export function checkAnnotationUpdates(pod: PodDraft, oldObject: PodDraft, problems: FieldProblems): void {
  const annotations = pod.metadata.annotations ?? {};
  const old = oldObject.metadata.annotations ?? {};
  for (const key of new Set([...Object.keys(old), ...Object.keys(annotations)])) {
    if (annotations[key] === old[key]) continue;
    const did = old[key] === undefined ? "add" : "remove or update";
    const path = `metadata.annotations[${key}]`;
    if (isAppArmorAnnotation(key)) problems.forbidden(path, `may not ${did} AppArmor annotations`);
    if (key === annotationMirror) problems.forbidden(path, `may not ${did} mirror pod annotation`);
  }
}

/** A profile that is set by field and by annotation must be the same in both. */
export function checkSeccompAgrees(pod: PodDraft, problems: FieldProblems): void {
  const annotations = pod.metadata.annotations ?? {};
  compare(
    annotations[seccompPod],
    pod.spec.securityContext?.seccompProfile,
    "spec.securityContext.seccompProfile",
    problems,
  );
  for (const { container, path } of containersOf(pod.spec))
    compare(
      annotations[seccompContainer + container.name],
      container.securityContext?.seccompProfile,
      `${path}.securityContext.seccompProfile`,
      problems,
    );
}

function compare(
  annotation: string | undefined,
  profile: Profile | undefined,
  at: string,
  problems: FieldProblems,
): void {
  if (annotation === undefined || !profile) return;
  if (typeOf(annotation) !== profile.type)
    problems.forbidden(`${at}.type`, "seccomp type in annotation and field must match");
  else if (profile.type === "Localhost" && annotation !== `localhost/${profile.localhostProfile}`)
    problems.forbidden(`${at}.localhostProfile`, "seccomp profile in annotation and field must match");
}

function typeOf(annotation: string): string | undefined {
  if (annotation === "unconfined") return "Unconfined";
  if (annotation === "runtime/default" || annotation === "docker/default") return "RuntimeDefault";
  return annotation.startsWith("localhost/") ? "Localhost" : undefined;
}

function checkSeccomp(value: string, at: string, problems: FieldProblems): void {
  const type = typeOf(value);
  if (type === undefined) problems.invalid(at, value, "must be a valid seccomp profile");
  else if (type === "Localhost") {
    const path = value.slice("localhost/".length);
    problems.check(at, path, descendingPath(path));
  }
}

function isInt32(text: string): boolean {
  const value = Number(text);
  return /^-?(0|[1-9]\d*)$/.test(text) && value >= -(2 ** 31) && value < 2 ** 31;
}
