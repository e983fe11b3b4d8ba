import { messageOf } from "../../../lib/base/errors.ts";
import type { Pod, PodUid } from "../../../lib/model/pod.ts";
import { isMirror } from "../../state/desired-pods.ts";
import type { PodChange } from "../../state/pod-change.ts";

export interface UpdatedWorkers {
  update(pod: Pod, changed: "spec" | "status"): void;
  terminate(uid: PodUid, options: { removed: boolean; graceSeconds?: number }): void;
}

/** Applies a change of the sources to the desired pods. Nothing else writes these. */
export function applyToDesired(
  { op, pods }: PodChange,
  desired: { set(pod: Pod): void; remove(uid: PodUid): void },
): void {
  forEachPod(pods, (pod) => {
    if (op === "REMOVE") desired.remove(pod.metadata.uid);
    else desired.set(pod);
  });
}

/** Applies a change of the sources to the workers. */
export function applyToWorkers({ op, pods }: PodChange, workers: UpdatedWorkers): void {
  forEachPod(pods, (pod) => {
    const { uid, deletionGracePeriodSeconds: graceSeconds } = pod.metadata;
    if (op === "REMOVE") workers.terminate(uid, { removed: true, graceSeconds });
    // A mirror pod has no worker. For a pod that is being deleted, the worker reads the metadata.
    else if (!isMirror(pod)) workers.update(pod, op === "RECONCILE" ? "status" : "spec");
  });
}

/** An error with one pod affects only that pod; it is thrown after the others were handled. */
export function forEachPod(pods: readonly Pod[], act: (pod: Pod) => void): void {
  const failures: unknown[] = [];
  for (const pod of pods) {
    try {
      act(pod);
    } catch (error) {
      failures.push(error);
    }
  }
  if (failures.length > 0) throw new AggregateError(failures, failures.map(messageOf).join("; "));
}
