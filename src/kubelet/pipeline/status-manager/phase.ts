import { type Container, isStatic, type Pod } from "../../../lib/model/pod.ts";
import {
  type ContainerRole,
  defaultRestartGates,
  isSidecar,
  type RestartGates,
  restartDecision,
} from "../../../lib/model/restart-policy.ts";
import type { ApiContainerStatus, Terminated } from "./api-types.ts";
import { reasonRestartingAll } from "./container-state.ts";

export type PodPhase = "Pending" | "Running" | "Succeeded" | "Failed";

export function isFinal(phase: string | undefined): phase is "Succeeded" | "Failed" {
  return phase === "Succeeded" || phase === "Failed";
}

export interface PhaseFacts {
  containers: readonly ApiContainerStatus[];
  inits: readonly ApiContainerStatus[];
  /** Nothing is started any more. */
  ending: boolean;
  /** A regular container was made in the present sandbox: its init containers are through, whatever became of them. */
  initialized: boolean;
  /** All containers are being restarted: how those of before ended is of no account, whoever ended them. */
  restartingAll?: boolean;
  /** True if this one was ended so that another takes its place. */
  replaced?: (container: string, containerID: string | undefined) => boolean;
  gates?: RestartGates;
}

/** The phase of a pod by the states of its containers. Ephemeral containers have no say. */
export function podPhase(pod: Pod, facts: PhaseFacts): PodPhase {
  const { initContainers = [], containers } = pod.spec;
  const inits = initContainers.filter((c) => !isSidecar(c)).map((c) => initStage(pod, c, facts));
  const sidecars = initContainers.filter(isSidecar).map((c) => sidecarStage(byName(facts.inits, c)));
  const regulars = containers.map((c) => regularStage(pod, c, facts));
  if (inits.includes("failed")) return "Failed";
  if (inits.includes("pending")) return "Pending";
  if (!facts.initialized && sidecars.some((s) => s === "starting" || s === "waiting")) return "Pending";
  const all = [...sidecars, ...regulars];
  if (all.includes("waiting")) return "Pending";
  if (all.includes("running") || all.includes("starting")) return "Running";
  const hasSucceeded = regulars.every((s) => s === "succeeded" || s === "succeeded-again");
  // For a static pod its source decides when it is over.
  if (facts.ending && !isStatic(pod)) return hasSucceeded ? "Succeeded" : "Failed";
  if (regulars.some((s) => s === "succeeded-again" || s === "failed-again")) return "Running";
  return hasSucceeded ? "Succeeded" : "Failed";
}

/** "-again": it ended, and is to be restarted. */
type RegularStage = "waiting" | "running" | "succeeded" | "succeeded-again" | "failed" | "failed-again";

function regularStage(pod: Pod, container: Container, facts: PhaseFacts): RegularStage {
  const status = byName(facts.containers, container);
  if (status?.state?.running) return "running";
  const end = status?.state?.terminated ?? status?.lastState?.terminated;
  if (!end) return "waiting";
  // One that waits for its next start counts as not succeeded, even if its last run did well.
  const isGood = end.exitCode === 0 && status?.state?.terminated !== undefined;
  if (restartable(pod, container, "regular", end, facts)) return isGood ? "succeeded-again" : "failed-again";
  return isGood ? "succeeded" : "failed";
}

function sidecarStage(status: ApiContainerStatus | undefined): "waiting" | "running" | "starting" | "ended" {
  if (status?.state?.running) return status.started ? "running" : "starting";
  // Its ends say nothing of the pod: it is restarted always.
  return status?.state?.terminated || status?.lastState?.terminated ? "ended" : "waiting";
}

/** "over": it ended, well, or badly and is to be tried again. */
function initStage(pod: Pod, container: Container, facts: PhaseFacts): "pending" | "over" | "failed" {
  const status = byName(facts.inits, container);
  const end = status?.state?.running
    ? undefined
    : (status?.state?.terminated ?? status?.lastState?.terminated);
  if (!end) return "pending";
  // One that had done its work and waits is to do it again, in a new sandbox.
  if (end.exitCode === 0) return status?.state?.waiting ? "pending" : "over";
  return restartable(pod, container, "init", end, facts) ? "over" : "failed";
}

function restartable(
  pod: Pod,
  container: Container,
  role: ContainerRole,
  end: Terminated,
  { gates = defaultRestartGates, replaced, restartingAll }: PhaseFacts,
): boolean {
  if (restartingAll) return true;
  if (replaced?.(container.name, end.containerID)) return true;
  if (gates.restartAll && end.reason === reasonRestartingAll) return true;
  return restartDecision(pod, container, role, end.exitCode, gates) !== "no";
}

function byName(
  statuses: readonly ApiContainerStatus[],
  { name }: Container,
): ApiContainerStatus | undefined {
  return statuses.find((s) => s.name === name);
}
