import { msBetween, type WallTime, wallTime } from "../../../lib/base/time.ts";
import type { ContainerId, SandboxId } from "../../../lib/clients/cri/cri.ts";
import {
  type Container,
  ContainerState,
  type ContainerStatus,
  NamespaceMode,
  type PodSandbox,
  PodSandboxState,
  type PodSandboxStatus,
  Signal,
} from "../../../lib/gen/runtime/v1/api_pb.js";
import {
  annotationContainerHash,
  labelContainerName,
  labelPodName,
  labelPodNamespace,
  labelPodUid,
} from "../../../lib/model/labels.ts";
import type { PodUid } from "../../../lib/model/pod.ts";
import { quotaToMilliCpu, sharesToMilliCpu } from "../../../lib/model/resources.ts";
import type { ObservedContainer, ObservedPod, ObservedSandbox } from "../../state/observed-pods.ts";

const nanosPerMilli = 1_000_000n;

const containerStates: Record<ContainerState, ObservedContainer["state"]> = {
  [ContainerState.CONTAINER_CREATED]: "created",
  [ContainerState.CONTAINER_RUNNING]: "running",
  [ContainerState.CONTAINER_EXITED]: "exited",
  [ContainerState.CONTAINER_UNKNOWN]: "unknown",
};

/** A pod as listed by the runtime: IDs and states, no details. */
export interface ListedPod {
  /** The sandbox ID if no kubelet created it: its labels do not name its pod. */
  uid: PodUid;
  name: string;
  namespace: string;
  sandboxes: PodSandbox[];
  containers: Container[];
}

/**
 * Groups the sandboxes and containers of a listing by pod. A sandbox that no kubelet created is a pod of its own, as upstream; its
 * containers are omitted.
 */
export function groupByPod(sandboxes: PodSandbox[], containers: Container[]): Map<PodUid, ListedPod> {
  const pods = new Map<PodUid, ListedPod>();
  const podFor = (uid: string, name = "", namespace = ""): ListedPod => {
    const key = uid as PodUid;
    const pod = pods.get(key) ?? { uid: key, name, namespace, sandboxes: [], containers: [] };
    pods.set(key, pod);
    return pod;
  };
  const podOf = (labels: Record<string, string>) => {
    const uid = labels[labelPodUid];
    return uid ? podFor(uid, labels[labelPodName], labels[labelPodNamespace]) : undefined;
  };
  for (const sandbox of sandboxes) {
    const { id, labels, metadata } = sandbox;
    const pod = podOf(labels) ?? (metadata && podFor(id, metadata.name, metadata.namespace));
    pod?.sandboxes.push(sandbox);
  }
  for (const container of containers) podOf(container.labels)?.containers.push(container);
  for (const pod of pods.values()) {
    pod.sandboxes.sort(newestFirst);
    pod.containers.sort(newestFirst);
  }
  return pods;
}

/** Sorted by attempt, which only increases, and then by time: the clock of the node may be set back. */
function newestFirst(a: PodSandbox | Container, b: PodSandbox | Container): number {
  const attempts = (b.metadata?.attempt ?? 0) - (a.metadata?.attempt ?? 0);
  return attempts || (a.createdAt < b.createdAt ? 1 : a.createdAt > b.createdAt ? -1 : 0);
}

/**
 * The pod with newer observations of some of its parts, in the order of a listing. A container that has exited stays so: it never runs again,
 * so a status that reports it as running was read earlier, even if it was requested or has arrived later.
 */
export function withParts(pod: ObservedPod | undefined, newer: ObservedPod): ObservedPod {
  const hasExited = ({ state }: { state: string }) => state === "exited";
  const merge = <T extends { id: string; state: string; attempt: number; createdAt: WallTime }>(
    parts: readonly T[],
    known: readonly T[] = [],
  ): T[] => {
    const added = parts.filter(({ id }) => known.every((part) => part.id !== id));
    const kept = known.map((part) => {
      const again = parts.find(({ id }) => id === part.id);
      return again && (hasExited(again) || !hasExited(part)) ? again : part;
    });
    return [...added, ...kept].sort((a, b) => b.attempt - a.attempt || msBetween(a.createdAt, b.createdAt));
  };
  return {
    ...(pod ?? newer),
    sandboxes: merge(newer.sandboxes, pod?.sandboxes),
    containers: merge(newer.containers, pod?.containers),
  };
}

/**
 * The sandbox as the list shows it, if its details are known: once it is stopped, it has no address, and nothing else of it changes. A ready
 * sandbox without an address may still get one.
 */
export function knownSandbox(
  known: ObservedSandbox | undefined,
  listed: PodSandbox,
): ObservedSandbox | undefined {
  if (!known) return undefined;
  const state = sandboxState(listed.state);
  if (state === "notready") return known.state === state ? known : { ...known, state, ips: [] };
  const isComplete = known.state === state && (known.hostNetwork || known.ips.length > 0);
  return isComplete ? known : undefined;
}

/** True if the known details of this container are still valid: they change only with its state, or when the kernel kills one of its processes. */
export function isContainerUnchanged(
  known: ObservedContainer | undefined,
  listed: Container,
  now: WallTime,
): boolean {
  return known?.state === containerStates[listed.state] && !mayBecomeOomKilled(known, now);
}

/** How long a runtime may take to report that a container was OOM-killed. */
const oomReportMs = 3000;

/** True for a container that was killed so recently that the runtime may still report an OOM kill. */
export function mayBecomeOomKilled(
  { state, exitCode, reason, finishedAt }: ObservedContainer,
  now: WallTime,
): boolean {
  if (state !== "exited" || exitCode !== 137 || reason !== "Error") return false;
  // If the clock was set back, the exit may be in the future: do not wait until then.
  return Math.abs(msBetween(finishedAt, now)) < oomReportMs;
}

/**
 * The pod with the reason OOMKilled for the containers that the kernel killed. The runtime may report another reason, because it learns of
 * the kill and of the exit separately. A container with an exit code other than 137 survived the kill of one of its processes.
 */
export function withOomKills(pod: ObservedPod, isKilled: (id: ContainerId) => boolean): ObservedPod {
  const applies = ({ id, state, exitCode, reason }: ObservedContainer) =>
    state === "exited" && exitCode === 137 && reason === "Error" && isKilled(id);
  if (!pod.containers.some(applies)) return pod;
  return {
    ...pod,
    containers: pod.containers.map((c) => (applies(c) ? { ...c, reason: "OOMKilled" } : c)),
  };
}

export function observedContainer(
  sandboxId: SandboxId,
  status: ContainerStatus,
  terminationMessage = "",
): ObservedContainer {
  const user = observedUser(status);
  const resources = observedResources(status);
  const imageVolumes = observedImageVolumes(status);
  const stopSignal = signalName(status.stopSignal);
  return {
    id: status.id as ContainerId,
    name: status.labels[labelContainerName] ?? status.metadata?.name ?? "",
    sandboxId,
    state: neverStarted(status) ? "created" : (containerStates[status.state] ?? "unknown"),
    attempt: status.metadata?.attempt ?? 0,
    hash: status.annotations[annotationContainerHash] ?? "",
    image: status.image?.image ?? "",
    imageRef: status.imageRef,
    imageId: status.imageId,
    createdAt: millis(status.createdAt),
    startedAt: millis(status.startedAt),
    finishedAt: millis(status.finishedAt),
    exitCode: status.exitCode,
    reason: status.reason,
    message: [status.message, terminationMessage].filter((text) => text !== "").join(": "),
    logPath: status.logPath,
    annotations: status.annotations,
    ...(user ? { user } : {}),
    ...(resources ? { resources } : {}),
    ...(imageVolumes ? { imageVolumes } : {}),
    ...(stopSignal ? { stopSignal } : {}),
  };
}

/** "SIGRTMIN+3" as users write it; undefined if the runtime does not report it. */
function signalName(signal: Signal): string | undefined {
  if (signal === Signal.RUNTIME_DEFAULT) return undefined;
  return Signal[signal]?.replace("PLUS", "+").replace("MINUS", "-");
}

function observedUser({ user }: ContainerStatus): ObservedContainer["user"] {
  if (!user?.linux) return undefined;
  const { uid, gid, supplementalGroups } = user.linux;
  return { uid: Number(uid), gid: Number(gid), supplementalGroups: supplementalGroups.map(Number) };
}

function observedImageVolumes({ mounts }: ContainerStatus): ObservedContainer["imageVolumes"] {
  const found = mounts.flatMap(({ containerPath, image }) =>
    image?.image ? [[containerPath, image.image] as const] : [],
  );
  return found.length > 0 ? Object.fromEntries(found) : undefined;
}

function observedResources({ resources }: ContainerStatus): ObservedContainer["resources"] {
  const linux = resources?.linux;
  if (!linux) return undefined;
  const found = {
    milliCpuLimit: Number(quotaToMilliCpu(linux.cpuQuota, linux.cpuPeriod)),
    milliCpuRequest: Number(sharesToMilliCpu(linux.cpuShares)),
    memoryLimit: Number(linux.memoryLimitInBytes),
  };
  const reported = Object.entries(found).filter(([, amount]) => amount > 0);
  return reported.length > 0 ? Object.fromEntries(reported) : undefined;
}

/**
 * True for a container whose start was canceled because the agent exited: it is treated as created and never started. Nothing else cancels
 * a start.
 */
function neverStarted({ state, reason, message, startedAt }: ContainerStatus): boolean {
  return (
    state === ContainerState.CONTAINER_EXITED &&
    reason === "StartError" &&
    startedAt === 0n &&
    message.includes("context canceled")
  );
}

export function observedSandbox(status: PodSandboxStatus): ObservedSandbox {
  const ips = [status.network?.ip ?? "", ...(status.network?.additionalIps ?? []).map((a) => a.ip)];
  return {
    id: status.id as SandboxId,
    state: sandboxState(status.state),
    attempt: status.metadata?.attempt ?? 0,
    createdAt: millis(status.createdAt),
    ips: ips.filter((ip) => ip !== ""),
    hostNetwork: status.linux?.namespaces?.options?.network === NamespaceMode.NODE,
    annotations: status.annotations,
  };
}

function sandboxState(state: PodSandboxState): ObservedSandbox["state"] {
  return state === PodSandboxState.SANDBOX_READY ? "ready" : "notready";
}

function millis(nanos: bigint): WallTime {
  return wallTime(Number(nanos / nanosPerMilli));
}

export interface PodEvent {
  uid: PodUid;
  kind: "ContainerStarted" | "ContainerDied" | "ContainerRemoved" | "ContainerChanged" | "SandboxChanged";
  container?: ContainerId;
}

/** The events between two observations of a pod. */
export function podEvents(
  uid: PodUid,
  before: ObservedPod | undefined,
  after: ObservedPod | undefined,
): PodEvent[] {
  const events: PodEvent[] = [];
  const previous = new Map(before?.containers.map((c) => [c.id, c]));
  for (const container of after?.containers ?? []) {
    const old = previous.get(container.id);
    previous.delete(container.id);
    if (old?.state !== container.state)
      events.push({ uid, kind: eventOf(container), container: container.id });
    else if (old.reason !== container.reason || !sameResources(old, container))
      events.push({ uid, kind: "ContainerChanged", container: container.id });
  }
  for (const removed of previous.values()) {
    if (removed.state !== "exited" && removed.state !== "created")
      events.push({ uid, kind: "ContainerDied", container: removed.id });
    events.push({ uid, kind: "ContainerRemoved", container: removed.id });
  }
  const sandboxes = (pod: ObservedPod | undefined) =>
    pod?.sandboxes.map((s) => `${s.id}:${s.state}`).join() ?? "";
  if (sandboxes(before) !== sandboxes(after)) events.push({ uid, kind: "SandboxChanged" });
  return events;
}

function sameResources({ resources: a }: ObservedContainer, { resources: b }: ObservedContainer): boolean {
  return (
    a?.milliCpuLimit === b?.milliCpuLimit &&
    a?.milliCpuRequest === b?.milliCpuRequest &&
    a?.memoryLimit === b?.memoryLimit
  );
}

function eventOf(container: ObservedContainer): PodEvent["kind"] {
  switch (container.state) {
    case "running":
      return "ContainerStarted";
    case "exited":
      return "ContainerDied";
    case "created":
    case "unknown":
      return "ContainerChanged";
    default:
      return container.state satisfies never;
  }
}
