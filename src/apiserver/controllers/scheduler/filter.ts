import type { NodeSelectorTerm, Taint, Toleration } from "../../../lib/gen/kubernetes/core.d.ts";
import { matchesLabels, matchesTerms } from "../../../lib/model/node-selector.ts";
import type { Pod } from "../../../lib/model/pod.ts";
import { parseQuantity } from "../../../lib/model/quantity.ts";
import { podRequests } from "../../../lib/model/resources.ts";
import { hostPorts, type NodeUsage, portsConflict } from "./node-usage.ts";

/** The parts of a node that the scheduler uses. */
export interface NodeView {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly unschedulable: boolean;
  readonly taints: readonly Taint[];
  readonly allocatable: Readonly<Record<string, string>>;
}

/** Why a pod does not fit a node; `unresolvable` if it would not fit even after preemption. */
export interface FilterFailure {
  readonly reasons: readonly string[];
  readonly unresolvable: boolean;
}

const cordonTaint: Taint = { key: "node.kubernetes.io/unschedulable", effect: "NoSchedule" };

/** The first failed filter, in the order of kube-scheduler; undefined if the pod fits. */
export function runFilters(
  pod: Pod,
  node: NodeView,
  usage: NodeUsage,
  volumeTerms: readonly (readonly NodeSelectorTerm[])[] = [],
): FilterFailure | undefined {
  if (node.unschedulable && !tolerates(pod.spec.tolerations, cordonTaint))
    return unresolvable("node(s) were unschedulable");
  const taint = untolerated(node.taints, pod.spec.tolerations);
  if (taint !== undefined)
    return unresolvable(`node(s) had untolerated taint {${taint.key}: ${taint.value ?? ""}}`);
  if (!isSelected(pod, node)) return unresolvable("node(s) didn't match Pod's node affinity/selector");
  if (portsConflict(hostPorts(pod), usage.ports))
    return { reasons: ["node(s) didn't have free ports for the requested pod ports"], unresolvable: false };
  const short = shortages(pod, node, usage);
  if (short !== undefined) return short;
  if (!volumeTerms.every((terms) => matchesTerms(terms, node)))
    return unresolvable("node(s) didn't match PersistentVolume's node affinity");
  return undefined;
}

function unresolvable(reason: string): FilterFailure {
  return { reasons: [reason], unresolvable: true };
}

function isSelected({ spec }: Pod, node: NodeView): boolean {
  if (!matchesLabels(spec.nodeSelector, node.labels)) return false;
  const required = spec.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution;
  return required === undefined || matchesTerms(required.nodeSelectorTerms ?? [], node);
}

function shortages(pod: Pod, node: NodeView, usage: NodeUsage): FilterFailure | undefined {
  const reasons: string[] = [];
  // More than the node's allocatable: preemption would not help.
  let never = false;
  const most = Number(node.allocatable.pods ?? 110);
  if (usage.pods + 1 > most) reasons.push("Too many pods");
  for (const [name, amount] of podRequests(pod)) {
    if (amount === 0n) continue;
    const has = parseQuantity(node.allocatable[name] ?? "0") ?? 0n;
    if (amount <= has - (usage.requests.get(name) ?? 0n)) continue;
    reasons.push(`Insufficient ${name}`);
    if (amount > has) never = true;
  }
  return reasons.length === 0 ? undefined : { reasons, unresolvable: never };
}

/** The first taint that these tolerations do not tolerate. */
export function untolerated(
  taints: readonly Taint[] | undefined,
  tolerations: readonly Toleration[] | undefined,
): Taint | undefined {
  return (taints ?? []).find(
    (taint) =>
      (taint.effect === "NoSchedule" || taint.effect === "NoExecute") && !tolerates(tolerations, taint),
  );
}

function tolerates(tolerations: readonly Toleration[] | undefined, taint: Taint): boolean {
  return (tolerations ?? []).some(({ key = "", operator = "", value = "", effect = "" }) => {
    if (effect !== "" && effect !== taint.effect) return false;
    if (key !== "" && key !== taint.key) return false;
    if (operator === "Exists") return true;
    return key !== "" && (operator === "" || operator === "Equal") && value === (taint.value ?? "");
  });
}
