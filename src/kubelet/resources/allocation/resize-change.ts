import type { Container, ResourceRequirements } from "../../../lib/model/pod.ts";
import { amountsOf, milliOf, wholeOf } from "../../../lib/model/resources.ts";

/** The resources that can be resized: CPU in millicores, memory in bytes; 0 if not set. */
interface CpuAndMemory {
  readonly cpu: { readonly requests: bigint; readonly limits: bigint };
  readonly memory: { readonly requests: bigint; readonly limits: bigint };
}

const resizable = ["cpu", "memory"] as const;
const lists = ["requests", "limits"] as const;

export type ResizeAction = "none" | "update" | "restart";

function cpuAndMemory(resources: ResourceRequirements | undefined): CpuAndMemory {
  const [requests, limits] = [amountsOf(resources?.requests), amountsOf(resources?.limits)];
  return {
    cpu: { requests: milliOf(requests, "cpu"), limits: milliOf(limits, "cpu") },
    memory: { requests: wholeOf(requests, "memory"), limits: wholeOf(limits, "memory") },
  };
}

/** CPU or memory differ. */
export function isResized(a: ResourceRequirements | undefined, b: ResourceRequirements | undefined): boolean {
  return changedResources(a, b).length > 0;
}

/** The change that a running container with the `actuated` resources needs to get the `allocated` ones. */
export function resizeAction(
  { resizePolicy = [] }: Pick<Container, "resizePolicy">,
  allocated: ResourceRequirements | undefined,
  actuated: ResourceRequirements | undefined,
): ResizeAction {
  const changed = changedResources(allocated, actuated);
  if (changed.length === 0) return "none";
  const restarts = (name: string) =>
    resizePolicy.find(({ resourceName }) => resourceName === name)?.restartPolicy === "RestartContainer";
  return changed.some(restarts) ? "restart" : "update";
}

function changedResources(
  a: ResourceRequirements | undefined,
  b: ResourceRequirements | undefined,
): (typeof resizable)[number][] {
  const [left, right] = [cpuAndMemory(a), cpuAndMemory(b)];
  return resizable.filter((name) => lists.some((list) => left[name][list] !== right[name][list]));
}

export interface ResizeOperation {
  readonly resource: "cpu" | "memory";
  readonly requirement: "requests" | "limits";
  readonly operation: "add" | "remove" | "increase" | "decrease";
}

/** The changes of each resource that a new spec of a container requests. */
export function resizeOperations(
  before: ResourceRequirements | undefined,
  after: ResourceRequirements | undefined,
): ResizeOperation[] {
  const [old, now] = [cpuAndMemory(before), cpuAndMemory(after)];
  return resizable.flatMap((resource) =>
    lists.flatMap((requirement) => {
      const operation = operationOf(old[resource][requirement], now[resource][requirement]);
      return operation ? [{ resource, requirement, operation }] : [];
    }),
  );
}

function operationOf(before: bigint, after: bigint): ResizeOperation["operation"] | undefined {
  if (before === after) return undefined;
  if (after === 0n) return "remove";
  if (before === 0n) return "add";
  return after > before ? "increase" : "decrease";
}

/** The requests that a pod in the middle of a resize may use: the greater ones. */
export function greaterRequests(
  a: ResourceRequirements | undefined,
  b: ResourceRequirements | undefined,
): ResourceRequirements {
  const requests: Record<string, string> = { ...a?.requests };
  const [left, right] = [amountsOf(a?.requests), amountsOf(b?.requests)];
  for (const name of resizable) {
    const other = b?.requests?.[name];
    if (other !== undefined && (right.get(name) ?? 0n) > (left.get(name) ?? 0n)) requests[name] = other;
  }
  return { ...a, requests };
}
