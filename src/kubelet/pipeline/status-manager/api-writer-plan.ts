import type { WallTime } from "../../../lib/base/time.ts";
import type { Pod, PodStatus } from "../../../lib/model/pod.ts";
import { isMirror } from "../../state/desired-pods.ts";
import { mergeStatus } from "./api-writer-merge.ts";
import { type StatusPatch, statusPatch } from "./api-writer-patch.ts";
import { isFinal } from "./phase.ts";

export type WriteStep =
  | { kind: "look" }
  | { kind: "patch"; patch: StatusPatch }
  | { kind: "delete" }
  | { kind: "rest" };

export interface WriteFacts {
  /** The pod as the API had it last, if that is known. */
  api: Pod | undefined;
  own: PodStatus;
  couldHaveRunningContainers: boolean;
  /** Nothing of the pod is left on the node: no container, no volume, no cgroup. */
  isCleared: boolean;
  now: WallTime;
  /** What the API did not take from us the last time, though it said yes (a field that it does not know). */
  notTaken: string | undefined;
}

/** What to do next in the API for a pod. */
export function planWrite({
  api,
  own,
  couldHaveRunningContainers,
  isCleared,
  now,
  notTaken,
}: WriteFacts): WriteStep {
  if (!api) return { kind: "look" };
  const patch = statusPatch(api, mergeStatus(api.status ?? {}, own, { couldHaveRunningContainers, now }));
  if (patch && JSON.stringify(patch.status) !== notTaken) return { kind: "patch", patch };
  // Whoever watches the pod sees how it ended before it is gone. Mirrors are not ended by their containers.
  const toDelete = api.metadata.deletionTimestamp !== undefined && !isMirror(api);
  return toDelete && isFinal(api.status?.phase) && isCleared ? { kind: "delete" } : { kind: "rest" };
}

/** Which of two versions of the same pod to go by. Those that cannot be compared: the first. */
export function newerOf(answered: Pod | undefined, watched: Pod | undefined): Pod | undefined {
  if (!answered || !watched || answered.metadata.uid !== watched.metadata.uid) return answered ?? watched;
  const [a, b] = [answered, watched].map((pod) => pod.metadata.resourceVersion ?? "");
  const comparable = /^\d+$/.test(a ?? "") && /^\d+$/.test(b ?? "");
  return comparable && BigInt(b ?? 0) > BigInt(a ?? 0) ? watched : answered;
}
