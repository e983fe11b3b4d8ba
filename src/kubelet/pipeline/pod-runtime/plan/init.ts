import type { Container } from "../../../../lib/model/pod.ts";
import { isSidecar } from "../../../../lib/model/restart-policy.ts";
import { planContainer } from "./container.ts";
import type { PodPlan } from "./pod-plan.ts";
import { initRole, isDone, type PodView } from "./view.ts";

/**
 * Plans the init containers; true if the regular ones may run. Only the last one that was made counts for going on: those
 * before it were through when it was made, also if the runtime has lost them since, and a sidecar among them that ends
 * is started again without holding up the rest.
 */
export function planInit(plan: PodPlan, view: PodView): boolean {
  const { inits } = view;
  const reached = view.begun ? inits.length : view.reached;
  for (const container of inits.slice(0, Math.max(reached, 0)))
    if (isSidecar(container)) planContainer(plan, view, container, "sidecar");
  const current = inits[reached];
  if (current && !isThrough(plan, view, current)) return false;
  const next = inits[reached + 1];
  if (!next) return true;
  planContainer(plan, view, next, initRole(next));
  return false;
}

/** Plans for the last one that was made; true if the next may start. */
function isThrough(plan: PodPlan, view: PodView, container: Container): boolean {
  const { name } = container;
  const here = view.here(name)!;
  if (!isSidecar(container)) {
    if (isDone(here)) return true;
    planContainer(plan, view, container, "init");
    if (here.state === "running") {
      plan.waitingFor = `waiting for init container ${name} to complete`;
      plan.waitsOn = { kind: "init", container: name };
    }
    return false;
  }
  planContainer(plan, view, container, "sidecar");
  if (here.state !== "running") return false;
  if (!container.startupProbe || view.context.probe("startup", here.id) === "success") return true;
  plan.waitingFor = `waiting for startup probe of sidecar ${name}`;
  plan.waitsOn = { kind: "startup", container: name };
  return false;
}

/** The init container that failed for good, if one did before any regular container was made. */
export function failedInit(view: PodView): Container | undefined {
  const last = view.begun ? undefined : view.inits[view.reached];
  if (!last || isSidecar(last) || isDone(view.here(last.name))) return undefined;
  return view.hasEnded(last, "init") ? last : undefined;
}
