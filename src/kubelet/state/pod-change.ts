import type { Pod, PodSourceName } from "../../lib/model/pod.ts";

/** What became of pods of one source, in the order in which changes of one moment are reported. */
export const operations = ["REMOVE", "ADD", "UPDATE", "DELETE", "RECONCILE"] as const;

/**
 * - ADD, REMOVE: the pod is (no longer) wanted
 * - UPDATE: its spec, labels or annotations changed
 * - DELETE: it should end gracefully, and is still there
 * - RECONCILE: only its status in the API differs from what it was
 */
export type Operation = (typeof operations)[number];

export interface PodChange {
  op: Operation;
  source: PodSourceName;
  pods: readonly Pod[];
}
