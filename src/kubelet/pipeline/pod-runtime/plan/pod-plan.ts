import type { MonotonicTime, WallTime } from "../../../../lib/base/time.ts";
import type { ContainerId } from "../../../../lib/clients/cri/cri.ts";
import type { Container } from "../../../../lib/model/pod.ts";
import type { StepDetails } from "../../../../lib/model/pod-step.ts";
import type { ContainerType, RestartGates } from "../../../../lib/model/restart-policy.ts";
import type { ObservedContainer, ObservedSandbox } from "../../../state/observed-pods.ts";
import type { ProbeKind, ProbeOutcome } from "../../../state/probe-results.ts";

export interface StartAction {
  container: Container;
  containerType: ContainerType;
  /** The attempt of the last container of that name plus one; 0 if the runtime has none. */
  attempt: number;
}

/** A container that waits for its restart back-off. */
export interface Delay {
  container: string;
  until: MonotonicTime;
}

/** Why a running container is stopped. */
export type KillCause =
  | "startup-probe"
  | "liveness-probe"
  | "changed"
  | "unknown"
  | "duplicate"
  | "former-sandbox"
  | "resize"
  | "restart-all";

export interface Kill {
  container: ObservedContainer;
  /** For users. */
  message: string;
  cause: KillCause;
}

/** One stage of a sync. When it is applied, the pod is observed and planned again. */
export interface PodPlan {
  /** Why everything of the pod in the runtime must be stopped first. */
  killAll?: string;
  createSandbox?: { attempt: number };
  /** The sandbox that the containers run in. */
  sandbox?: ObservedSandbox;
  kill: Kill[];
  /** Containers that are stopped to be replaced, regardless of their exit code. */
  replaces: ObservedContainer[];
  removeContainers: ObservedContainer[];
  /** All containers of the pod are being restarted: they are removed and their logs are kept. */
  restartsAll?: true;
  removeSandboxes: ObservedSandbox[];
  /** The pod's cgroup needs its allocated resources, and so do these running containers. */
  resize?: { readonly containers: readonly Container[] };
  start: StartAction[];
  delays: Delay[];
  /** The condition that the pod waits for, if the kubelet has nothing to do until then. */
  waitingFor?: string;
  waitsOn?: StepDetails;
  /** Why nothing of this pod will run again. Containers that are still running, such as sidecars, have to be stopped. */
  finished?: string;
}

export interface PlanContext {
  wall: WallTime;
  hashOf(container: Container): string;
  /** When an exited container may be started again; undefined if immediately. */
  restartAt(container: Container, exited: ObservedContainer): MonotonicTime | undefined;
  probe(kind: ProbeKind, id: ContainerId): ProbeOutcome | undefined;
  /** True if it was stopped to be replaced. */
  replaced(container: ObservedContainer): boolean;
  /** The changes that the allocated resources of the pod need. */
  resize?: ResizeNeeds;
  gates?: RestartGates;
  /** How many dead containers of a name to keep; one by default, negative for all. */
  maxDeadPerContainer?: number;
  /** The minimum age of a dead container before it is removed. */
  minDeadAgeMs?: number;
}

export interface ResizeNeeds {
  /** The change that the container needs to have its resources, if it runs. */
  actionFor(container: Container, isInit: boolean): "none" | "update" | "restart";
  /** The pod's cgroup needs a resize, regardless of what its containers need. */
  readonly ofPod: boolean;
  /** A resize was interrupted or has failed: what the containers have is unknown. */
  readonly repeats: boolean;
}

export function emptyPlan(): PodPlan {
  return { kill: [], replaces: [], removeContainers: [], removeSandboxes: [], start: [], delays: [] };
}

/** True if the plan changes nothing that the runtime already has. */
export function onlyStarts(plan: PodPlan): boolean {
  const others = plan.kill.length + plan.replaces.length;
  return (
    !plan.killAll && !plan.resize && others + plan.removeContainers.length + plan.removeSandboxes.length === 0
  );
}

/** True if there is nothing to do. */
export function isEmpty(plan: PodPlan): boolean {
  return (
    !plan.killAll &&
    !plan.createSandbox &&
    !plan.resize &&
    plan.kill.length + plan.removeContainers.length + plan.removeSandboxes.length + plan.start.length === 0
  );
}
