import type { PodInfo } from "../../kubelet/explain/explain-pod.ts";
import { matchesNode, nodeMismatch } from "../../kubelet/pods/admission/node-affinity.ts";
import { taintText, untoleratedTaint } from "../../kubelet/pods/admission/taints.ts";
import { isImageReason } from "../../lib/model/image-reasons.ts";
import {
  annotationMirror,
  type ContainerStatus,
  type Pod,
  type PodStatus,
  sourceOf,
} from "../../lib/model/pod.ts";
import type { StepKind, StepRecord } from "../../lib/model/pod-step.ts";
import { readinessOf } from "../../lib/model/readiness.ts";
import type { SchedulerNode } from "../unscheduled-pods.ts";

/** An Event of core/v1, as a client reads it: of kubelets and controllers of any release. */
export interface PodEvent {
  readonly type?: string;
  readonly reason?: string;
  readonly message?: string;
  readonly count?: number;
  readonly involvedObject: { readonly uid?: string; readonly fieldPath?: string };
  readonly firstTimestamp?: string | null;
  readonly lastTimestamp?: string | null;
  readonly eventTime?: string | null;
}

/** A mirror pod has the UID of its static pod, which the kubelet and its events use, in an annotation. */
export function kubeletUid({ metadata }: Pod): string {
  return metadata.annotations?.[annotationMirror] ?? metadata.uid;
}

/** The step that an event is about. Those that are not listed, such as Scheduled and Started, are not about the cause. */
const eventSteps: Readonly<Record<string, StepKind>> = {
  FailedMount: "volumes",
  FailedAttachVolume: "volumes",
  FailedMapVolume: "volumes",
  VolumeResizeFailed: "volumes",
  FailedCreatePodSandBox: "sandbox",
  FailedPodSandBoxStatus: "sandbox",
  NetworkNotReady: "network",
  FailedPrepareDynamicResources: "claims",
  FailedPostStartHook: "hook",
  Pulling: "image",
  InspectFailed: "image",
  ErrImageNeverPull: "image",
  FailedKillPod: "stop",
  FailedPreStopHook: "stop",
};

/** The event of a failed hook has its output in the log of the kubelet only. */
const hiddenOutput = [/^PostStartHook failed$/, "the kubelet does not report its output"] as const;

/**
 * Everything that the API server has about a pod, in the form in which a kubelet explains its pods: for nodes whose kubelet cannot be queried, or cannot explain. The steps
 * come from events, the current one from the status.
 */
export function podFromApi(
  pod: Pod,
  events: readonly PodEvent[],
  now: number,
  node?: SchedulerNode,
): PodInfo {
  const { metadata, status } = pod;
  const { namespace, name } = metadata;
  const createdAt = epoch(metadata.creationTimestamp) ?? now;
  const records = events.flatMap((event) => recordOf(event, pod, createdAt));
  records.sort((a, b) => a.startedAt - b.startedAt);
  const terminating = metadata.deletionTimestamp !== undefined;
  const ready = status !== undefined && readinessOf(pod, status).isReady;
  const current = ready || !status ? undefined : currentStep(pod, status, records, createdAt);
  const statuses = [...(status?.initContainerStatuses ?? []), ...(status?.containerStatuses ?? [])];
  const mounts = records.filter(({ kind, error }) => kind === "volumes" && error !== undefined);
  return {
    id: { namespace, name, uid: kubeletUid(pod) },
    source: sourceOf(pod),
    nodeName: pod.spec.nodeName ?? "",
    pod,
    phase: terminating ? "terminating" : "syncing",
    blockedOn: current && { text: current.text, since: current.startedAt },
    history: {
      startedAt: createdAt,
      records: current ? [...records, current] : records,
      dropped: 0,
      current,
      start: undefined,
    },
    status,
    isReady: ready && !terminating,
    failure: status && rejectionOf(pod, status, node),
    terminatedByItself: !terminating,
    waiting: new Map(
      statuses.flatMap(({ name: container, state }) =>
        state?.waiting?.reason
          ? [[container, { reason: state.waiting.reason, message: state.waiting.message ?? "" }]]
          : [],
      ),
    ),
    probeFailures: events
      .flatMap((event) => probeFailureOf(event, createdAt))
      .sort((one, other) => other.at - one.at),
    kills: events.flatMap((event) => killOf(event, events, statuses, createdAt)),
    oomKills: new Map(),
    running: statuses
      .filter(({ state }) => state?.running)
      .map(({ name: container }) => ({ name: container })),
    volumes: current?.kind === "volumes" ? [...new Set(mounts.map(({ text }) => text))] : [],
    unwrittenSince: undefined,
    pulls: [],
    now,
  };
}

/** The step that a pod waits for, according to its status and its newest problem. */
function currentStep(
  pod: Pod,
  status: PodStatus,
  records: readonly StepRecord[],
  createdAt: number,
): StepRecord | undefined {
  const at = (time: unknown) => epoch(time) ?? createdAt;
  if (pod.metadata.deletionTimestamp !== undefined)
    return {
      kind: "stop",
      text: "waiting for its containers to stop",
      startedAt: at(pod.metadata.deletionTimestamp) - 1000 * (pod.metadata.deletionGracePeriodSeconds ?? 0),
    };
  if (status.phase === "Failed" || status.phase === "Succeeded") return undefined;
  const waiting = [...(status.initContainerStatuses ?? []), ...(status.containerStatuses ?? [])].find(
    ({ state }) => state?.waiting?.reason && !isStarting(state.waiting.reason),
  );
  if (waiting) return waitingStep(waiting, pod, records, createdAt);
  const initializing = status.initContainerStatuses?.find(({ state }) => state?.running);
  if (initializing && !initializing.ready && initializing.started !== false)
    return {
      kind: "init",
      container: initializing.name,
      text: `waiting for init container ${initializing.name} to complete`,
      startedAt: at(initializing.state?.running?.startedAt),
    };
  const { why } = readinessOf(pod, status);
  if (why) {
    const changed = status.conditions?.find(({ type }) => type === "Ready")?.lastTransitionTime;
    return { ...why, startedAt: at(changed) };
  }
  // The containers were not created yet: the newest problem is what prevents it.
  const problem = records.findLast(({ error }) => error !== undefined);
  if (problem) return { ...problem, endedAt: undefined } as StepRecord;
  const pulling = records.findLast(({ kind }) => kind === "image");
  if (pulling) return pulling;
  return { kind: "other", text: "its containers are being created", startedAt: at(status.startTime) };
}

function isStarting(reason: string): boolean {
  return reason === "ContainerCreating" || reason === "PodInitializing";
}

function waitingStep(
  { name, state, lastState }: ContainerStatus,
  pod: Pod,
  records: readonly StepRecord[],
  createdAt: number,
): StepRecord {
  const { reason = "", message = "" } = state?.waiting ?? {};
  const text = message || reason;
  const [prefix, image] = /^Back-off pulling image "(.*?)": ErrImagePull: /s.exec(text) ?? [];
  const { containers, initContainers = [] } = pod.spec;
  const own = [...containers, ...initContainers].find((container) => container.name === name)?.image;
  // The image of a volume prevents the start of the container, too.
  const isOwn = image === undefined || image === own;
  const kind =
    isImageReason(reason) && isOwn ? "image" : reason === "CrashLoopBackOff" ? "backoff" : "container";
  const newest = records.findLast((record) => record.kind === kind && record.container === name);
  const startedAt = epoch(lastState?.terminated?.finishedAt) ?? newest?.startedAt ?? createdAt;
  if (kind === "backoff") return { kind, container: name, text, startedAt };
  const error = isOwn && prefix !== undefined ? text.slice(prefix.length) : text;
  return { kind, container: name, text, startedAt, error };
}

function recordOf(event: PodEvent, pod: Pod, createdAt: number): StepRecord[] {
  const { reason = "", message = "", type, firstTimestamp, lastTimestamp, eventTime } = event;
  const kind = stepOf(reason, message);
  if (!kind) return [];
  const firstAt = epoch(firstTimestamp) ?? epoch(eventTime) ?? createdAt;
  const endedAt = epoch(lastTimestamp) ?? firstAt;
  const container = containerOf(event);
  const startedAt = kind === "hook" ? hookAt(endedAt, lastEndOf(pod, container)) : firstAt;
  const text =
    kind === "volumes" ? volumeText(message, pod) : message.replace(/^Error: /, "").replace(...hiddenOutput);
  return [
    {
      kind,
      text,
      startedAt,
      endedAt,
      ...(container !== undefined && { container }),
      ...(type === "Warning" && kind !== "backoff" && { error: text }),
    },
  ];
}

function stepOf(reason: string, message: string): StepKind | undefined {
  // A sandbox without a network is stopped before the next attempt.
  if (reason === "FailedKillPod" && /network for sandbox/.test(message)) return "sandbox";
  return Object.hasOwn(eventSteps, reason) ? eventSteps[reason] : containerStep(reason, message);
}

function lastEndOf({ status }: Pod, container: string | undefined) {
  const found = status?.containerStatuses?.find(({ name }) => name === container);
  return found?.lastState?.terminated ?? found?.state?.terminated;
}

/** The time of a failed hook in the newest run that ended, if the hook may have ended it. */
function hookAt(reportedAt: number, end: ReturnType<typeof lastEndOf>): number {
  const startedAt = epoch(end?.startedAt);
  return end && startedAt !== undefined && mayBeKilled(end) ? Math.max(startedAt, reportedAt) : reportedAt;
}

/** As a kubelet-ts reports it, with the name that the volume has in the pod. */
function volumeText(message: string, { spec }: Pod): string {
  const [, name, reason = message] =
    /failed to process volumes=\[([^\s\]]+)\]: (.*)$/s.exec(message) ??
    /^\S+ failed for volume "([^"]+)" : /.exec(message) ??
    [];
  const isOfPod = spec.volumes?.some((volume) => volume.name === name);
  return isOfPod ? `waiting for volume ${name}: ${reason}` : message;
}

/** The label or taint because of which the kubelet rejected the pod, as far as the node still has it. */
function rejectionOf(pod: Pod, status: PodStatus, node: SchedulerNode | undefined): PodInfo["failure"] {
  const { phase, reason = "", message = "" } = status;
  const detail = phase === "Failed" && node ? rejectionDetail(reason, pod, node) : undefined;
  return detail === undefined ? undefined : { phase: "Failed", reason, message, detail };
}

function rejectionDetail(reason: string, pod: Pod, { metadata, spec }: SchedulerNode): string | undefined {
  if (reason === "TaintToleration") {
    const taint = untoleratedTaint(pod, spec?.taints ?? []);
    return taint && `taint ${taintText(taint)}`;
  }
  const node = { name: metadata.name, labels: metadata.labels ?? {} };
  return reason === "NodeAffinity" && !matchesNode(pod, node) ? nodeMismatch(pod, node) : undefined;
}

/** Failed and BackOff are about the image, or about the container. */
function containerStep(reason: string, message: string): StepKind | undefined {
  if (reason === "BackOff") return message.startsWith("Back-off restarting") ? "backoff" : undefined;
  // "Error: ErrImagePull" repeats what the event before it has in full.
  if (reason !== "Failed" || /^Error: (ErrImage\w+|ImagePullBackOff)$/.test(message)) return undefined;
  return /^Failed to (pull|inspect) image/.test(message) ? "image" : "container";
}

function probeFailureOf(event: PodEvent, createdAt: number): PodInfo["probeFailures"] {
  const match = /^(Liveness|Readiness|Startup) probe (?:failed|errored.*?): (.*)$/s.exec(event.message ?? "");
  const container = containerOf(event);
  if (event.reason !== "Unhealthy" || !match || container === undefined) return [];
  const [, kind = "", text = ""] = match;
  const at = epoch(event.lastTimestamp) ?? epoch(event.eventTime) ?? createdAt;
  // The count of an event includes failures of earlier containers, and those before a success.
  return [{ kind: kind.toLowerCase(), container, text, at, times: 1 }];
}

/** The container that was killed last for a failed probe: events do not have its ID. */
function killOf(
  event: PodEvent,
  events: readonly PodEvent[],
  statuses: readonly ContainerStatus[],
  createdAt: number,
): PodInfo["kills"] {
  const match = /^Container (\S+) failed (liveness|startup) probe/.exec(event.message ?? "");
  if (event.reason !== "Killing" || !match) return [];
  const [, container = "", kind = ""] = match;
  const ended = statuses.find(({ name }) => name === container);
  const end = ended?.lastState?.terminated ?? ended?.state?.terminated;
  const killedAt = epoch(event.lastTimestamp) ?? epoch(event.eventTime);
  const [started, finished] = [epoch(end?.startedAt), epoch(end?.finishedAt)];
  if (!end?.containerID || killedAt === undefined || started === undefined || finished === undefined)
    return [];
  // Timestamps have a resolution of one second.
  if (killedAt > finished + 1000 || (killedAt < started && !mayBeKilled(end))) return [];
  const failure = events
    .flatMap((other) => probeFailureOf(other, createdAt))
    .findLast((found) => found.kind === kind && found.container === container);
  return failure ? [{ ...failure, id: end.containerID.replace(/^.*:\/\//, "") }] : [];
}

/**
 * True for exit codes of a process that was stopped. A kubelet limits its events: of a container that it stops repeatedly, the newest event may be that of
 * an earlier run.
 */
function mayBeKilled({ exitCode }: { readonly exitCode: number }): boolean {
  return exitCode === 0 || exitCode === 137 || exitCode === 143;
}

/** "spec.containers{web}" is the field path of a container's events. */
function containerOf({ involvedObject }: PodEvent): string | undefined {
  return /^spec\.\w+\{(.+)\}$/.exec(involvedObject.fieldPath ?? "")?.[1];
}

function epoch(time: unknown): number | undefined {
  const ms = time ? Date.parse(String(time)) : Number.NaN;
  return Number.isNaN(ms) ? undefined : ms;
}
