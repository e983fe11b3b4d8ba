import {
  annotationSource,
  fullNameOf,
  isStatic,
  type Pod,
  type PodStatus,
  type PodUid,
  sourceOf,
} from "../../lib/model/pod.ts";
import { isTerminalPhase } from "../pipeline/status-manager/phase.ts";
import type { ObservedPod, ObservedPods, UninspectedPod } from "../state/observed-pods.ts";
import type { WorkerPhase } from "../state/pod-sync-status.ts";

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

/**
 * True if the pod will release its resources: no source has it, its phase is terminal, or its containers are being stopped or have
 * terminated. A final status is known before the worker acts on it, and the end of the worker before what it causes.
 */
export function willReleaseResources(pod: {
  readonly desired: Pod | undefined;
  readonly phase: WorkerPhase | undefined;
  readonly status: PodStatus | undefined;
}): boolean {
  const isEnding = pod.phase !== undefined && pod.phase !== "syncing";
  return pod.desired === undefined || isEnding || isTerminalPhase(pod.status?.phase);
}

/** True if the pod came from an API server. */
export function isFromApi(pod: ObservedPod | undefined): boolean {
  return pod?.sandboxes.some((sandbox) => sandbox.annotations[annotationSource] === "api") ?? false;
}
