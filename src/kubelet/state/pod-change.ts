import type { Pod, PodSourceName } from "../../lib/model/pod.ts";

/** Changes of the pods of one source, in the order in which they are reported. */
export const operations = ["REMOVE", "ADD", "UPDATE", "DELETE", "RECONCILE"] as const;

/**
 * - ADD, REMOVE: the pod is (no longer) desired
 * - UPDATE: its spec, labels or annotations changed
 * - DELETE: it is to be terminated gracefully, and still exists
 * - RECONCILE: only its status in the API has changed
 */
export type Operation = (typeof operations)[number];

export interface PodChange {
  op: Operation;
  source: PodSourceName;
  pods: readonly Pod[];
}
