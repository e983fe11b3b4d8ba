import { isPreemptable } from "../../../lib/model/critical-pod.ts";
import type { Pod } from "../../../lib/model/pod.ts";
import { podQos, type QosClass } from "../../../lib/model/qos.ts";
import { milliOf, podRequests, wholeOf } from "../../../lib/model/resources.ts";

/** How much of a resource has to be freed. CPU in millicores, all others in whole units. */
export interface Requirement {
  readonly resource: string;
  readonly quantity: bigint;
}

export type PreemptionChoice =
  | { readonly victims: readonly Pod[] }
  /** The resources that are missing even if all pods that may be preempted are. */
  | { readonly unmet: readonly Requirement[] };

/** A pod that may be preempted, with what it frees. */
interface Candidate {
  readonly pod: Pod;
  readonly qos: QosClass;
  readonly frees: (resource: string) => bigint;
}

/**
 * The pods to preempt so that a critical pod fits: as few Guaranteed pods as possible, then as few Burstable, then as few BestEffort.
 * Within a class, each step chooses the pod that covers most of what is still missing; among equals, the pod with the smaller requests.
 */
export function choosePreempted(
  preemptor: Pod,
  pods: readonly Pod[],
  requirements: readonly Requirement[],
  options: { readonly podLevel: boolean },
): PreemptionChoice {
  const candidates = pods
    .filter((pod) => isPreemptable(pod, preemptor))
    .map((pod): Candidate => ({ pod, qos: podQos(pod, options), frees: requestsOf(pod, options) }));
  const unmet = without(requirements, candidates);
  if (unmet.length > 0) return { unmet };
  const [bestEffort, burstable, guaranteed] = (["BestEffort", "Burstable", "Guaranteed"] as const).map(
    (qos) => candidates.filter((c) => c.qos === qos),
  ) as [Candidate[], Candidate[], Candidate[]];
  // What all pods of the lower classes together would not free.
  const fromGuaranteed = nearest(guaranteed, without(requirements, [...bestEffort, ...burstable]));
  const fromBurstable = nearest(burstable, without(requirements, [...bestEffort, ...fromGuaranteed]));
  const fromBestEffort = nearest(bestEffort, without(requirements, [...fromBurstable, ...fromGuaranteed]));
  return { victims: [...fromBestEffort, ...fromBurstable, ...fromGuaranteed].map(({ pod }) => pod) };
}

/** "[(res: cpu, q: 1000), ]" */
export function requirementsText(requirements: readonly Requirement[]): string {
  return `[${requirements.map(({ resource, quantity }) => `(res: ${resource}, q: ${quantity}), `).join("")}]`;
}

/** Chooses candidates until they meet the requirements, each time the one at the shortest distance. All candidates together are enough. */
function nearest(candidates: readonly Candidate[], requirements: readonly Requirement[]): Candidate[] {
  const chosen: Candidate[] = [];
  let rest = [...candidates];
  for (let missing = requirements; missing.length > 0; ) {
    const best = rest.reduce<Candidate | undefined>(
      (found, next) => (found && isBetter(found, next, missing) ? found : next),
      undefined,
    );
    if (!best) break;
    chosen.push(best);
    rest = rest.filter((candidate) => candidate !== best);
    missing = without(missing, [best]);
  }
  return chosen;
}

function isBetter(a: Candidate, b: Candidate, requirements: readonly Requirement[]): boolean {
  const [near, far] = [distance(a, requirements), distance(b, requirements)];
  return near === far ? isSmaller(a, b) : near < far;
}

/** The sum of squares of the parts that are still missing: all resources count the same, regardless of their unit. */
function distance({ frees }: Candidate, requirements: readonly Requirement[]): number {
  return requirements.reduce((sum, { resource, quantity }) => {
    const rest = quantity - frees(resource);
    return rest > 0n ? sum + (Number(rest) / Number(quantity)) ** 2 : sum;
  }, 0);
}

/** Memory decides, then CPU. Among equals, the pod that was added later is preempted. */
function isSmaller(a: Candidate, b: Candidate): boolean {
  const memory = a.frees("memory") - b.frees("memory");
  return memory === 0n ? a.frees("cpu") < b.frees("cpu") : memory < 0n;
}

/** The resources that are still missing once these are preempted. */
function without(requirements: readonly Requirement[], victims: readonly Candidate[]): Requirement[] {
  return requirements
    .map(({ resource, quantity }) => ({
      resource,
      quantity: victims.reduce((rest, { frees }) => rest - frees(resource), quantity),
    }))
    .filter(({ quantity }) => quantity > 0n);
}

/** The pod's request of a resource: one of "pods", CPU in millicores, all others in whole units. */
export function requestsOf(pod: Pod, options: { readonly podLevel: boolean }): (resource: string) => bigint {
  const requests = podRequests(pod, options);
  return (resource) => {
    if (resource === "pods") return 1n;
    return resource === "cpu" ? milliOf(requests, resource) : wholeOf(requests, resource);
  };
}
