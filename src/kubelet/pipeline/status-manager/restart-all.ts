import type { Container, Pod } from "../../../lib/model/pod.ts";
import { restartsAll } from "../../../lib/model/restart-policy.ts";
import { newestContainer, type ObservedPod } from "../../state/observed-pods.ts";
import type { ApiPodStatus } from "./api-types.ts";
import type { StatusGates } from "./status-input.ts";

export const conditionRestartingAll = "AllContainersRestarting";

function containersOf(pod: Pod): Container[] {
  return [...(pod.spec.initContainers ?? []), ...pod.spec.containers];
}

/** True if the exit of a container may restart all containers of the pod. */
export function couldRestartAll(pod: Pod, { restart }: StatusGates): boolean {
  if (!restart.containerRules || !restart.restartAll) return false;
  return containersOf(pod).some((c) =>
    c.restartPolicyRules?.some((r) => r.action === "RestartAllContainers"),
  );
}

/** True from the exit that triggers it until the containers are removed; once started, it no longer depends on the trigger. */
export function isRestartingAll(
  pod: Pod,
  observed: ObservedPod | undefined,
  previous: ApiPodStatus | undefined,
  gates: StatusGates,
): boolean {
  if (!couldRestartAll(pod, gates)) return false;
  if (previous?.conditions?.some((c) => c.type === conditionRestartingAll && c.status === "True"))
    return true;
  return restartsAll(pod, (name) => newestContainer(observed, name), gates.restart);
}

/** True if all old containers are removed. */
export function areContainersRemoved(pod: Pod, observed: ObservedPod | undefined): boolean {
  return containersOf(pod).every((c) => newestContainer(observed, c.name) === undefined);
}
