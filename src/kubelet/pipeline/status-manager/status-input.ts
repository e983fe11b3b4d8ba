import type { WallTime } from "../../../lib/base/time.ts";
import type { ContainerId } from "../../../lib/clients/cri/cri.ts";
import type { CgroupLimits } from "../../../lib/host/cgroups/limits-reader.ts";
import type { Pod, ResourceRequirements } from "../../../lib/model/pod.ts";
import type { PodVerdict } from "../../../lib/model/pod-verdict.ts";
import { defaultRestartGates, type RestartGates } from "../../../lib/model/restart-policy.ts";
import type { ObservedContainer, ObservedPod } from "../../state/observed-pods.ts";
import type { ProbeKind, ProbeOutcome } from "../../state/probe-results.ts";
import type { ApiPodStatus } from "./api-types.ts";

export interface PendingResize {
  reason: string;
  message: string;
  generation: number;
  at: WallTime;
}

export interface StatusGates {
  restart: RestartGates;
  /** ContainerStopSignals. */
  stopSignals: boolean;
  /** InPlacePodLevelResourcesVerticalScaling: the status tells the resources of the pod as a whole. */
  podLevelStatus: boolean;
  /** PodLevelResources. */
  podLevelResources: boolean;
}

export const defaultStatusGates: StatusGates = {
  restart: defaultRestartGates,
  stopSignals: false,
  podLevelStatus: true,
  podLevelResources: true,
};

export interface StatusInput {
  pod: Pod;
  seen: ObservedPod | undefined;
  /** Why containers do not run, as the worker found out. */
  waiting: ReadonlyMap<string, { reason: string; message: string }>;
  /** Where the pod is in its life: from "terminating" on, nothing is started any more. */
  workerPhase: "syncing" | "terminating" | "terminated";
  verdict?: PodVerdict;
  /** The verdict came before any work for the pod: there is nothing to say but the verdict. */
  refused?: boolean;
  probe(kind: ProbeKind, id: ContainerId): ProbeOutcome | undefined;
  /** True if we ended it so that another takes its place. */
  replaced?(container: ObservedContainer): boolean;
  hostIPs: readonly string[];
  runtimeName: string;
  startTime: WallTime;
  now: WallTime;
  /** The status so far: ours, or after a restart of the agent the one that the API has. */
  before: ApiPodStatus | undefined;
  /** True if the runtime can make mounts below a read-only mount read-only too. */
  recursiveReadOnly: boolean;
  podCgroup?: CgroupLimits;
  /** The spec asks for other resources than the pod was given, and does not get them. The pod has those that it was given. */
  resize?: PendingResize;
  /** What a container was started with. */
  actuated?(container: string): ResourceRequirements | undefined;
  gates: StatusGates;
}
