import type { Container, Pod, PodCondition } from "../../../lib/model/pod.ts";
import { isTerminalPhase, type PodPhase } from "../../../lib/model/pod-phase.ts";
import { isSidecar } from "../../../lib/model/restart-policy.ts";
import type { ObservedPod } from "../../state/observed-pods.ts";
import { type ApiContainerStatus, type ApiPodStatus, isoSeconds, noTime } from "./api-types.ts";
import { areContainersRemoved, conditionRestartingAll, couldRestartAll } from "./restart-all.ts";
import type { StatusInput } from "./status-input.ts";

/** Conditions that only the kubelet sets, as upstream's PodConditionsByKubelet. Others are kept. */
export const kubeletConditions: ReadonlySet<string> = new Set([
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

type ConditionState = { status: "True" | "False"; reason?: string; message?: string };
const yes: ConditionState = { status: "True" };
const no: ConditionState = { status: "False" };

export interface ConditionInfo {
  phase: PodPhase;
  statuses: readonly ApiContainerStatus[];
  restartingAll: boolean;
}

/** The conditions of a pod; the conditions that other clients wrote come first. */
export function podConditions(input: StatusInput, info: ConditionInfo): PodCondition[] {
  const { pod, observed, previous } = input;
  const kept = externalConditions(input);
  const containersReady = areContainersReady(pod, info);
  const list: [string, ConditionState][] = [
    ...(input.gates.readyToStart ? [readyToStart(pod, observed)] : []),
    ["Initialized", isInitialized(pod, info, input.gates.restart.restartAll ? previous : undefined)],
    ["Ready", isPodReady(pod, containersReady, kept)],
    ["ContainersReady", containersReady],
    ["PodScheduled", yes],
  ];
  const generation = pod.metadata.generation;
  const conditions = list.map(([type, finding]) =>
    withTransitionTime(input, {
      type,
      ...(generation ? { observedGeneration: generation } : {}),
      ...finding,
    }),
  );
  if (couldRestartAll(pod, input.gates))
    conditions.push(
      withTransitionTime(input, { type: conditionRestartingAll, ...isBeingRestarted(pod, observed, info) }),
    );
  return [...kept, ...resizeConditions(input, info), ...conditions];
}

/** A resize is reported as long as the pod may still get it. */
function resizeConditions(
  { resizes = [], workerPhase }: StatusInput,
  { phase }: ConditionInfo,
): PodCondition[] {
  if (workerPhase === "terminated" || isTerminalPhase(phase)) return [];
  return resizes.map(({ type, reason, message, generation, since, at }) => ({
    type,
    ...(generation > 0 ? { observedGeneration: generation } : {}),
    status: "True",
    ...(reason ? { reason } : {}),
    ...(message ? { message } : {}),
    lastProbeTime: isoSeconds(at),
    lastTransitionTime: isoSeconds(since),
  }));
}

/** Conditions of other clients and of the failure; DisruptionTarget is kept once it is set. */
function externalConditions(input: StatusInput): PodCondition[] {
  const { pod, previous, failure } = input;
  const kept = (pod.status?.conditions ?? []).filter((c) => !kubeletConditions.has(c.type));
  const generation = pod.metadata.generation;
  const fromFailure = (failure?.conditions ?? []).map((c) =>
    withTransitionTime(input, { ...c, ...(generation ? { observedGeneration: generation } : {}) }),
  );
  const disruptions = previous?.conditions?.filter((c) => c.type === disruption) ?? [];
  for (const condition of [...disruptions, ...fromFailure]) {
    const at = kept.findIndex((c) => c.type === condition.type);
    if (at < 0) kept.push(condition);
    else kept[at] = condition;
  }
  return kept;
}

/** A condition keeps its transition time while its status does not change. */
function withTransitionTime(
  { previous, now }: StatusInput,
  condition: Omit<PodCondition, "lastTransitionTime" | "lastProbeTime">,
): PodCondition {
  const old = previous?.conditions?.find((c) => c.type === condition.type);
  const since = old?.status === condition.status ? old.lastTransitionTime : undefined;
  return { ...condition, lastProbeTime: noTime, lastTransitionTime: since ?? isoSeconds(now) };
}

function readyToStart(pod: Pod, observed: ObservedPod | undefined): [string, ConditionState] {
  return ["PodReadyToStartContainers", hasUsableSandbox(pod, observed) ? yes : no];
}

/** One sandbox, ready, in the network of the spec and with an address. */
function hasUsableSandbox(pod: Pod, observed: ObservedPod | undefined): boolean {
  const [newest, ...others] = observed?.sandboxes ?? [];
  if (newest?.state !== "ready" || others.some((s) => s.state === "ready")) return false;
  const hostNetwork = pod.spec.hostNetwork === true;
  return newest.hostNetwork === hostNetwork && (hostNetwork || newest.ips.length > 0);
}

/** A list of names in Go's format, as in upstream's messages. */
function nameList(what: string, containers: readonly Container[]): string {
  return `containers with ${what} status: [${containers.map((c) => c.name).join(" ")}]`;
}

function areContainersReady(pod: Pod, { phase, statuses }: ConditionInfo): ConditionState {
  if (phase === "Succeeded") return { status: "False", reason: "PodCompleted" };
  if (phase === "Failed") return { status: "False", reason: "PodFailed" };
  const needed = [...(pod.spec.initContainers ?? []).filter(isSidecar), ...pod.spec.containers];
  const unready = needed.filter((c) => !statuses.find((s) => s.name === c.name)?.ready);
  if (unready.length === 0) return yes;
  return { status: "False", reason: "ContainersNotReady", message: nameList("unready", unready) };
}

function isPodReady(
  pod: Pod,
  containersReady: ConditionState,
  others: readonly PodCondition[],
): ConditionState {
  if (containersReady.status !== "True") return containersReady;
  const unready = (pod.spec.readinessGates ?? []).flatMap(({ conditionType }) => {
    const found = others.find((c) => c.type === conditionType);
    if (!found) return `corresponding condition of pod readiness gate "${conditionType}" does not exist.`;
    if (found.status === "True") return [];
    return `the status of pod readiness gate "${conditionType}" is not "True", but ${found.status}`;
  });
  if (unready.length === 0) return yes;
  return { status: "False", reason: "ReadinessGatesNotReady", message: unready.join(", ") };
}

function isInitialized(
  pod: Pod,
  { phase, statuses }: ConditionInfo,
  previous: ApiPodStatus | undefined,
): ConditionState {
  if (phase === "Succeeded") return { status: "True", reason: "PodCompleted" };
  const statusOf = (c: Container) => statuses.find((s) => s.name === c.name);
  // Init containers that are restarted, or recreated with all others, do not make an initialized pod uninitialized.
  const hasStarted = pod.spec.containers.some((c) => {
    const state = statusOf(c)?.state;
    return state?.running || state?.terminated;
  });
  const wasInitialized = previous?.conditions?.find((c) => c.type === "Initialized")?.status === "True";
  const incomplete = (pod.spec.initContainers ?? []).filter((c) => {
    const status = statusOf(c);
    return isSidecar(c) ? !status?.started : !status?.ready;
  });
  if (hasStarted || wasInitialized || incomplete.length === 0) return yes;
  return { status: "False", reason: "ContainersNotInitialized", message: nameList("incomplete", incomplete) };
}

function isBeingRestarted(
  pod: Pod,
  observed: ObservedPod | undefined,
  { phase, restartingAll }: ConditionInfo,
): ConditionState {
  if (phase === "Succeeded") return { status: "False", reason: "PodCompleted" };
  if (phase === "Failed") return { status: "False", reason: "PodFailed" };
  if (!restartingAll || areContainersRemoved(pod, observed)) return no;
  return {
    status: "True",
    reason: "RestartAllContainersStarted",
    message: "container exited with restart policy rule",
  };
}
