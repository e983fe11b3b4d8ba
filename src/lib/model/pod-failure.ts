import type { PodCondition } from "./pod.ts";

/** The pod has failed, regardless of what its containers did: rejected, evicted, deadline exceeded. */
export interface PodFailure {
  phase: "Failed";
  reason: string;
  message: string;
  /** The label, taint or port that decided. For explanations only: reason and message in the API are those of the reference kubelet. */
  detail?: string;
  /** Conditions to set besides the usual ones, such as DisruptionTarget. */
  conditions?: Pick<PodCondition, "type" | "status" | "reason" | "message">[];
}
