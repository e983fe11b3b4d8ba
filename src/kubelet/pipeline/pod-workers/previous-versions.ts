import {
  annotationSource,
  fullNameOf,
  isStatic,
  type Pod,
  type PodUid,
  sourceOf,
} from "../../../lib/model/pod.ts";
import type { ObservedPods, UninspectedPod } from "../../state/observed-pods.ts";

/** Pods in the runtime that are earlier versions of a static pod, edited while no agent was running. */
export function previousVersions(
  pod: Pod,
  observed: ObservedPods,
  desired: { get(uid: PodUid): Pod | undefined },
): UninspectedPod[] {
  const source = sourceOf(pod);
  // A pod that could not be inspected still exists.
  return [...observed.all(), ...observed.uninspected()].filter(
    (other) =>
      other.uid !== pod.metadata.uid &&
      isStatic(pod) &&
      fullNameOf({ metadata: other }) === fullNameOf(pod) &&
      other.sandboxes.some((s) => s.annotations[annotationSource] === source) &&
      desired.get(other.uid) === undefined,
  );
}
