import { msBetween } from "../../../../lib/base/time.ts";
import type { PodPlan } from "./pod-plan.ts";
import type { PodView } from "./view.ts";

/** Removes containers that were created and never started, and all but the last dead containers of a name. */
export function planCleanup(plan: PodPlan, { observed, sandbox, context }: PodView): void {
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
