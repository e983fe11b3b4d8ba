import type { NamespaceCondition } from "../../lib/gen/kubernetes/core.d.ts";
import { compareText } from "../patch/text-order.ts";
import { timestamp } from "./api-times.ts";

/** The objects that remain in a terminating namespace. */
export interface RemainingObjects {
  /** By resource: "pods" or "leases.coordination.k8s.io". */
  readonly counts: ReadonlyMap<string, number>;
  readonly finalizers: ReadonlyMap<string, number>;
  readonly failures: readonly string[];
}

const conditionsWhenOk = [
  ["NamespaceDeletionDiscoveryFailure", "ResourcesDiscovered", "All resources successfully discovered"],
  [
    "NamespaceDeletionGroupVersionParsingFailure",
    "ParsedGroupVersions",
    "All legacy kube types successfully parsed",
  ],
  [
    "NamespaceDeletionContentFailure",
    "ContentDeleted",
    "All content successfully deleted, may be waiting on finalization",
  ],
  ["NamespaceContentRemaining", "ContentRemoved", "All content successfully removed"],
  ["NamespaceFinalizersRemaining", "ContentHasNoFinalizers", "All content-preserving finalizers finished"],
] as const;

/** The conditions of a terminating namespace; the same list if nothing has changed. */
export function namespaceConditions(
  old: readonly NamespaceCondition[],
  remains: RemainingObjects,
  now: number,
): NamespaceCondition[] {
  const problems = new Map<string, { reason: string; message: string }>();
  if (remains.failures.length > 0)
    problems.set("NamespaceDeletionContentFailure", {
      reason: "ContentDeletionFailed",
      message: `Failed to delete all resource types, ${remains.failures.length} remaining: ${[...remains.failures].sort(compareText).join(", ")}`,
    });
  const content = listed(
    remains.counts,
    (resource, count) => `${dotted(resource)} has ${count} resource instances`,
  );
  if (content !== "")
    problems.set("NamespaceContentRemaining", {
      reason: "SomeResourcesRemain",
      message: `Some resources are remaining: ${content}`,
    });
  const finalizers = listed(remains.finalizers, (name, count) => `${name} in ${count} resource instances`);
  if (finalizers !== "")
    problems.set("NamespaceFinalizersRemaining", {
      reason: "SomeFinalizersRemain",
      message: `Some content in the namespace has finalizers remaining: ${finalizers}`,
    });
  return conditionsWhenOk.map(([type, okReason, okMessage]) => {
    const problem = problems.get(type);
    const status = problem === undefined ? "False" : "True";
    const { reason, message } = problem ?? { reason: okReason, message: okMessage };
    const before = old.find((condition) => condition.type === type);
    const since = before?.status === status ? before.lastTransitionTime : undefined;
    return { type, status, lastTransitionTime: since ?? timestamp(now), reason, message };
  });
}

function listed(
  counts: ReadonlyMap<string, number>,
  format: (name: string, count: number) => string,
): string {
  return [...counts]
    .filter(([, count]) => count > 0)
    .map(([name, count]) => format(name, count))
    .sort(compareText)
    .join(", ");
}

/** Resource and group separated by a dot, even if the group is empty. */
function dotted(resource: string): string {
  return resource.includes(".") ? resource : `${resource}.`;
}
