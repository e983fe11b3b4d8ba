import type { PodCondition } from "./pod.ts";

/** The pod has failed, regardless of what its containers did: rejected, evicted, deadline exceeded. */
export interface PodFailure {
  phase: "Failed";
  reason: string;
  message: string;
  /** The label, taint or port that decided. For explanations only: reason and message in the API equal the reference kubelet's. */
  detail?: string;
  /** Once the containers have ended, the phase is Succeeded if all of them have: then without reason and message. */
  untilEnded?: true;
  /** Conditions to set besides the usual ones, such as DisruptionTarget. */
  conditions?: Pick<PodCondition, "type" | "status" | "reason" | "message">[];
}
