import type { Pod } from "../../../lib/model/pod.ts";
import {
  amountsOf,
  milliOf,
  podRequests,
  type ResourceAmounts,
  wholeOf,
} from "../../../lib/model/resources.ts";

/** Something that the node has less of than the pods ask for. CPU in thousandths, all else in whole units. */
export interface Insufficient {
  readonly resource: string;
  readonly requested: bigint;
  readonly used: bigint;
  readonly capacity: bigint;
}

export interface FitContext {
  /** What the node has for pods: {"cpu": "4", "memory": "8Gi", "pods": "110"}. What is not named is not limited. */
  readonly allocatable: Readonly<Record<string, string>>;
  /** The other pods that run or are about to. */
  readonly others: readonly Pod[];
  /** False if resources of whole pods do not count. */
  readonly podLevelResources: boolean;
}

const first = ["cpu", "memory", "ephemeral-storage"];

/** What is missing for this pod to run beside the others: the number of pods first, then resources. */
export function insufficientResources(
  pod: Pod,
  { allocatable, others, podLevelResources }: FitContext,
): Insufficient[] {
  const missing: Insufficient[] = [];
  const capacities = amountsOf(allocatable);
  const places = wholeOf(capacities, "pods");
  if (capacities.has("pods") && BigInt(others.length) + 1n > places)
    missing.push({ resource: "pods", requested: 1n, used: BigInt(others.length), capacity: places });

  const options = { podLevel: podLevelResources };
  const wanted = podRequests(pod, options);
  const taken = others.map((other) => podRequests(other, options));
  const rest = [...wanted.keys()].filter((name) => !first.includes(name)).sort((a, b) => (a < b ? -1 : 1));
  for (const resource of [...first, ...rest]) {
    const read = resource === "cpu" ? milliOf : wholeOf;
    const requested = read(wanted, resource);
    if (requested <= 0n || !capacities.has(resource)) continue;
    const used = taken.reduce((sum, amounts: ResourceAmounts) => sum + read(amounts, resource), 0n);
    const capacity = read(capacities, resource);
    if (requested > capacity - used) missing.push({ resource, requested, used, capacity });
  }
  return missing;
}

export function insufficientMessage({ resource, requested, used, capacity }: Insufficient): string {
  return (
    `Node didn't have enough resource: ${resource}, requested: ${requested}, used: ${used}, ` +
    `capacity: ${capacity}`
  );
}
