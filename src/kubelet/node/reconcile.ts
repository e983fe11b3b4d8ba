import { compareQuantities } from "../../lib/model/quantity.ts";
import { attachDetachAnnotation } from "./node-object.ts";
import type { NodeObject, ResourceList } from "./node-types.ts";
import { isExtended, isHugepages } from "./resource-names.ts";

/** Labels that are updated on an existing node. Others belong to the administrator. */
const ownLabels = [
  "kubernetes.io/hostname",
  "topology.kubernetes.io/zone",
  "topology.kubernetes.io/region",
  "failure-domain.beta.kubernetes.io/zone",
  "failure-domain.beta.kubernetes.io/region",
  "node.kubernetes.io/instance-type",
  "beta.kubernetes.io/instance-type",
  "kubernetes.io/os",
  "kubernetes.io/arch",
  "beta.kubernetes.io/os",
  "beta.kubernetes.io/arch",
];

/**
 * The existing node, reconciled at registration: taints and other labels are kept, because
 * nodes may not change these. `resetExtended` after a restart without device plugins: extended resources are 0 until they are
 * back.
 */
export function reconcileNode(
  existing: NodeObject,
  initial: NodeObject,
  options: { resetExtended: boolean },
): NodeObject {
  let capacity = { ...(existing.status.capacity ?? initial.status.capacity) };
  let allocatable = { ...(existing.status.allocatable ?? initial.status.allocatable) };
  if (options.resetExtended) {
    const names = Object.keys(capacity).filter(isExtended);
    for (const name of names) capacity[name] = allocatable[name] = "0";
  }
  capacity = withHugepages(capacity, initial.status.capacity ?? {}, initial.status.capacity ?? {});
  allocatable = withHugepages(allocatable, initial.status.allocatable ?? {}, initial.status.capacity ?? {});
  return {
    ...existing,
    metadata: {
      ...existing.metadata,
      labels: reconciledLabels(existing, initial),
      annotations: reconciledAnnotations(existing, initial),
    },
    status: { ...existing.status, capacity, allocatable },
  };
}

/** Amounts of the machine's page sizes only. */
function withHugepages(list: ResourceList, from: ResourceList, supported: ResourceList): ResourceList {
  const kept = Object.entries(list).filter(([name]) => !isHugepages(name) || name in supported);
  const result: ResourceList = Object.fromEntries(kept);
  for (const name of Object.keys(supported).filter(isHugepages)) {
    const amount = from[name] ?? "0";
    const old = result[name];
    if (old === undefined || compareQuantities(old, amount) !== 0) result[name] = amount;
  }
  return result;
}

function reconciledLabels(existing: NodeObject, initial: NodeObject): Record<string, string> {
  const labels = { ...existing.metadata.labels };
  for (const key of ownLabels) {
    const value = initial.metadata.labels?.[key];
    if (value) labels[key] = value;
    else if (value === "") delete labels[key];
  }
  return labels;
}

function reconciledAnnotations(existing: NodeObject, initial: NodeObject): Record<string, string> {
  const { [attachDetachAnnotation]: _, ...annotations } = existing.metadata.annotations ?? {};
  const value = initial.metadata.annotations?.[attachDetachAnnotation];
  return value === undefined ? annotations : { ...annotations, [attachDetachAnnotation]: value };
}
