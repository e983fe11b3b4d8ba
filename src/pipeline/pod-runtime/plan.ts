import type { Container, Pod } from "../../model/pod.ts";
import {
  newestContainer,
  type ObservedContainer,
  type ObservedPod,
  type ObservedSandbox,
  runningContainers,
} from "../../state/observed-pods.ts";

export type Role = "init" | "sidecar" | "regular";

export interface StartAction {
  container: Container;
  role: Role;
  attempt: number;
}

/** A container that would start now but has to wait, because its last ones ended too soon. */
export interface Delay {
  container: string;
  until: number;
}

/** One stage of work on a pod. When it is done, the pod is looked at and planned again. */
export interface PodPlan {
  /** Why everything of the pod in the runtime must be ended before anything else. */
  killAll?: string;
  createSandbox?: { attempt: number };
  /** The sandbox that the containers run in. */
  sandbox?: ObservedSandbox;
  kill: { container: ObservedContainer; reason: string }[];
  removeContainers: ObservedContainer[];
  removeSandboxes: ObservedSandbox[];
  start: StartAction[];
  delays: Delay[];
  /** What the pod waits for that no action of ours brings about. */
  waitingFor?: string;
}

export interface PlanContext {
  now: number;
  hashOf(container: Container): string;
  /** From when on a container that ended may be started again. */
  restartAt(container: Container, ended: ObservedContainer): number;
}

export function isSidecar(container: Container): boolean {
  return container.restartPolicy === "Always";
}

/** Decides what to do next for a pod that should run. Pure: the same input gives the same plan. */
export function planPod(pod: Pod, seen: ObservedPod | undefined, context: PlanContext): PodPlan {
  const plan: PodPlan = { kill: [], removeContainers: [], removeSandboxes: [], start: [], delays: [] };
  const newest = seen?.sandboxes[0];
  const replace = reasonToReplaceSandbox(pod, seen);
  if (replace !== undefined) {
    if (runningContainers(seen).length > 0 || seen?.sandboxes.some((s) => s.state === "ready"))
      plan.killAll = replace;
    if (seen && newest) planCleanup(plan, seen, newest);
    if (wantsSandbox(pod, seen, newest)) plan.createSandbox = { attempt: newest ? newest.attempt + 1 : 0 };
    return plan;
  }
  plan.sandbox = newest;
  planCleanup(plan, seen!, newest!);
  for (const container of runningContainers(seen))
    if (container !== newestContainer(seen, container.name))
      plan.kill.push({
        container,
        reason: `Container ${container.name} runs twice, the older one is stopped`,
      });
  const ready = planInit(plan, pod, seen!, context);
  if (ready) for (const container of pod.spec.containers) planRegular(plan, pod, container, seen!, context);
  return plan;
}

/** Undefined if the newest sandbox will do. */
function reasonToReplaceSandbox(pod: Pod, seen: ObservedPod | undefined): string | undefined {
  const newest = seen?.sandboxes[0];
  if (!newest) return "no sandbox for the pod";
  if (newest.state !== "ready") return "sandbox is not ready";
  if (seen.sandboxes.filter((s) => s.state === "ready").length > 1) return "more than one sandbox is ready";
  if (newest.hostNetwork !== (pod.spec.hostNetwork === true))
    return "the network namespace of the sandbox changed";
  if (!newest.hostNetwork && newest.ips.length === 0) return "the sandbox has no IP address";
  return undefined;
}

/** A pod whose containers have all done what they were to do gets no new sandbox. */
function wantsSandbox(pod: Pod, seen: ObservedPod | undefined, newest: ObservedSandbox | undefined): boolean {
  if (!seen || seen.containers.length === 0) return true;
  const policy = pod.spec.restartPolicy ?? "Always";
  if (policy === "Never" && newest) return false;
  if (policy === "OnFailure") {
    return pod.spec.containers.some((c) => !succeeded(newestContainer(seen, c.name)));
  }
  return true;
}

function succeeded(container: ObservedContainer | undefined): boolean {
  return container?.state === "exited" && container.exitCode === 0;
}

/** What only takes up room: containers that were created and never started, and all but the last dead of a name. */
function planCleanup(plan: PodPlan, seen: ObservedPod, current: ObservedSandbox): void {
  const dead = new Set<string>();
  for (const container of seen.containers) {
    if (container.state === "created") plan.removeContainers.push(container);
    if (container.state !== "exited") continue;
    if (dead.has(container.name)) plan.removeContainers.push(container);
    dead.add(container.name);
  }
  const kept = new Set(
    seen.containers.filter((c) => !plan.removeContainers.includes(c)).map((c) => c.sandboxId),
  );
  plan.removeSandboxes = seen.sandboxes.filter(
    (s) => s !== current && s.state === "notready" && !kept.has(s.id),
  );
}

/** Plans the init containers; true if the regular ones may run. */
function planInit(plan: PodPlan, pod: Pod, seen: ObservedPod, context: PlanContext): boolean {
  const sandbox = seen.sandboxes[0]!;
  const here = (name: string) => seen.containers.find((c) => c.name === name && c.sandboxId === sandbox.id);
  const begun = pod.spec.containers.some((c) => here(c.name) && here(c.name)!.state !== "created");
  for (const container of pod.spec.initContainers ?? []) {
    const last = here(container.name);
    if (begun) {
      // The regular containers run: only the sidecars still matter.
      if (isSidecar(container)) planRunning(plan, container, "sidecar", last, seen, context, () => true);
      continue;
    }
    if (isSidecar(container)) {
      planRunning(plan, container, "sidecar", last, seen, context, () => true);
      if (last?.state === "running") continue;
      return false;
    }
    if (last?.state === "exited" && last.exitCode === 0) continue;
    if (last?.state === "exited" && pod.spec.restartPolicy === "Never") return false;
    planRunning(plan, container, "init", last, seen, context, () => true);
    if (last?.state === "running")
      plan.waitingFor = `waiting for init container ${container.name} to complete`;
    return false;
  }
  return true;
}

function planRegular(
  plan: PodPlan,
  pod: Pod,
  container: Container,
  seen: ObservedPod,
  context: PlanContext,
): void {
  const sandbox = seen.sandboxes[0]!;
  const last = seen.containers.find((c) => c.name === container.name && c.sandboxId === sandbox.id);
  // In a new sandbox all start again, except what has done its work for good.
  if (!last && pod.spec.restartPolicy === "OnFailure" && succeeded(newestContainer(seen, container.name)))
    return;
  planRunning(plan, container, "regular", last, seen, context, (exitCode) => {
    switch (pod.spec.restartPolicy) {
      case "Never":
        return false;
      case "OnFailure":
        return exitCode !== 0;
      default:
        return true;
    }
  });
}

/** Plans what brings a container that should run from its last state to running. */
function planRunning(
  plan: PodPlan,
  container: Container,
  role: Role,
  last: ObservedContainer | undefined,
  seen: ObservedPod,
  context: PlanContext,
  restarts: (exitCode: number) => boolean,
): void {
  if (last && !readyToStart(plan, container, last, context, restarts)) return;
  const former = newestContainer(seen, container.name);
  plan.start.push({ container, role, attempt: former ? former.attempt + 1 : 0 });
}

/** False if the last container still runs, must go first, has done its work, or ended too recently. */
function readyToStart(
  plan: PodPlan,
  container: Container,
  last: ObservedContainer,
  context: PlanContext,
  restarts: (exitCode: number) => boolean,
): boolean {
  switch (last.state) {
    case "running":
      if (last.hash !== context.hashOf(container))
        plan.kill.push({
          container: last,
          reason: `Container ${container.name} definition changed, will be restarted`,
        });
      return false;
    case "unknown":
      plan.kill.push({ container: last, reason: `Container ${container.name} is in an unknown state` });
      return false;
    case "created":
      // Left over from an agent that ended between create and start: it goes, and the next stage makes a new one.
      return false;
    case "exited": {
      if (!restarts(last.exitCode)) return false;
      const until = context.restartAt(container, last);
      if (until <= context.now) return true;
      plan.delays.push({ container: container.name, until });
      return false;
    }
    default:
      return last.state satisfies never;
  }
}

/** True if the plan asks for nothing to be done. */
export function isEmpty(plan: PodPlan): boolean {
  return (
    !plan.killAll &&
    !plan.createSandbox &&
    plan.kill.length + plan.removeContainers.length + plan.removeSandboxes.length + plan.start.length === 0
  );
}
