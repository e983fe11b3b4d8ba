import type { Clock } from "../../base/clock.ts";
import type { Logger } from "../../base/logger.ts";
import {
  isStatic,
  type Pod,
  type PodStatus,
  type PodUid,
  type ResourceRequirements,
} from "../../model/pod.ts";
import type { ObservedPod } from "../../state/observed-pods.ts";
import type { ProbeResults } from "../../state/probe-results.ts";
import type { ReplacedContainers } from "../../state/replaced-containers.ts";
import { podStatus } from "./status.ts";
import {
  defaultStatusGates,
  type PendingResize,
  type PodCgroupValues,
  type StatusGates,
  type StatusInput,
} from "./status-input.ts";
import type { StatusMetrics } from "./status-metrics.ts";
import { illegalChange } from "./transitions.ts";

export interface StatusManagerOptions {
  clock: Clock;
  /** `knows` is false while "nothing observed" means nothing: until then a status stays what it was. */
  observed: { get(uid: PodUid): ObservedPod | undefined; knows?(uid: PodUid): boolean };
  probes: Pick<ProbeResults, "get">;
  replaced?: Pick<ReplacedContainers, "has">;
  hostIPs: () => readonly string[];
  runtimeName: () => string;
  onChange: (uid: PodUid) => void;
  logger?: Logger;
  /** Whether the runtime can make mounts below a read-only mount read-only too, for this pod. */
  recursiveReadOnly?: (pod: Pod) => boolean;
  podCgroup?: (pod: Pod) => PodCgroupValues | undefined;
  /** What pods were given, and what they asked for since. */
  allocation?: {
    pending(uid: PodUid): PendingResize | undefined;
    actuated(uid: PodUid, container: string): ResourceRequirements | undefined;
  };
  gates?: StatusGates;
  metrics?: StatusMetrics;
}

/** What the pod's worker knows. */
export interface StatusDetails extends Pick<StatusInput, "waiting" | "workerPhase" | "verdict" | "refused"> {
  /** A status from before this agent started, as an API has it for the pod or its mirror. */
  before?: PodStatus;
}

interface Entry {
  startTime: number;
  status: PodStatus;
}

/** Keeps the status of each pod. Nobody else makes or changes one. */
export class StatusManager {
  readonly #o: StatusManagerOptions;
  #entries = new Map<PodUid, Entry>();

  constructor(options: StatusManagerOptions) {
    this.#o = options;
  }

  get(uid: PodUid): PodStatus | undefined {
    return this.#entries.get(uid)?.status;
  }

  /** When the pod was first seen here, in milliseconds: its deadline counts from then. */
  startTime(uid: PodUid): number | undefined {
    return this.#entries.get(uid)?.startTime;
  }

  /** Makes the status anew from what is known now. */
  refresh(pod: Pod, details: StatusDetails): void {
    const { clock, observed, probes, hostIPs, runtimeName, gates = defaultStatusGates } = this.#o;
    const { uid } = pod.metadata;
    const now = clock.now();
    const entry = this.#entries.get(uid);
    const seen = observed.get(uid);
    const before = entry?.status ?? details.before ?? (isStatic(pod) ? undefined : pod.status);
    if (observed.knows?.(uid) === false) {
      if (!entry && before?.phase)
        this.#entries.set(uid, { startTime: firstSeen(before, seen) ?? now, status: before });
      return;
    }
    const startTime = entry?.startTime ?? firstSeen(before, seen) ?? now;
    const podCgroup = this.#o.podCgroup?.(pod);
    const resize = this.#o.allocation?.pending(uid);
    const status = podStatus({
      pod,
      seen,
      waiting: details.waiting,
      workerPhase: details.workerPhase,
      ...(details.verdict ? { verdict: details.verdict } : {}),
      ...(details.refused ? { refused: true } : {}),
      probe: (kind, id) => probes.get(kind, id),
      replaced: (container) => this.#o.replaced?.has(uid, container) ?? false,
      hostIPs: hostIPs(),
      runtimeName: runtimeName(),
      startTime,
      now,
      before,
      recursiveReadOnly: this.#o.recursiveReadOnly?.(pod) ?? false,
      ...(podCgroup ? { podCgroup } : {}),
      ...(resize ? { resize } : {}),
      actuated: (container) => this.#o.allocation?.actuated(uid, container),
      gates,
    });
    const problem = illegalChange(pod, before, status, gates);
    if (problem && entry) {
      this.#o.logger?.error("The new status of a pod is not possible: the old one stays", {
        podUID: uid,
        err: problem,
      });
      return;
    }
    this.#o.metrics?.containersChanged(before, status);
    if (entry?.status.phase === "Pending" && status.phase === "Running") this.#o.metrics?.podRuns(pod, now);
    this.#entries.set(uid, { startTime, status });
    if (JSON.stringify(entry?.status) !== JSON.stringify(status)) this.#o.onChange(uid);
  }

  forget(uid: PodUid): void {
    if (this.#entries.delete(uid)) this.#o.onChange(uid);
  }
}

/** After a restart of the agent: as the status says, else the pod is as old as its oldest sandbox. */
function firstSeen(before: PodStatus | undefined, seen: ObservedPod | undefined): number | undefined {
  return before?.startTime ? Date.parse(before.startTime) : seen?.sandboxes.at(-1)?.createdAt;
}
