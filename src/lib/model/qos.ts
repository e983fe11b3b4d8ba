import type { Container, Pod } from "./pod.ts";
import { amountsOf, type ResourceAmounts } from "./resources.ts";

export type QosClass = "Guaranteed" | "Burstable" | "BestEffort";

export interface QosOptions {
  /** False if the PodLevelResources gate is off. */
  podLevel?: boolean;
}

/** The class in the status takes precedence: it is set at creation and a later resize does not change it. */
export function podQos(pod: Pod, options: QosOptions = {}): QosClass {
  const fromStatus = pod.status?.qosClass;
  return fromStatus ? (fromStatus as QosClass) : computeQos(pod, options);
}

/**
 * BestEffort requests no CPU and no memory at all; Guaranteed limits both in every container, to exactly what it
 * requests; everything else is Burstable. With pod-level resources only those are considered.
 */
export function computeQos(pod: Pod, options: QosOptions = {}): QosClass {
  const requests = new Map<string, bigint>();
  const limits = new Map<string, bigint>();
  let everyLimitSet = true;

  if (options.podLevel !== false && pod.spec.resources) {
    addPositive(requests, pod.spec.resources.requests);
    const found = addPositive(limits, pod.spec.resources.limits);
    if (Object.keys(pod.spec.resources.limits ?? {}).length > 0) everyLimitSet = found === 2;
  } else {
    for (const container of [...pod.spec.containers, ...(pod.spec.initContainers ?? [])]) {
      addPositive(requests, container.resources?.requests);
      if (addPositive(limits, container.resources?.limits) < 2) everyLimitSet = false;
    }
  }

  if (requests.size === 0 && limits.size === 0) return "BestEffort";
  return everyLimitSet && equal(requests, limits) ? "Guaranteed" : "Burstable";
}

/** True for a container that would make its pod Guaranteed: it requests CPU and memory, and is limited to exactly these. */
export function isGuaranteedContainer({ resources }: Container): boolean {
  const requests = amountsOf(resources?.requests);
  const limits = amountsOf(resources?.limits);
  return ["cpu", "memory"].every((name) => {
    const request = requests.get(name) ?? 0n;
    return request > 0n && request === limits.get(name);
  });
}

/** Adds nonzero CPU and memory, and returns how many of the two it found. */
function addPositive(to: Map<string, bigint>, list: Record<string, string> | undefined): number {
  const amounts = amountsOf(list);
  let found = 0;
  for (const name of ["cpu", "memory"]) {
    const amount = amounts.get(name) ?? 0n;
    if (amount <= 0n) continue;
    to.set(name, (to.get(name) ?? 0n) + amount);
    found++;
  }
  return found;
}

function equal(a: ResourceAmounts, b: ResourceAmounts): boolean {
  return a.size === b.size && [...a].every(([name, amount]) => b.get(name) === amount);
}
