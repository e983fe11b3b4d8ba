import { msBetween } from "../../../../lib/base/time.ts";
import type { Pod } from "../../../../lib/model/pod.ts";
import type { ObservedPod } from "../../../state/observed-pods.ts";
import { planContainer, planSuperseded } from "./container.ts";
import { failedInit, planInit } from "./init.ts";
import { emptyPlan, type PlanContext, type PodPlan } from "./pod-plan.ts";
import { planResize } from "./resize.ts";
import { planRestartAll } from "./restart-all.ts";
import { planSandbox } from "./sandbox.ts";
import { PodView } from "./view.ts";

/** Decides what to do next for a pod that should run. Pure: the same input gives the same plan. */
export function planPod(pod: Pod, observed: ObservedPod | undefined, context: PlanContext): PodPlan {
  const plan = emptyPlan();
  if (!observed) return { ...plan, createSandbox: { attempt: 0 } };
  const view = new PodView(pod, observed, context);
  if (planRestartAll(plan, view)) return plan;
  planCleanup(plan, view);
  plan.finished = finishedReason(view);
  // Containers that are still running are stopped by the worker, in termination order and with the pod's grace period.
  if (plan.finished || planSandbox(plan, view)) return plan;
  plan.sandbox = view.sandbox;
  planSuperseded(plan, view);
  planEphemeral(plan, view);
  if (planInit(plan, view))
    for (const container of pod.spec.containers) planContainer(plan, view, container, "regular");
  planResize(plan, view);
  return plan;
}

function finishedReason(view: PodView): string | undefined {
  if (view.pod.spec.containers.every((c) => view.isFinished(c, "regular")))
    return "all containers have exited";
  const failed = failedInit(view);
  return failed && `init container ${failed.name} failed and is not restarted`;
}

/** Ephemeral containers start independently of the others, and only once, even across sandboxes. */
function planEphemeral(plan: PodPlan, view: PodView): void {
  for (const container of view.pod.spec.ephemeralContainers ?? [])
    if (!view.newest(container.name)) plan.start.push({ container, containerType: "ephemeral", attempt: 0 });
}

/** Removes containers that were created and never started, and all but the last dead containers of a name. */
function planCleanup(plan: PodPlan, { observed, sandbox, context }: PodView): void {
  const dead = new Map<string, number>();
  const { maxDeadPerContainer = 1, minDeadAgeMs = 0, wall } = context;
  for (const container of observed.containers) {
    if (container.state === "created") plan.removeContainers.push(container);
    if (container.state !== "exited") continue;
    const counted = dead.get(container.name) ?? 0;
    // The last one is always kept: the next decision depends on it.
    const isOld = msBetween(container.createdAt, wall) >= minDeadAgeMs;
    if (maxDeadPerContainer >= 0 && counted >= Math.max(1, maxDeadPerContainer) && isOld)
      plan.removeContainers.push(container);
    dead.set(container.name, counted + 1);
  }
  const kept = new Set(
    observed.containers.filter((c) => !plan.removeContainers.includes(c)).map((c) => c.sandboxId),
  );
  plan.removeSandboxes = observed.sandboxes.filter(
    (s) => s !== sandbox && s.state === "notready" && !kept.has(s.id),
  );
}
