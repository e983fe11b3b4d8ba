import { type Container, isStatic, type Pod } from "../../../lib/model/pod.ts";
import type { PodPhase } from "../../../lib/model/pod-phase.ts";
import {
  type ContainerType,
  defaultRestartGates,
  isSidecar,
  type RestartGates,
  restartDecision,
} from "../../../lib/model/restart-policy.ts";
import type { ApiContainerStatus, Terminated } from "./api-types.ts";
import { reasonRestartingAll } from "./container-state.ts";

export interface PhaseInfo {
  containers: readonly ApiContainerStatus[];
  inits: readonly ApiContainerStatus[];
  /** The pod terminates: nothing more is started. */
  terminating: boolean;
  /** A regular container was created in the current sandbox: its init containers are complete. */
  initialized: boolean;
  /** All containers are being restarted: how the old ones terminated is ignored. */
  restartingAll?: boolean;
  /** True if this one was stopped to be replaced. */
  replaced?: (container: string, containerID: string | undefined) => boolean;
  gates?: RestartGates;
}

/** The phase of a pod by the states of its containers, as upstream's getPhase. Ephemeral containers are ignored. */
export function podPhase(pod: Pod, info: PhaseInfo): PodPhase {
  const { initContainers = [], containers } = pod.spec;
  const inits = initContainers.filter((c) => !isSidecar(c)).map((c) => initStage(pod, c, info));
  const sidecars = initContainers.filter(isSidecar).map((c) => sidecarStage(byName(info.inits, c)));
  const regulars = containers.map((c) => regularStage(pod, c, info));
  if (inits.includes("failed")) return "Failed";
  if (inits.includes("pending")) return "Pending";
  if (!info.initialized && sidecars.some((s) => s === "starting" || s === "waiting")) return "Pending";
  const all = [...sidecars, ...regulars];
  if (all.includes("waiting")) return "Pending";
  if (all.includes("running") || all.includes("starting")) return "Running";
  const allSucceeded = regulars.every((s) => s === "succeeded" || s === "succeeded-again");
  // A static pod terminates only when its source removes it.
  if (info.terminating && !isStatic(pod)) return allSucceeded ? "Succeeded" : "Failed";
  if (regulars.some((s) => s === "succeeded-again" || s === "failed-again")) return "Running";
  return allSucceeded ? "Succeeded" : "Failed";
}

/** "-again": it terminated, and is to be restarted. */
type RegularStage = "waiting" | "running" | "succeeded" | "succeeded-again" | "failed" | "failed-again";

function regularStage(pod: Pod, container: Container, info: PhaseInfo): RegularStage {
  const status = byName(info.containers, container);
  if (status?.state?.running) return "running";
  const end = status?.state?.terminated ?? status?.lastState?.terminated;
  if (!end) return "waiting";
  // A container that waits for its restart does not count as succeeded, even if its last run did.
  const hasSucceeded = end.exitCode === 0 && status?.state?.terminated !== undefined;
  if (restartable(pod, container, "regular", end, info))
    return hasSucceeded ? "succeeded-again" : "failed-again";
  return hasSucceeded ? "succeeded" : "failed";
}

function sidecarStage(status: ApiContainerStatus | undefined): "waiting" | "running" | "starting" | "exited" {
  if (status?.state?.running) return status.started ? "running" : "starting";
  // Its terminations do not affect the phase: it is always restarted.
  return status?.state?.terminated || status?.lastState?.terminated ? "exited" : "waiting";
}

/** "done": it succeeded, or failed and is to be restarted. */
function initStage(pod: Pod, container: Container, info: PhaseInfo): "pending" | "done" | "failed" {
  const status = byName(info.inits, container);
  const end = status?.state?.running
    ? undefined
    : (status?.state?.terminated ?? status?.lastState?.terminated);
  if (!end) return "pending";
  // A container that succeeded and waits will run again, in a new sandbox.
  if (end.exitCode === 0) return status?.state?.waiting ? "pending" : "done";
  return restartable(pod, container, "init", end, info) ? "done" : "failed";
}

function restartable(
  pod: Pod,
  container: Container,
  containerType: ContainerType,
  end: Terminated,
  { gates = defaultRestartGates, replaced, restartingAll }: PhaseInfo,
): boolean {
  if (restartingAll) return true;
  if (replaced?.(container.name, end.containerID)) return true;
  if (gates.restartAll && end.reason === reasonRestartingAll) return true;
  return restartDecision(pod, container, containerType, end.exitCode, gates) !== "no";
}

function byName(
  statuses: readonly ApiContainerStatus[],
  { name }: Container,
): ApiContainerStatus | undefined {
  return statuses.find((s) => s.name === name);
}
