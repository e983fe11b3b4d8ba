export { isSidecar } from "../../model/restart-policy.ts";
export { planPod } from "./plan/plan-pod.ts";
export {
  type Delay,
  isEmpty,
  type Kill,
  type KillCause,
  type PlanContext,
  type PodPlan,
  type Role,
  type StartAction,
} from "./plan/pod-plan.ts";
