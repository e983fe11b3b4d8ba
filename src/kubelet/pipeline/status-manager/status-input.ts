import type { WallTime } from "../../../lib/base/time.ts";
import type { ContainerId } from "../../../lib/clients/cri/cri.ts";
import type { CgroupLimits } from "../../../lib/host/cgroups/limits-reader.ts";
import type { Pod, ResourceRequirements } from "../../../lib/model/pod.ts";
import type { PodFailure } from "../../../lib/model/pod-failure.ts";
import { defaultRestartGates, type RestartGates } from "../../../lib/model/restart-policy.ts";
import type { ResizeCondition } from "../../resources/allocation/resize-conditions.ts";
import type { ObservedContainer, ObservedPod } from "../../state/observed-pods.ts";
import type { ProbeKind, ProbeOutcome } from "../../state/probe-results.ts";
import type { ApiContainerStatus, ApiPodStatus } from "./api-types.ts";

export interface StatusGates {
  restart: RestartGates;
  /** ContainerStopSignals. */
  stopSignals: boolean;
  /** InPlacePodLevelResourcesVerticalScaling: the status has pod-level resources. */
  podLevelStatus: boolean;
  /** PodLevelResources. */
  podLevelResources: boolean;
  /** PodReadyToStartContainersCondition. */
  readyToStart: boolean;
  /** ImageVolumeWithDigest: the status of a mount names the image that is mounted. */
  imageVolumeDigests: boolean;
}

export const defaultStatusGates: StatusGates = {
  restart: defaultRestartGates,
  stopSignals: false,
  podLevelStatus: true,
  podLevelResources: true,
  readyToStart: true,
  imageVolumeDigests: false,
};

export interface StatusInput {
  pod: Pod;
  observed: ObservedPod | undefined;
  /** By container, the waiting reason of the worker. */
  waiting: ReadonlyMap<string, { reason: string; message: string }>;
  /** In "terminating" and "terminated" no container is started. */
  workerPhase: "syncing" | "terminating" | "terminated";
  failure?: PodFailure;
  /** The pod was not admitted: the status has nothing but the failure. */
  rejected?: boolean;
  probe(kind: ProbeKind, id: ContainerId): ProbeOutcome | undefined;
  /** True if it was stopped to be replaced. */
  replaced?(container: ObservedContainer): boolean;
  hostIPs: readonly string[];
  runtimeName: string;
  startTime: WallTime;
  now: WallTime;
  /** The previous status: from this agent or, after a restart, from the API. */
  previous: ApiPodStatus | undefined;
  /** The pod had ended, according to the API, before this agent computed its first status. */
  endedBefore?: boolean;
  /** True if the runtime supports recursive read-only mounts. */
  recursiveReadOnly: boolean;
  /** The limits of the pod's cgroup. */
  podCgroup?(): CgroupLimits | undefined;
  resizes?: readonly ResizeCondition[];
  /** The resources that a container was last given. */
  actuated?(container: string): ResourceRequirements | undefined;
  /** The health of the devices that a container has. */
  resourceHealth?(container: string): NonNullable<ApiContainerStatus["allocatedResourcesStatus"]>;
  gates: StatusGates;
}
