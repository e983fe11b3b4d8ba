import type { WallTime } from "../../../lib/base/time.ts";
import type { Pod, PodStatus } from "../../../lib/model/pod.ts";
import { isTerminalPhase } from "../../../lib/model/pod-phase.ts";
import { isMirror } from "../../state/desired-pods.ts";
import { mergeStatus } from "./api-writer-merge.ts";
import { type StatusPatch, statusPatch } from "./api-writer-patch.ts";

export type WriteStep =
  | { kind: "get" }
  | { kind: "patch"; patch: StatusPatch }
  | { kind: "delete" }
  | { kind: "none" };

export interface WriteInfo {
  /** The pod as last received from the API, if known. */
  api: Pod | undefined;
  own: PodStatus;
  couldHaveRunningContainers: boolean;
  /** No container, volume or cgroup of the pod is left on the node. */
  resourcesReclaimed: boolean;
  now: WallTime;
  /** The part of the last patch that the API server accepted and ignored (an unknown field). */
  ignoredPatch: string | undefined;
}

/** The next step for a pod in the API. */
export function planWrite({
  api,
  own,
  couldHaveRunningContainers,
  resourcesReclaimed,
  now,
  ignoredPatch,
}: WriteInfo): WriteStep {
  if (!api) return { kind: "get" };
  const merge = { couldHaveRunningContainers, isMirror: isMirror(api), now };
  const patch = statusPatch(api, mergeStatus(api.status ?? {}, own, merge));
  if (patch && JSON.stringify(patch.status) !== ignoredPatch) return { kind: "patch", patch };
  // Watchers see the final status before the pod is gone. Mirror pods are not deleted when their containers have terminated.
  const toDelete = api.metadata.deletionTimestamp !== undefined && !isMirror(api);
  return toDelete && isTerminalPhase(api.status?.phase) && resourcesReclaimed
    ? { kind: "delete" }
    : { kind: "none" };
}

/** The newer of two versions of the same pod; the first if they cannot be compared. */
export function newerOf(received: Pod | undefined, watched: Pod | undefined): Pod | undefined {
  if (!received || !watched || received.metadata.uid !== watched.metadata.uid) return received ?? watched;
  const [a, b] = [received, watched].map((pod) => pod.metadata.resourceVersion ?? "");
  const comparable = /^\d+$/.test(a ?? "") && /^\d+$/.test(b ?? "");
  return comparable && BigInt(b ?? 0) > BigInt(a ?? 0) ? watched : received;
}
