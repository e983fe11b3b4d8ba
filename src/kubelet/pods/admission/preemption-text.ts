import { type Pod, podRef } from "../../../lib/model/pod.ts";
import type { PodFailure } from "../../../lib/model/pod-failure.ts";
import { podQos } from "../../../lib/model/qos.ts";
import { formatQuantity } from "../../../lib/model/quantity-form.ts";
import { type Requirement, requestsOf } from "./preemption.ts";

/** The failure of a pod that is preempted; its detail names the critical pod, and what was chosen for it. */
export function preempted(
  preemptor: Pod,
  requirements: readonly Requirement[],
  victims: readonly Pod[],
  options: { readonly podLevel: boolean },
): PodFailure {
  const lacked = `critical pod ${podRef(preemptor)} lacked ${amountsText(requirements)}`;
  const chosen = candidatesText(victims, requirements, options);
  return {
    phase: "Failed",
    untilEnded: true,
    reason: "Preempting",
    message: "Preempted in order to admit critical pod",
    detail: `${lacked}; the fewest and lowest-ranked pods that free it: ${chosen}`,
    conditions: [
      {
        type: "DisruptionTarget",
        status: "True",
        reason: "TerminationByKubelet",
        message: "Pod was preempted by Kubelet to accommodate a critical pod.",
      },
    ],
  };
}

/** "default/a (Burstable, cpu 600m), default/b (BestEffort, cpu 0)": the class of each pod, and what it frees. */
export function candidatesText(
  pods: readonly Pod[],
  requirements: readonly Requirement[],
  options: { readonly podLevel: boolean },
): string {
  const text = (pod: Pod) => {
    const requests = requestsOf(pod, options);
    const frees = requirements.map(({ resource }) => ({ resource, quantity: requests(resource) }));
    return `${podRef(pod)} (${podQos(pod, options)}, ${amountsText(frees)})`;
  };
  return pods.map(text).join(", ");
}

/** "cpu 500m, memory 64Mi" */
export function amountsText(requirements: readonly Requirement[]): string {
  return requirements.map(({ resource, quantity }) => `${resource} ${amount(resource, quantity)}`).join(", ");
}

function amount(resource: string, quantity: bigint): string {
  if (resource === "cpu") return formatQuantity(quantity * 1_000_000n);
  const isBytes = resource === "memory" || resource.endsWith("storage") || resource.startsWith("hugepages-");
  return formatQuantity(quantity * 1_000_000_000n, isBytes ? "binary" : "decimal");
}
