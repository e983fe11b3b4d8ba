import type { Container } from "../../../../lib/model/pod.ts";
import { isSidecar } from "../../../../lib/model/restart-policy.ts";
import { planContainer } from "./container.ts";
import type { PodPlan } from "./pod-plan.ts";
import { initContainerType, isDone, type PodView } from "./view.ts";

/**
 * Plans the init containers; true if the regular ones may run. Only the last one that was created determines the progress: those before it
 * were complete when it was created, even if the runtime has lost them since. A sidecar among them that exits is restarted without
 * delaying the rest.
 */
export function planInit(plan: PodPlan, view: PodView): boolean {
  const { inits } = view;
  const last = view.initialized ? inits.length : view.lastInit;
  for (const container of inits.slice(0, Math.max(last, 0)))
    if (isSidecar(container)) planContainer(plan, view, container, "sidecar");
  const current = inits[last];
  if (current && !isComplete(plan, view, current)) return false;
  const next = inits[last + 1];
  if (!next) return true;
  planContainer(plan, view, next, initContainerType(next));
  return false;
}

/** Plans for the last one that was created; true if the next may start. */
function isComplete(plan: PodPlan, view: PodView, container: Container): boolean {
  const { name } = container;
  const observed = view.inSandbox(name)!;
  if (!isSidecar(container)) {
    if (isDone(observed)) return true;
    planContainer(plan, view, container, "init");
    if (observed.state === "running") {
      plan.waitingFor = `waiting for init container ${name} to complete`;
      plan.waitsOn = { kind: "init", container: name };
    }
    return false;
  }
  planContainer(plan, view, container, "sidecar");
  if (observed.state !== "running") return false;
  if (!container.startupProbe || view.context.probe("startup", observed.id) === "success") return true;
  plan.waitingFor = `waiting for startup probe of sidecar ${name}`;
  plan.waitsOn = { kind: "startup", container: name };
  return false;
}

/** The init container that failed and is not restarted, if no regular container was created yet. */
export function failedInit(view: PodView): Container | undefined {
  const last = view.initialized ? undefined : view.inits[view.lastInit];
  if (!last || isSidecar(last) || isDone(view.inSandbox(last.name))) return undefined;
  return view.isFinished(last, "init") ? last : undefined;
}
