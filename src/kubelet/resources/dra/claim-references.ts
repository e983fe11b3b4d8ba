import { KubeletError } from "../../../lib/base/errors.ts";
import type { ResourceClaim } from "../../../lib/gen/kubernetes/resource.d.ts";
import type { Container, Pod } from "../../../lib/model/pod.ts";
import { parseQuantity } from "../../../lib/model/quantity.ts";

/** A claim that a pod uses. */
export interface ClaimReference {
  /** In `spec.resourceClaims`; undefined for the claim of extended resources. */
  readonly podClaim: string | undefined;
  readonly claim: string;
  /** It was created from a template, so that only this pod may use it. */
  readonly isGenerated: boolean;
}

/** True for pods that this component has nothing to do for. */
export function usesNoClaims({ spec, status }: Pod): boolean {
  return !spec.resourceClaims?.length && !status?.extendedResourceClaimStatus;
}

/** The claims of a pod; throws if one was not created yet. */
export function claimReferences(pod: Pod, extendedResources: boolean): ClaimReference[] {
  const { spec, status, metadata } = pod;
  const references: ClaimReference[] = [];
  for (const { name, resourceClaimName, resourceClaimTemplateName } of spec.resourceClaims ?? []) {
    if (resourceClaimName != null) {
      references.push({ podClaim: name, claim: resourceClaimName, isGenerated: false });
      continue;
    }
    const where = `pod "${metadata.namespace}/${metadata.name}"`;
    if (resourceClaimTemplateName == null)
      throw failure(`${where}, spec.resourceClaim "${name}": none of the supported fields are set`);
    const known = status?.resourceClaimStatuses?.find((one) => one.name === name);
    if (!known) throw failure(`${where}: ResourceClaim not created yet`);
    // Without a name, the pod needs no claim.
    if (known.resourceClaimName != null)
      references.push({ podClaim: name, claim: known.resourceClaimName, isGenerated: true });
  }
  const extended = extendedResources ? status?.extendedResourceClaimStatus : undefined;
  if (extended)
    references.push({ podClaim: undefined, claim: extended.resourceClaimName, isGenerated: false });
  return references;
}

/**
 * The drivers of an allocated claim; throws if the pod must not use it. With `podGroups` (DRAWorkloadResourceClaims), it may be the claim of
 * the pod's group.
 */
export function driversOf(
  pod: Pod,
  { claim: name, isGenerated }: ClaimReference,
  claim: ResourceClaim,
  podGroups = false,
): string[] {
  const { metadata: owner } = pod;
  const { metadata = {}, status } = claim;
  const group = podGroups ? (pod.spec.schedulingGroup?.podGroupName ?? undefined) : undefined;
  const controller = metadata.ownerReferences?.find((one) => one.controller);
  if (isGenerated && controller?.uid !== owner.uid && !isPodGroup(controller, group)) {
    const problem =
      group === undefined ? "Pod is not owner" : `neither Pod nor PodGroup ${group} is the owner`;
    throw failure(
      `ResourceClaim ${metadata.namespace}/${metadata.name} was not created for Pod ${owner.namespace}/${owner.name} (${problem})`,
    );
  }
  const isReserved = status?.reservedFor?.some(
    ({ uid, apiGroup, resource, name: consumer }) =>
      uid === owner.uid ||
      // Pods do not know the UID of their group.
      (group !== undefined && apiGroup === schedulingGroup && resource === "podgroups" && consumer === group),
  );
  if (!status || !isReserved)
    throw failure(
      `pod ${owner.name} (${owner.uid}) is not allowed to use ResourceClaim ${name} (${metadata.uid})`,
    );
  if (!status.allocation) throw failure(`ResourceClaim ${name}: not allocated`);
  return [...new Set((status.allocation.devices?.results ?? []).map(({ driver }) => driver))];
}

const schedulingGroup = "scheduling.k8s.io";

function isPodGroup(
  controller: { apiVersion?: string; kind?: string; name?: string } | undefined,
  group: string | undefined,
): boolean {
  return (
    group !== undefined &&
    controller?.name === group &&
    controller.kind === "PodGroup" &&
    controller.apiVersion?.startsWith(`${schedulingGroup}/`) === true
  );
}

/** The claims that a container uses, with the requests of each; "" stands for all requests. */
export function containerClaims(
  pod: Pod,
  container: Container,
  extendedResources: boolean,
): Map<string, string[]> {
  const found = new Map<string, string[]>();
  const add = (claim: string, request: string) => found.set(claim, [...(found.get(claim) ?? []), request]);
  for (const { podClaim, claim } of claimReferences(pod, false))
    for (const { name, request } of container.resources?.claims ?? [])
      if (name === podClaim) add(claim, request ?? "");
  const extended = extendedResources ? pod.status?.extendedResourceClaimStatus : undefined;
  for (const { containerName, resourceName, requestName } of extended?.requestMappings ?? []) {
    const amount = container.resources?.requests?.[resourceName];
    if (containerName === container.name && amount !== undefined && parseQuantity(amount) !== 0n)
      add(extended!.resourceClaimName, requestName);
  }
  return found;
}

function failure(message: string): KubeletError {
  return new KubeletError("DynamicResources", message);
}
