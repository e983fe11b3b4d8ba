import type { NodeCondition, Taint } from "../../../lib/gen/kubernetes/core.d.ts";
import { timestamp } from "../api-times.ts";

export interface NodeState {
  readonly created: string | undefined;
  readonly unschedulable: boolean;
  readonly conditions: readonly NodeCondition[];
  readonly taints: readonly Taint[];
}

/** How long a node may go without reporting: before its first report, and after it. */
export interface GracePeriods {
  readonly startupMs: number;
  readonly monitorMs: number;
}

const prefix = "node.kubernetes.io/";
const notReady = `${prefix}not-ready`;
const unreachable = `${prefix}unreachable`;
const cordoned = `${prefix}unschedulable`;

const kubeletConditions = ["Ready", "MemoryPressure", "DiskPressure", "PIDPressure"];

/** The taints of conditions, by their status. */
const conditionTaints: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  Ready: { False: notReady, Unknown: unreachable },
  MemoryPressure: { True: `${prefix}memory-pressure` },
  DiskPressure: { True: `${prefix}disk-pressure` },
  NetworkUnavailable: { True: `${prefix}network-unavailable` },
  PIDPressure: { True: `${prefix}pid-pressure` },
};

const ownNoSchedule = new Set([
  cordoned,
  ...Object.values(conditionTaints).flatMap((by) => Object.values(by)),
]);
const ownNoExecute = new Set([notReady, unreachable]);

/** When the node becomes Unknown, if it does not report. */
export function deadline(node: NodeState, observedAt: number, gracePeriods: GracePeriods): number {
  const known = node.conditions.some(({ type }) => type === "Ready");
  return observedAt + (known ? gracePeriods.monitorMs : gracePeriods.startupMs);
}

/** The conditions of a node that does not report: Unknown. Undefined if they are already. */
export function unknownConditions(node: NodeState, now: number): NodeCondition[] | undefined {
  const conditions = node.conditions.map((condition) =>
    kubeletConditions.includes(condition.type) && condition.status !== "Unknown"
      ? {
          ...condition,
          status: "Unknown",
          reason: "NodeStatusUnknown",
          message: "Kubelet stopped posting node status.",
          lastTransitionTime: timestamp(now),
        }
      : condition,
  );
  const missing = kubeletConditions.filter(
    (type) => !conditions.some((condition) => condition.type === type),
  );
  const never = missing.map((type) => ({
    type,
    status: "Unknown",
    reason: "NodeStatusNeverUpdated",
    message: "Kubelet never posted node status.",
    lastHeartbeatTime: node.created ?? timestamp(now),
    lastTransitionTime: timestamp(now),
  }));
  const changed = never.length > 0 || conditions.some((condition, i) => condition !== node.conditions[i]);
  return changed ? [...conditions, ...never] : undefined;
}

/** The desired taints of the node. The same list if nothing changes. */
export function plannedTaints(node: NodeState, now: number): readonly Taint[] {
  const ready = node.conditions.find(({ type }) => type === "Ready");
  // Before its first report, a node keeps the taints that it was registered with.
  if (ready === undefined) return withCordon(node);
  const desired: Taint[] = [];
  for (const { type, status } of node.conditions) {
    const key = conditionTaints[type]?.[status];
    if (key !== undefined) desired.push({ key, effect: "NoSchedule" });
  }
  if (node.unschedulable) desired.push({ key: cordoned, effect: "NoSchedule" });
  const readyTaint = conditionTaints.Ready?.[ready.status];
  if (readyTaint !== undefined)
    desired.push({ key: readyTaint, effect: "NoExecute", timeAdded: timestamp(now) });
  return merged(node.taints, desired, isOwn);
}

function withCordon(node: NodeState): readonly Taint[] {
  const desired = node.unschedulable ? [{ key: cordoned, effect: "NoSchedule" }] : [];
  return merged(node.taints, desired, ({ key, effect }) => key === cordoned && effect === "NoSchedule");
}

function isOwn({ key, effect }: Taint): boolean {
  return (
    (effect === "NoSchedule" && ownNoSchedule.has(key)) || (effect === "NoExecute" && ownNoExecute.has(key))
  );
}

/** Keeps existing desired taints unchanged, and taints that others have set. */
function merged(
  present: readonly Taint[],
  desired: readonly Taint[],
  isOurs: (taint: Taint) => boolean,
): readonly Taint[] {
  const isSame = (a: Taint, b: Taint) => a.key === b.key && a.effect === b.effect;
  const kept = present.filter((taint) => !isOurs(taint) || desired.some((other) => isSame(taint, other)));
  const added = desired.filter((taint) => !present.some((other) => isSame(taint, other)));
  return kept.length === present.length && added.length === 0 ? present : [...kept, ...added];
}
