import { dateOf, epochMs, type WallTime } from "../../../lib/base/time.ts";
import type { ContainerState } from "../../../lib/model/pod.ts";

export type {
  ContainerStatus as ApiContainerStatus,
  PodStatus as ApiPodStatus,
} from "../../../lib/model/pod.ts";

export type Terminated = NonNullable<ContainerState["terminated"]>;

/** Times in the API have whole seconds. */
export function isoSeconds(time: WallTime): string {
  return dateOf(time)
    .toISOString()
    .replace(/\.\d+Z$/, "Z");
}

/** An unknown time is null in the API, though its types do not allow it. */
export function timeOrNull(time: WallTime): string {
  return epochMs(time) > 0 ? isoSeconds(time) : noTime;
}

export const noTime = null as unknown as string;
