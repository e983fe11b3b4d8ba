import type {
  AllocationResult,
  DeviceClass,
  ResourceClaim,
  ResourceClaimTemplate,
  ResourceSlice,
} from "../../../lib/gen/kubernetes/resource.d.ts";
import { matchesTerms } from "../../../lib/model/node-selector.ts";
import type { Pod } from "../../../lib/model/pod.ts";
import { allocate, deviceKey, type NodeName } from "./allocate.ts";

export interface ClaimInputs {
  readonly pods: readonly Pod[];
  readonly nodes: readonly NodeName[];
  readonly claims: readonly ResourceClaim[];
  readonly templates: readonly ResourceClaimTemplate[];
  readonly classes: readonly DeviceClass[];
  readonly slices: readonly ResourceSlice[];
}

export type ClaimStep =
  | {
      readonly do: "create";
      readonly pod: Pod;
      readonly podClaim: string;
      readonly template: ResourceClaimTemplate;
    }
  | { readonly do: "name"; readonly pod: Pod; readonly podClaim: string; readonly claim: string }
  | {
      readonly do: "allocate";
      readonly claim: ResourceClaim;
      readonly allocation: AllocationResult;
      readonly pod: Pod;
    }
  | { readonly do: "reserve"; readonly claim: ResourceClaim; readonly pod: Pod }
  /** Drops consumers that are gone; without any left, the allocation too. */
  | { readonly do: "release"; readonly claim: ResourceClaim; readonly consumers: readonly string[] }
  | { readonly do: "delete"; readonly claim: ResourceClaim }
  | { readonly do: "refuse"; readonly claim: ResourceClaim; readonly reason: string };

export interface ClaimPlan {
  readonly steps: readonly ClaimStep[];
  /** Why a pod cannot be scheduled yet, by UID. */
  readonly blocked: ReadonlyMap<string, string>;
}

export const podClaimAnnotation = "resource.kubernetes.io/pod-claim-name";

/** The next step for each claim of all pods. The step after it is planned when the result of this one was observed. */
export function planClaims(inputs: ClaimInputs): ClaimPlan {
  const steps: ClaimStep[] = [];
  const blocked = new Map<string, string>();
  const used = new Set(inputs.claims.flatMap(usedDevices));
  const pods = new Map(inputs.pods.map((pod) => [pod.metadata.uid as string, pod]));
  const isUsing = (uid: string) => pods.has(uid) && !isDone(pods.get(uid)!);
  for (const claim of inputs.claims) {
    const reserved = (claim.status?.reservedFor ?? []).map(({ uid }) => uid);
    const left = reserved.filter(isUsing);
    const owner = ownerOf(claim);
    if (left.length < reserved.length) steps.push({ do: "release", claim, consumers: left });
    else if (claim.metadata?.deletionTimestamp && left.length === 0 && claim.metadata.finalizers?.length)
      steps.push({ do: "release", claim, consumers: [] });
    else if (owner !== undefined && pods.has(owner) && !isUsing(owner) && !claim.metadata?.deletionTimestamp)
      steps.push({ do: "delete", claim });
  }
  for (const pod of inputs.pods) {
    if (!pod.spec.resourceClaims?.length || isDone(pod) || pod.metadata.deletionTimestamp) continue;
    const planned = planPod(pod, inputs, used);
    steps.push(...planned.steps);
    if (planned.blocked !== undefined) blocked.set(pod.metadata.uid, planned.blocked);
  }
  return { steps, blocked };
}

interface PodPlan {
  readonly steps: readonly ClaimStep[];
  readonly blocked?: string;
}

function planPod(pod: Pod, inputs: ClaimInputs, used: Set<string>): PodPlan {
  const steps: ClaimStep[] = [];
  const claims: ResourceClaim[] = [];
  let missing: string | undefined;
  for (const entry of pod.spec.resourceClaims ?? []) {
    const found = claimFor(pod, entry, inputs);
    if ("claim" in found) claims.push(found.claim);
    else {
      if (found.step) steps.push(found.step);
      missing ??= found.reason;
    }
  }
  if (missing !== undefined) return { steps, blocked: missing };
  return assign(pod, claims, inputs, used);
}

type Entry = NonNullable<Pod["spec"]["resourceClaims"]>[number];

function claimFor(
  pod: Pod,
  { name, resourceClaimName, resourceClaimTemplateName }: Entry,
  { claims, templates }: ClaimInputs,
): { claim: ResourceClaim } | { reason: string; step?: ClaimStep } {
  const { namespace, uid } = pod.metadata;
  const inNamespace = claims.filter(({ metadata }) => metadata?.namespace === namespace);
  const named = (wanted: string) => inNamespace.find(({ metadata }) => metadata?.name === wanted);
  const generated = pod.status?.resourceClaimStatuses?.find((one) => one.name === name)?.resourceClaimName;
  const wanted = resourceClaimName ?? generated;
  if (wanted !== undefined) {
    const claim = named(wanted);
    return claim ? { claim } : { reason: `resourceclaim "${wanted}" not found` };
  }
  const waits = `waiting for the resourceclaim of pod claim "${name}" to be created`;
  const made = inNamespace.find(
    (claim) => ownerOf(claim) === uid && claim.metadata?.annotations?.[podClaimAnnotation] === name,
  );
  if (made) return { reason: waits, step: { do: "name", pod, podClaim: name, claim: made.metadata!.name! } };
  const template = templates.find(
    ({ metadata }) => metadata?.namespace === namespace && metadata?.name === resourceClaimTemplateName,
  );
  if (!template) return { reason: `resourceclaimtemplate "${resourceClaimTemplateName}" not found` };
  return { reason: waits, step: { do: "create", pod, podClaim: name, template } };
}

/** Allocates the claims of a pod on one node, and reserves them for it. */
function assign(pod: Pod, claims: readonly ResourceClaim[], inputs: ClaimInputs, used: Set<string>): PodPlan {
  const { uid, namespace } = pod.metadata;
  const steps: ClaimStep[] = [];
  const deleted = claims.find(({ metadata }) => metadata?.deletionTimestamp);
  if (deleted) return { steps, blocked: `resourceclaim "${deleted.metadata?.name}" is being deleted` };
  const [allocated, open] = [
    claims.filter(({ status }) => status?.allocation),
    claims.filter(({ status }) => !status?.allocation),
  ];
  for (const claim of allocated)
    if (!claim.status?.reservedFor?.some((consumer) => consumer.uid === uid))
      steps.push({ do: "reserve", claim, pod });
  if (open.length === 0) {
    const blocked =
      steps.length > 0 ? `waiting for resourceclaims in ${namespace} to be reserved` : undefined;
    return { steps, ...(blocked !== undefined && { blocked }) };
  }
  let reason = "no node has the devices";
  for (const node of inputs.nodes.filter((one) => mayRunOn(pod, allocated, one))) {
    const found = allocateAll(pod, open, node, inputs, used);
    if ("steps" in found) {
      for (const step of found.steps) for (const key of keysOf(step.allocation)) used.add(key);
      return { steps: [...steps, ...found.steps], blocked: "waiting for resourceclaims to be allocated" };
    }
    reason = found.reason;
    if (found.unsupported) steps.push({ do: "refuse", claim: found.unsupported, reason });
  }
  return { steps, blocked: `cannot allocate all claims: ${reason}` };
}

type AllocateStep = Extract<ClaimStep, { do: "allocate" }>;

function allocateAll(
  pod: Pod,
  claims: readonly ResourceClaim[],
  node: NodeName,
  inputs: ClaimInputs,
  used: ReadonlySet<string>,
): { steps: AllocateStep[] } | { reason: string; unsupported?: ResourceClaim } {
  const taken = new Set(used);
  const classes = new Map(inputs.classes.map((one) => [one.metadata?.name ?? "", one]));
  const steps: AllocateStep[] = [];
  for (const claim of claims) {
    const found = allocate(claim.spec, node, { slices: inputs.slices, classes, used: taken });
    if ("failure" in found)
      return {
        reason: `ResourceClaim ${claim.metadata?.name}: ${found.failure.reason}`,
        ...(found.failure.isUnsupported && { unsupported: claim }),
      };
    steps.push({ do: "allocate", claim, allocation: found.allocation, pod });
    for (const key of keysOf(found.allocation)) taken.add(key);
  }
  return { steps };
}

function mayRunOn(pod: Pod, allocated: readonly ResourceClaim[], node: NodeName): boolean {
  if (pod.spec.nodeName && pod.spec.nodeName !== node.name) return false;
  return allocated.every(({ status }) => {
    const selector = status?.allocation?.nodeSelector;
    return !selector || matchesTerms(selector.nodeSelectorTerms, node);
  });
}

function usedDevices({ status }: ResourceClaim): string[] {
  return status?.allocation ? keysOf(status.allocation) : [];
}

/** Access as an administrator does not take the device from others. */
function keysOf({ devices }: AllocationResult): string[] {
  return (devices?.results ?? []).filter(({ adminAccess }) => !adminAccess).map(deviceKey);
}

/** The pod for which the claim was created from a template. */
function ownerOf({ metadata }: ResourceClaim): string | undefined {
  const owner = metadata?.ownerReferences?.find(({ controller, kind }) => controller && kind === "Pod");
  return owner && metadata?.annotations?.[podClaimAnnotation] !== undefined ? owner.uid : undefined;
}

/** A pod that uses its claims no more. */
function isDone({ metadata, spec, status }: Pod): boolean {
  if (status?.phase === "Succeeded" || status?.phase === "Failed") return true;
  return metadata.deletionTimestamp !== undefined && !spec.nodeName;
}
