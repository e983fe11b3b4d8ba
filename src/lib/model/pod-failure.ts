import type { PodCondition } from "./pod.ts";

/** The pod has failed, regardless of what its containers did: rejected, evicted, deadline exceeded. */
export interface PodFailure {
  phase: "Failed";
  reason: string;
  message: string;
  /** The label, taint or port that decided. For explanations only: reason and message in the API equal the reference kubelet's. */
  detail?: string;
  /** True if the failure ends when all containers have exited. If all of them have succeeded, the phase is then Succeeded, without reason and message. */
  untilEnded?: true;
  /** Conditions to set besides the usual ones, such as DisruptionTarget. */
  conditions?: Pick<PodCondition, "type" | "status" | "reason" | "message">[];
}
