import type { MonotonicTime, WallTime } from "../../../../lib/base/time.ts";
import type { ContainerId } from "../../../../lib/clients/cri/cri.ts";
import type { Container } from "../../../../lib/model/pod.ts";
import type { StepDetails } from "../../../../lib/model/pod-step.ts";
import type { ContainerRole, RestartGates } from "../../../../lib/model/restart-policy.ts";
import type { ObservedContainer, ObservedSandbox } from "../../../state/observed-pods.ts";
import type { ProbeKind, ProbeOutcome } from "../../../state/probe-results.ts";

export type Role = ContainerRole;

export interface StartAction {
  container: Container;
  role: Role;
  /** One more than that of the last container of the name; 0 if the runtime knows of none. */
  attempt: number;
}

/** A container that would start now but has to wait, because its last ones ended too soon. */
export interface Delay {
  container: string;
  until: MonotonicTime;
}

/** Why a running container is ended. */
export type KillCause =
  | "startup-probe"
  | "liveness-probe"
  | "changed"
  | "unknown"
  | "duplicate"
  | "former-sandbox"
  | "restart-all";

export interface Kill {
  container: ObservedContainer;
  /** For users. */
  message: string;
  cause: KillCause;
}

/** One stage of work on a pod. When it is done, the pod is looked at and planned again. */
export interface PodPlan {
  /** Why everything of the pod in the runtime must be ended before anything else. */
  killAll?: string;
  createSandbox?: { attempt: number };
  /** The sandbox that the containers run in. */
  sandbox?: ObservedSandbox;
  kill: Kill[];
  /** Those that this plan ends so that others take their place, whatever their exit code will be. */
  replaces: ObservedContainer[];
  removeContainers: ObservedContainer[];
  /** The containers are removed and their logs stay: all containers of the pod are being restarted. */
  restartsAll?: true;
  removeSandboxes: ObservedSandbox[];
  start: StartAction[];
  delays: Delay[];
  /** What the pod waits for that no action of ours brings about. */
  waitingFor?: string;
  waitsOn?: StepDetails;
  /** Why nothing of this pod will run again. What still runs, as sidecars do, is to be ended. */
  finished?: string;
}

export interface PlanContext {
  wall: WallTime;
  hashOf(container: Container): string;
  /** When a container that ended may be started again; undefined if at once. */
  restartAt(container: Container, ended: ObservedContainer): MonotonicTime | undefined;
  probe(kind: ProbeKind, id: ContainerId): ProbeOutcome | undefined;
  /** True if we ended it so that another takes its place. */
  replaced(container: ObservedContainer): boolean;
  gates?: RestartGates;
  /** How many dead containers of a name to keep; one unless told, negative for all. */
  keptDead?: number;
  /** How old a dead container must be to be removed. */
  keptDeadMs?: number;
}

export function emptyPlan(): PodPlan {
  return { kill: [], replaces: [], removeContainers: [], removeSandboxes: [], start: [], delays: [] };
}

/** True if the plan asks for nothing to be done. */
export function isEmpty(plan: PodPlan): boolean {
  return (
    !plan.killAll &&
    !plan.createSandbox &&
    plan.kill.length + plan.removeContainers.length + plan.removeSandboxes.length + plan.start.length === 0
  );
}
