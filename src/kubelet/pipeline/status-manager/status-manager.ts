import type { Clock } from "../../../lib/base/clock.ts";
import { sameJson } from "../../../lib/base/json-value.ts";
import type { Logger } from "../../../lib/base/logger.ts";
import { type WallTime, wallTime } from "../../../lib/base/time.ts";
import type { ContainerId } from "../../../lib/clients/cri/cri.ts";
import type { CgroupLimits } from "../../../lib/host/cgroups/limits-reader.ts";
import { isStatic, type Pod, type PodStatus, type PodUid } from "../../../lib/model/pod.ts";
import { isTerminalPhase } from "../../../lib/model/pod-phase.ts";
import type { Allocation } from "../../resources/allocation/allocation.ts";
import type { ResizeConditions } from "../../resources/allocation/resize-conditions.ts";
import type { ObservedPod } from "../../state/observed-pods.ts";
import type { PodStatuses, StatusEntry } from "../../state/pod-statuses.ts";
import type { ProbeKind, ProbeOutcome } from "../../state/probe-results.ts";
import type { ReplacedContainers } from "../../state/replaced-containers.ts";
import type { ApiContainerStatus } from "./api-types.ts";
import { podStatus } from "./status.ts";
import { defaultStatusGates, type StatusGates, type StatusInput } from "./status-input.ts";
import type { StatusMetrics } from "./status-metrics.ts";
import { invalidTransition } from "./transitions.ts";

export interface StatusManagerOptions {
  statuses: PodStatuses;
  clock: Clock;
  /** `knows` is false while an absent pod means nothing: until then a status is not changed. */
  observed: { get(uid: PodUid): ObservedPod | undefined; knows?(uid: PodUid): boolean };
  probes: { get(kind: ProbeKind, id: ContainerId, pod: Pod): ProbeOutcome | undefined };
  replaced?: Pick<ReplacedContainers, "has">;
  hostIPs: () => readonly string[];
  runtimeName: () => string;
  onChange: (uid: PodUid) => void;
  logger?: Logger;
  /** Whether the runtime supports recursive read-only mounts for this pod. */
  recursiveReadOnly?: (pod: Pod) => boolean;
  podCgroup?: ((pod: Pod) => CgroupLimits | undefined) | undefined;
  /** The resources that containers were last given. */
  allocation?: Pick<Allocation, "actuated">;
  resizeConditions?: Pick<ResizeConditions, "of">;
  /** The health of the devices that a container has. */
  resourceHealth?: (
    uid: PodUid,
    container: string,
  ) => NonNullable<ApiContainerStatus["allocatedResourcesStatus"]>;
  gates?: StatusGates;
  metrics?: StatusMetrics;
}

/** The report of the pod worker. */
export interface StatusDetails extends Pick<StatusInput, "waiting" | "workerPhase" | "failure" | "rejected"> {
  /** A status from before this agent started, of the pod or its mirror in the API. */
  previous?: PodStatus;
  /**
   * The status of a static pod's mirror, as soon as there is one. Its times are used for conditions that have not changed, nothing else.
   * Used once: later it has what this agent wrote.
   */
  mirror?: PodStatus;
}

/** Keeps the status of each pod. Nothing else computes or changes one. */
export class StatusManager {
  readonly #o: StatusManagerOptions;
  /** The transition of each pod that was last rejected: it is logged once, not with each refresh. */
  readonly #rejected = new Map<PodUid, string>();

  constructor(options: StatusManagerOptions) {
    this.#o = options;
  }

  /** Computes the status again. */
  refresh(pod: Pod, details: StatusDetails): void {
    const { clock, statuses, probes, hostIPs, runtimeName, gates = defaultStatusGates } = this.#o;
    const { uid } = pod.metadata;
    const now = clock.wall();
    const entry = statuses.entry(uid);
    const observed = this.#o.observed.get(uid);
    const before = details.previous ?? (isStatic(pod) ? undefined : pod.status);
    const previous = entry?.status ?? before;
    if (this.#o.observed.knows?.(uid) === false) {
      if (!entry && previous?.phase)
        statuses.set(uid, {
          ...startsOf(pod, previous, observed, now),
          hasMirrorTimes: false,
          status: previous,
        });
      return;
    }
    const mirror = entry?.hasMirrorTimes ? undefined : details.mirror;
    const starts = entry && !mirror?.startTime ? entry : startsOf(pod, mirror ?? previous, observed, now);
    const computed = podStatus({
      pod,
      observed,
      waiting: details.waiting,
      workerPhase: details.workerPhase,
      ...(details.failure ? { failure: details.failure } : {}),
      ...(details.rejected ? { rejected: true } : {}),
      probe: (kind, id) => probes.get(kind, id, pod),
      replaced: (container) => this.#o.replaced?.has(uid, container) ?? false,
      hostIPs: hostIPs(),
      runtimeName: runtimeName(),
      startTime: starts.startTime,
      now,
      previous,
      endedBefore: previous === before && isTerminalPhase(before?.phase),
      recursiveReadOnly: this.#o.recursiveReadOnly?.(pod) ?? false,
      podCgroup: () => this.#o.podCgroup?.(pod),
      resizes: this.#o.resizeConditions?.of(uid),
      actuated: (container) => this.#o.allocation?.actuated(uid, container),
      resourceHealth: (container) => this.#o.resourceHealth?.(uid, container) ?? [],
      gates,
    });
    const next = withMirrorTimes(mirror, computed);
    // The same object while nothing has changed, for callers that compare it.
    const changed = !entry || !sameJson(entry.status, next);
    const status = changed ? next : entry.status;
    const problem = invalidTransition(pod, previous, status, gates);
    if (problem && entry) {
      if (this.#rejected.get(uid) !== problem)
        this.#o.logger?.error("Rejected invalid pod status transition", { podUID: uid, err: problem });
      this.#rejected.set(uid, problem);
      return;
    }
    this.#o.metrics?.containersChanged(previous, status);
    if (entry?.status.phase === "Pending" && status.phase === "Running")
      this.#o.metrics?.podRunning(pod, now);
    this.#rejected.delete(uid);
    const { startTime, activeSince } = starts;
    const hasMirrorTimes = entry?.hasMirrorTimes || mirror !== undefined;
    statuses.set(uid, { startTime, activeSince, hasMirrorTimes, status });
    if (changed) this.#o.onChange(uid);
  }

  forget(uid: PodUid): void {
    this.#rejected.delete(uid);
    if (this.#o.statuses.delete(uid)) this.#o.onChange(uid);
  }
}

/**
 * After a restart of the agent a pod has the start time of its status. A static pod without one starts with the agent; it is
 * active since its oldest sandbox was created.
 */
function startsOf(
  pod: Pod,
  previous: PodStatus | undefined,
  observed: ObservedPod | undefined,
  now: WallTime,
): Pick<StatusEntry, "startTime" | "activeSince"> {
  const activeSince = startOf(previous) ?? observed?.sandboxes.at(-1)?.createdAt ?? now;
  return { activeSince, startTime: startOf(previous) ?? (isStatic(pod) ? now : activeSince) };
}

function startOf(status: PodStatus | undefined): WallTime | undefined {
  return status?.startTime ? wallTime(status.startTime) : undefined;
}

/**
 * A static pod is known before its mirror, so a restarted agent does not have the transition times. Conditions that have the same status
 * in the mirror get its times.
 */
export function withMirrorTimes(previous: PodStatus | undefined, own: PodStatus): PodStatus {
  if (!previous) return own;
  const conditions = own.conditions?.map((condition) => {
    const old = previous.conditions?.find((c) => c.type === condition.type);
    const since = old?.status === condition.status ? old.lastTransitionTime : undefined;
    return since ? { ...condition, lastTransitionTime: since } : condition;
  });
  return {
    ...own,
    ...(previous.startTime && { startTime: previous.startTime }),
    ...(conditions && { conditions }),
  };
}
