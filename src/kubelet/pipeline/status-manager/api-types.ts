import { dateOf, epochMs, type WallTime } from "../../../lib/base/time.ts";
import type {
  ContainerState,
  ContainerStatus,
  PodStatus,
  ResourceRequirements,
} from "../../../lib/model/pod.ts";

/** With the fields that are newer than the published types. */
export type ApiContainerStatus = ContainerStatus & {
  user?: { linux: { uid: number; gid: number; supplementalGroups?: number[] } };
  stopSignal?: string;
};

export type ApiPodStatus = Omit<
  PodStatus,
  "containerStatuses" | "initContainerStatuses" | "ephemeralContainerStatuses"
> & {
  containerStatuses?: ApiContainerStatus[];
  initContainerStatuses?: ApiContainerStatus[];
  ephemeralContainerStatuses?: ApiContainerStatus[];
  allocatedResources?: Record<string, string>;
  resources?: ResourceRequirements;
};

export type Terminated = NonNullable<ContainerState["terminated"]>;

/** Times in the API have whole seconds. */
export function isoSeconds(time: WallTime): string {
  return dateOf(time)
    .toISOString()
    .replace(/\.\d+Z$/, "Z");
}

/** A time that is not known: the API has null for it, though its types do not say so. */
export function timeOrNull(time: WallTime): string {
  return epochMs(time) > 0 ? isoSeconds(time) : noTime;
}

export const noTime = null as unknown as string;
