import type { Container, Pod, PodCondition } from "../../../lib/model/pod.ts";
import { isSidecar } from "../../../lib/model/restart-policy.ts";
import type { ObservedPod } from "../../state/observed-pods.ts";
import { type ApiContainerStatus, type ApiPodStatus, isoSeconds, noTime } from "./api-types.ts";
import { isFinal, type PodPhase } from "./phase.ts";
import { conditionRestartingAll, couldRestartAll, isCleared } from "./restart-all.ts";
import type { StatusInput } from "./status-input.ts";

/** Conditions that only a kubelet sets. Others keep theirs, whatever we think of the pod. */
export const ownConditions: ReadonlySet<string> = new Set([
  "PodReadyToStartContainers",
  "Initialized",
  "Ready",
  "ContainersReady",
  "PodScheduled",
  "PodResizeInProgress",
  "PodResizePending",
  conditionRestartingAll,
]);
const disruption = "DisruptionTarget";

type Finding = { status: "True" | "False"; reason?: string; message?: string };
const yes: Finding = { status: "True" };
const no: Finding = { status: "False" };

export interface ConditionFacts {
  phase: PodPhase;
  statuses: readonly ApiContainerStatus[];
  restartingAll: boolean;
}

/** The conditions of a pod, those of others first. */
export function podConditions(input: StatusInput, facts: ConditionFacts): PodCondition[] {
  const { pod, seen, before } = input;
  const kept = othersConditions(input);
  const containersReady = areContainersReady(pod, facts);
  const list: [string, Finding][] = [
    ["PodReadyToStartContainers", hasUsableSandbox(pod, seen) ? yes : no],
    ["Initialized", isInitialized(pod, facts, input.gates.restart.restartAll ? before : undefined)],
    ["Ready", isPodReady(pod, containersReady, kept)],
    ["ContainersReady", containersReady],
    ["PodScheduled", yes],
  ];
  const generation = pod.metadata.generation;
  const conditions = list.map(([type, finding]) =>
    dated(input, { type, ...(generation ? { observedGeneration: generation } : {}), ...finding }),
  );
  if (couldRestartAll(pod, input.gates))
    conditions.push(dated(input, { type: conditionRestartingAll, ...isBeingRestarted(pod, seen, facts) }));
  return [...kept, ...resizeConditions(input, facts), ...conditions];
}

/** A resize that waits is of interest as long as the pod may still get it. */
function resizeConditions(
  { resize, before, workerPhase }: StatusInput,
  { phase }: ConditionFacts,
): PodCondition[] {
  if (!resize || workerPhase === "terminated" || isFinal(phase)) return [];
  const { reason, message, generation, at } = resize;
  const old = before?.conditions?.find((c) => c.type === "PodResizePending");
  const since = old?.reason === reason ? old.lastTransitionTime : undefined;
  return [
    {
      type: "PodResizePending",
      ...(generation > 0 ? { observedGeneration: generation } : {}),
      ...{ status: "True", reason, message },
      lastProbeTime: isoSeconds(at),
      lastTransitionTime: since ?? isoSeconds(at),
    },
  ];
}

/** What the API has from others, and what a verdict says: a pod that was to be disrupted stays so. */
function othersConditions(input: StatusInput): PodCondition[] {
  const { pod, before, verdict } = input;
  const kept = (pod.status?.conditions ?? []).filter((c) => !ownConditions.has(c.type));
  const generation = pod.metadata.generation;
  const judged = (verdict?.conditions ?? []).map((c) =>
    dated(input, { ...c, ...(generation ? { observedGeneration: generation } : {}) }),
  );
  const told = before?.conditions?.filter((c) => c.type === disruption) ?? [];
  for (const condition of [...told, ...judged]) {
    const at = kept.findIndex((c) => c.type === condition.type);
    if (at < 0) kept.push(condition);
    else kept[at] = condition;
  }
  return kept;
}

/** A condition keeps the time at which it became what it is. */
function dated(
  { before, now }: StatusInput,
  condition: Omit<PodCondition, "lastTransitionTime" | "lastProbeTime">,
): PodCondition {
  const old = before?.conditions?.find((c) => c.type === condition.type);
  const since = old?.status === condition.status ? old.lastTransitionTime : undefined;
  return { ...condition, lastProbeTime: noTime, lastTransitionTime: since ?? isoSeconds(now) };
}

/** One sandbox, ready, with the network that the pod wants and an address on it. */
function hasUsableSandbox(pod: Pod, seen: ObservedPod | undefined): boolean {
  const [newest, ...others] = seen?.sandboxes ?? [];
  if (newest?.state !== "ready" || others.some((s) => s.state === "ready")) return false;
  const hostNetwork = pod.spec.hostNetwork === true;
  return newest.hostNetwork === hostNetwork && (hostNetwork || newest.ips.length > 0);
}

/** Go's way to write a list of names, which users know from these messages. */
function named(what: string, containers: readonly Container[]): string {
  return `containers with ${what} status: [${containers.map((c) => c.name).join(" ")}]`;
}

function areContainersReady(pod: Pod, { phase, statuses }: ConditionFacts): Finding {
  if (phase === "Succeeded") return { status: "False", reason: "PodCompleted" };
  if (phase === "Failed") return { status: "False", reason: "PodFailed" };
  const needed = [...(pod.spec.initContainers ?? []).filter(isSidecar), ...pod.spec.containers];
  const unready = needed.filter((c) => !statuses.find((s) => s.name === c.name)?.ready);
  if (unready.length === 0) return yes;
  return { status: "False", reason: "ContainersNotReady", message: named("unready", unready) };
}

function isPodReady(pod: Pod, containersReady: Finding, others: readonly PodCondition[]): Finding {
  if (containersReady.status !== "True") return containersReady;
  const closed = (pod.spec.readinessGates ?? []).flatMap(({ conditionType }) => {
    const found = others.find((c) => c.type === conditionType);
    if (!found) return `corresponding condition of pod readiness gate "${conditionType}" does not exist.`;
    if (found.status === "True") return [];
    return `the status of pod readiness gate "${conditionType}" is not "True", but ${found.status}`;
  });
  if (closed.length === 0) return yes;
  return { status: "False", reason: "ReadinessGatesNotReady", message: closed.join(", ") };
}

function isInitialized(
  pod: Pod,
  { phase, statuses }: ConditionFacts,
  before: ApiPodStatus | undefined,
): Finding {
  if (phase === "Succeeded") return { status: "True", reason: "PodCompleted" };
  const statusOf = (c: Container) => statuses.find((s) => s.name === c.name);
  // Init containers that are restarted, or made again with the rest, do not take a pod back that was beyond them.
  const isBeyond = pod.spec.containers.some((c) => {
    const state = statusOf(c)?.state;
    return state?.running || state?.terminated;
  });
  const was = before?.conditions?.find((c) => c.type === "Initialized")?.status === "True";
  const incomplete = (pod.spec.initContainers ?? []).filter((c) => {
    const status = statusOf(c);
    return isSidecar(c) ? !status?.started : !status?.ready;
  });
  if (isBeyond || was || incomplete.length === 0) return yes;
  return { status: "False", reason: "ContainersNotInitialized", message: named("incomplete", incomplete) };
}

function isBeingRestarted(
  pod: Pod,
  seen: ObservedPod | undefined,
  { phase, restartingAll }: ConditionFacts,
): Finding {
  if (phase === "Succeeded") return { status: "False", reason: "PodCompleted" };
  if (phase === "Failed") return { status: "False", reason: "PodFailed" };
  if (!restartingAll || isCleared(pod, seen)) return no;
  return {
    status: "True",
    reason: "RestartAllContainersStarted",
    message: "container exited with restart policy rule",
  };
}
