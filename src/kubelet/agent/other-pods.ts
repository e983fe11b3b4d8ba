import {
  annotationSource,
  fullNameOf,
  isStatic,
  type Pod,
  type PodUid,
  sourceOf,
} from "../../lib/model/pod.ts";
import type { ObservedPod, ObservedPods, UninspectedPod } from "../state/observed-pods.ts";

/** What the runtime still has of a static pod as it was before an edit that this agent did not see. */
export function formerVersions(
  pod: Pod,
  observed: ObservedPods,
  desired: { get(uid: PodUid): Pod | undefined },
): UninspectedPod[] {
  const source = sourceOf(pod);
  // One that the runtime would not show is there all the same.
  return [...observed.all(), ...observed.uninspected()].filter(
    (other) =>
      other.uid !== pod.metadata.uid &&
      isStatic(pod) &&
      fullNameOf({ metadata: other }) === fullNameOf(pod) &&
      other.sandboxes.some((s) => s.annotations[annotationSource] === source) &&
      desired.get(other.uid) === undefined,
  );
}

/** True if an API server asked for this pod. */
export function isFromApi(pod: ObservedPod | undefined): boolean {
  return pod?.sandboxes.some((sandbox) => sandbox.annotations[annotationSource] === "api") ?? false;
}
