import { isIP } from "node:net";
import { dnsSubdomain, qualifiedName } from "../../../../lib/base/name-rules.ts";
import type { Container, ContainerStatus } from "../../../../lib/model/pod.ts";
import { restartDecision } from "../../../../lib/model/restart-policy.ts";
import type { Problem } from "../../../../lib/model/validation/problem.ts";
import type { Unstructured } from "../../../definition.ts";
import type { ApiObject } from "../../../storage/object.ts";
import { FieldProblems } from "../../field-problems.ts";
import { checkMeta, checkMetaUpdate } from "../../metadata.ts";
import { nameIsSubdomain } from "../../names.ts";
import { asModelPod, asPod, type PodDraft } from "../pod-draft.ts";
import { checkAnnotationUpdates, checkPodAnnotations } from "./annotations.ts";
import { checkContainerStatuses } from "./container-statuses.ts";

/** Rejects status changes that no kubelet sends. */
export function validateStatusUpdate(draft: Unstructured, oldObject: ApiObject): Problem[] {
  const problems = new FieldProblems();
  const pod = asPod(draft);
  const old = asPod(oldObject);
  checkMetaUpdate(draft, oldObject, problems);
  checkMeta(draft, { namespaced: true, nameRule: nameIsSubdomain }, problems);
  checkAnnotationUpdates(pod, old, problems);
  checkPodAnnotations(pod, problems);
  checkConditions(pod, problems);
  checkNomination(pod, old, problems);
  const observed = pod.status?.observedGeneration ?? 0;
  if (observed < 0) problems.invalid("status.observedGeneration", observed, "must be a non-negative integer");
  problems.immutable("status.qosClass", pod.status?.qosClass ?? "", old.status?.qosClass ?? "");
  checkTransitions(pod, old, problems);
  checkClaimStatuses(pod, problems);
  checkIps(pod, old, problems);
  checkContainerStatuses(pod, problems);
  return problems.list;
}

function checkConditions(pod: PodDraft, problems: FieldProblems): void {
  for (const [i, { type, observedGeneration = 0 }] of (pod.status?.conditions ?? []).entries()) {
    const path = `status.conditions[${i}]`;
    if (observedGeneration < 0)
      problems.invalid(`${path}.observedGeneration`, observedGeneration, "must be a non-negative integer");
    problems.check(`${path}.Type`, type, qualifiedName(type));
  }
}

function checkNomination(pod: PodDraft, old: PodDraft, problems: FieldProblems): void {
  const nominated = pod.status?.nominatedNodeName;
  if (!nominated || nominated === old.status?.nominatedNodeName) return;
  const path = "status.nominatedNodeName";
  problems.check(path, nominated, dnsSubdomain(nominated));
  if (old.spec.nodeName) problems.forbidden(path, "may not be set on pods that are already bound to a node");
}

/** A terminated container starts again only if the restart policy allows it. */
function checkTransitions(pod: PodDraft, old: PodDraft, problems: FieldProblems): void {
  const { spec } = old;
  const all = [...(spec.initContainers ?? []), ...spec.containers];
  const anyRestartsAll = all.some(({ restartPolicyRules }) =>
    restartPolicyRules?.some(({ action }) => action === "RestartAllContainers"),
  );
  const mayRestart = (containers: readonly Container[] | undefined, name: string, exitCode: number) => {
    const container = containers?.find((each) => each.name === name);
    return container && restartDecision(asModelPod(old), container, "regular", exitCode) !== "no";
  };
  const check = (
    field: "containerStatuses" | "initContainerStatuses" | "ephemeralContainerStatuses",
    allowed: (name: string, exitCode: number) => boolean | undefined,
  ) => {
    const newStatuses = new Map((pod.status?.[field] ?? []).map((status) => [status.name, status]));
    for (const [i, oldStatus] of ((old.status?.[field] ?? []) as ContainerStatus[]).entries()) {
      const terminated = oldStatus.state?.terminated;
      const newStatus = newStatuses.get(oldStatus.name);
      if (
        !terminated ||
        !newStatus ||
        newStatus.state?.terminated ||
        allowed(oldStatus.name, terminated.exitCode)
      )
        continue;
      problems.forbidden(`status.${field}[${i}].state`, "may not be transitioned to non-terminated state");
    }
  };
  if (!anyRestartsAll) {
    check("containerStatuses", (name, code) => mayRestart(spec.containers, name, code));
    check("initContainerStatuses", (name, code) => mayRestart(spec.initContainers, name, code));
  }
  check("ephemeralContainerStatuses", () => false);
}

function checkClaimStatuses(pod: PodDraft, problems: FieldProblems): void {
  const claims = new Set((pod.spec.resourceClaims ?? []).map(({ name }) => name));
  const seen = new Set<string>();
  for (const [i, { name, resourceClaimName }] of (pod.status?.resourceClaimStatuses ?? []).entries()) {
    const path = `status.resourceClaimStatuses[${i}]`;
    if (!claims.has(name))
      problems.invalid(`${path}.name`, name, "must match the name of an entry in `spec.resourceClaims`");
    if (seen.has(name)) problems.duplicate(`${path}.name`, name);
    seen.add(name);
    if (resourceClaimName !== undefined)
      problems.check(`${path}.resourceClaimName`, resourceClaimName, dnsSubdomain(resourceClaimName));
  }
}

function checkIps(pod: PodDraft, old: PodDraft, problems: FieldProblems): void {
  const { hostIP = "", hostIPs = [] } = pod.status ?? {};
  if (hostIPs[0] && hostIPs[0].ip !== hostIP)
    problems.invalid("status.hostIPs[0].ip", hostIPs[0].ip, "must be equal to `hostIP`");
  for (const field of ["podIPs", "hostIPs"] as const) {
    const ips = (pod.status?.[field] ?? []).map(({ ip }) => ip ?? "");
    const known = new Set((old.status?.[field] ?? []).map(({ ip }) => ip));
    for (const [i, ip] of ips.entries())
      if (!known.has(ip) && isIP(ip) === 0)
        problems.invalid(
          `status.${field}[${i}]`,
          ip,
          "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)",
        );
    if (ips.length > 1 && (ips.length > 2 || new Set(ips.map(isIP)).size < 2))
      problems.invalid(
        `status.${field}`,
        pod.status?.[field],
        "may specify no more than one IP for each IP family",
      );
  }
}
