import {
  matchesLabels,
  matchesTerms,
  type NodeIdentity,
  unmetLabels,
  unmetTerms,
} from "../../../lib/model/node-selector.ts";
import type { Pod } from "../../../lib/model/pod.ts";

export type { NodeIdentity };

/** True if the pod's nodeSelector and required node affinity match the node. */
export function matchesNode(pod: Pod, node: NodeIdentity): boolean {
  const { nodeSelector, affinity } = pod.spec;
  if (!matchesLabels(nodeSelector, node.labels)) return false;
  const required = affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution;
  return !required || matchesTerms(required.nodeSelectorTerms ?? [], node);
}

/** Why the node does not match; call it only if it does not. */
export function nodeMismatch(pod: Pod, node: NodeIdentity): string {
  const { nodeSelector, affinity } = pod.spec;
  const unmet = unmetLabels(nodeSelector, node.labels);
  if (unmet !== undefined) return `nodeSelector ${unmet}`;
  const required = affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution;
  return `required node affinity ${unmetTerms(required?.nodeSelectorTerms ?? [], node)}`;
}
