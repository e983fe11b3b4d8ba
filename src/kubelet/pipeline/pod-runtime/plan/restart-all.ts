import { restartAllTriggers } from "../../../../lib/model/restart-policy.ts";
import type { PodPlan } from "./pod-plan.ts";
import { isLive, type PodView } from "./view.ts";

/**
 * A container exited in a way that restarts all containers of the pod: the regular ones are stopped, then the init containers, then all
 * are removed, so that the pod starts again with its first init container, in the same sandbox. The containers that triggered it are
 * removed last: they are the record for the next stage, or the next agent. Ephemeral ones are kept.
 */
export function planRestartAll(plan: PodPlan, view: PodView): boolean {
  const { pod, observed, context } = view;
  const lastOf = (name: string) => view.last(name);
  const triggers = restartAllTriggers(pod, lastOf, context.gates).map(lastOf);
  if (triggers.length === 0) return false;
  plan.restartsAll = true;
  const regular = new Set(pod.spec.containers.map((c) => c.name));
  const all = new Set([...regular, ...view.inits.map((c) => c.name)]);
  const candidates = observed.containers.filter((c) => all.has(c.name));
  const live = candidates.filter(isLive);
  const first = live.filter((c) => regular.has(c.name));
  plan.kill = (first.length > 0 ? first : live).map((container) => ({
    container,
    cause: "restart-all",
    message: `Container ${container.name} will be restarted with all containers of the pod`,
  }));
  if (live.length > 0) return true;
  const others = candidates.filter((c) => !triggers.includes(c));
  plan.removeContainers = others.length > 0 ? others : candidates;
  return true;
}
