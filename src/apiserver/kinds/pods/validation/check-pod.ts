import { dnsLabel, dnsSubdomain, qualifiedName } from "../../../../lib/base/name-rules.ts";
import { checkPod } from "../../../../lib/model/validation/validate-pod.ts";
import type { Unstructured } from "../../../definition.ts";
import type { FieldProblems } from "../../field-problems.ts";
import { checkMeta } from "../../metadata.ts";
import { nameIsSubdomain } from "../../names.ts";
import { asModelPod, asPod, isMirror, type PodDraft } from "../pod-draft.ts";
import { checkAffinity } from "./affinity.ts";
import { checkPodAnnotations } from "./annotations.ts";
import { checkEphemeralContainers } from "./ephemeral-containers.ts";
import { checkTopologySpread } from "./topology-spread.ts";

/** The rules of every write of a pod: all that a kubelet checks, and those that only concern scheduling. */
export function checkWholePod(draft: Unstructured, problems: FieldProblems): void {
  const pod = asPod(draft);
  checkMeta(draft, { namespaced: true, nameRule: nameIsSubdomain }, problems);
  checkPodAnnotations(pod, problems);
  checkPod(asModelPod(withoutOurs(pod)), problems);
  checkClaims(pod, problems);
  checkEphemeralContainers(pod.spec, problems);
  checkInitResizePolicies(pod, problems);
  checkAffinity(pod.spec, problems);
  checkGates(pod, problems);
  checkTopologySpread(pod.spec, problems);
  checkTokenNeedsAccount(pod, problems);
}

/**
 * A node rejects some fields that the API allows, and phrases some errors differently: these fields are checked here.
 */
function withoutOurs(pod: PodDraft): PodDraft {
  const {
    name: _name,
    labels: _labels,
    annotations: _annotations,
    finalizers: _finalizers,
    ...rest
  } = pod.metadata;
  const { schedulingGates: _g, ephemeralContainers: _e, ...spec } = pod.spec;
  return { ...pod, metadata: { ...rest, name: "pod", namespace: "default" }, spec };
}

function checkGates(pod: PodDraft, problems: FieldProblems): void {
  const seen = new Set<string>();
  for (const [i, { name = "" }] of (pod.spec.schedulingGates ?? []).entries()) {
    const path = `spec.schedulingGates[${i}]`;
    problems.check(path, name, qualifiedName(name));
    if (seen.has(name)) problems.duplicate(path, name);
    seen.add(name);
  }
}

function checkClaims(pod: PodDraft, problems: FieldProblems): void {
  const seen = new Set<string>();
  const claims = (pod.spec.resourceClaims ?? []) as {
    name?: string;
    resourceClaimName?: string;
    resourceClaimTemplateName?: string;
  }[];
  for (const [i, claim] of claims.entries()) {
    const path = `spec.resourceClaims[${i}]`;
    const { name, resourceClaimName, resourceClaimTemplateName } = claim;
    if (isMirror(pod)) {
      problems.forbidden("", "static pods do not support resource claims");
      continue;
    }
    if (!name) problems.required(`${path}.name`);
    else if (seen.has(name)) problems.duplicate(`${path}.name`, name);
    else problems.check(`${path}.name`, name, dnsLabel(name));
    if (name) seen.add(name);
    if (resourceClaimName !== undefined && resourceClaimTemplateName !== undefined)
      problems.invalid(
        path,
        claim,
        "at most one of `resourceClaimName` or `resourceClaimTemplateName` may be specified",
      );
    if (resourceClaimName === undefined && resourceClaimTemplateName === undefined)
      problems.invalid(path, claim, "must specify one of: `resourceClaimName`, `resourceClaimTemplateName`");
    for (const field of ["resourceClaimName", "resourceClaimTemplateName"] as const)
      if (claim[field] !== undefined)
        problems.check(`${path}.${field}`, claim[field], dnsSubdomain(claim[field]));
  }
}

/** An init container that runs once cannot be restarted for a resize. */
function checkInitResizePolicies(pod: PodDraft, problems: FieldProblems): void {
  for (const [i, container] of (pod.spec.initContainers ?? []).entries()) {
    if (container.restartPolicy === "Always") continue;
    for (const [j, policy] of (container.resizePolicy ?? []).entries())
      if (policy.restartPolicy === "RestartContainer")
        problems.invalid(
          `spec.initContainers[${i}].resizePolicy[${j}].restartPolicy`,
          policy.restartPolicy,
          "must not be set to 'RestartContainer' for non-sidecar initContainers",
        );
  }
}

function checkTokenNeedsAccount(pod: PodDraft, problems: FieldProblems): void {
  if (pod.spec.serviceAccountName) return;
  for (const [i, volume] of (pod.spec.volumes ?? []).entries())
    for (const [j, source] of (volume.projected?.sources ?? []).entries())
      if (source.serviceAccountToken)
        problems.forbidden(
          `spec.volumes[${i}].projected.sources[${j}].serviceAccountToken`,
          "must not be specified when serviceAccountName is not set",
        );
}
