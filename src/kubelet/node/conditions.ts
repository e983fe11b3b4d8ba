import type { WallTime } from "../../lib/base/time.ts";
import { type NodeEvent, statusEvent } from "./node-events.ts";
import { apiTime, type NodeCondition, type ResourceList } from "./node-types.ts";

export interface ConditionInfo {
  /** The types of the conditions that are true. */
  readonly pressure: readonly string[];
  /** Why the node cannot run pods: runtime, network, storage, shutdown, in this order. */
  readonly notReady: readonly string[];
  /** Warnings about the host that do not make it unusable. */
  readonly warning?: string;
  /** Resources that must be in the capacity for the node to be Ready. */
  readonly required: readonly string[];
}

export interface ConditionPlan {
  conditions: NodeCondition[];
  events: NodeEvent[];
}

const pressures = [
  {
    type: "MemoryPressure",
    yes: "NodeHasInsufficientMemory",
    yesMessage: "kubelet has insufficient memory available",
    no: "NodeHasSufficientMemory",
    noMessage: "kubelet has sufficient memory available",
  },
  {
    type: "DiskPressure",
    yes: "NodeHasDiskPressure",
    yesMessage: "kubelet has disk pressure",
    no: "NodeHasNoDiskPressure",
    noMessage: "kubelet has no disk pressure",
  },
  {
    type: "PIDPressure",
    yes: "NodeHasInsufficientPID",
    yesMessage: "kubelet has insufficient PID available",
    no: "NodeHasSufficientPID",
    noMessage: "kubelet has sufficient PID available",
  },
] as const;

/** Updates our four conditions among the existing ones. Ready comes last on a new node. */
export function planConditions(
  node: { name: string; conditions: readonly NodeCondition[]; capacity: ResourceList },
  info: ConditionInfo,
  now: WallTime,
): ConditionPlan {
  const time = apiTime(now);
  const conditions = node.conditions.map((condition) => ({ ...condition }));
  const events: NodeEvent[] = [];
  for (const kind of pressures) {
    const old = conditions.find(({ type }) => type === kind.type);
    const under = info.pressure.includes(kind.type);
    const status = under ? "True" : "False";
    const change = under ? kind.yes : kind.no;
    const next: NodeCondition =
      old?.status === status
        ? { ...old, lastHeartbeatTime: time }
        : {
            type: kind.type,
            status,
            lastHeartbeatTime: time,
            lastTransitionTime: time,
            reason: change.replace(/^Node/, "Kubelet"),
            message: under ? kind.yesMessage : kind.noMessage,
          };
    if (old?.status !== status) events.push(statusEvent(node.name, change));
    put(conditions, next);
  }
  const old = conditions.find(({ type }) => type === "Ready");
  const ready = readyCondition(info, node.capacity, time);
  const same = old?.status === ready.status;
  put(conditions, same ? { ...ready, lastTransitionTime: old.lastTransitionTime } : ready);
  if (old && !same)
    events.push(statusEvent(node.name, ready.status === "True" ? "NodeReady" : "NodeNotReady"));
  return { conditions, events };
}

function readyCondition(info: ConditionInfo, capacity: ResourceList, now: string): NodeCondition {
  const missing = info.required.filter((name) => !(name in capacity));
  const reasons = [...info.notReady];
  if (missing.length > 0) reasons.push(`missing node capacity for resources: ${missing.join(", ")}`);
  const ready = reasons.length === 0;
  const message = ready ? "kubelet is posting ready status" : joined(reasons);
  return {
    type: "Ready",
    status: ready ? "True" : "False",
    lastHeartbeatTime: now,
    lastTransitionTime: now,
    reason: ready ? "KubeletReady" : "KubeletNotReady",
    message: info.warning ? `${message}. WARNING: ${info.warning}` : message,
  };
}

function joined(reasons: readonly string[]): string {
  const different = [...new Set(reasons)];
  return different.length === 1 ? (different[0] ?? "") : `[${different.join(", ")}]`;
}

function put(conditions: NodeCondition[], next: NodeCondition): void {
  const at = conditions.findIndex(({ type }) => type === next.type);
  if (at < 0) conditions.push(next);
  else conditions[at] = next;
}

export function isReady(conditions: readonly NodeCondition[] | undefined): boolean {
  return conditions?.find(({ type }) => type === "Ready")?.status === "True";
}
