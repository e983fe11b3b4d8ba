import { matchesLabels, matchesTerms, type NodeIdentity } from "../../model/node-selector.ts";
import type { Pod } from "../../model/pod.ts";

export type { NodeIdentity };

/** True if this is a node that the pod's nodeSelector and required node affinity allow. */
export function matchesNode(pod: Pod, node: NodeIdentity): boolean {
  const { nodeSelector, affinity } = pod.spec;
  if (!matchesLabels(nodeSelector, node.labels)) return false;
  const required = affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution;
  return !required || matchesTerms(required.nodeSelectorTerms ?? [], node);
}
