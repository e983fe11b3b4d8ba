import { msBetween } from "../../../../lib/base/time.ts";
import type { PodPlan } from "./pod-plan.ts";
import type { PodView } from "./view.ts";

/** Removes containers that were created and never started, and all but the last dead containers of a name. */
export function planCleanup(plan: PodPlan, { seen, sandbox, context }: PodView): void {
  const dead = new Map<string, number>();
  const { keptDead = 1, keptDeadMs = 0, wall } = context;
  for (const container of seen.containers) {
    if (container.state === "created") plan.removeContainers.push(container);
    if (container.state !== "exited") continue;
    const before = dead.get(container.name) ?? 0;
    // The last one is always kept: the next decision depends on it.
    const isOld = msBetween(container.createdAt, wall) >= keptDeadMs;
    if (keptDead >= 0 && before >= Math.max(1, keptDead) && isOld) plan.removeContainers.push(container);
    dead.set(container.name, before + 1);
  }
  const kept = new Set(
    seen.containers.filter((c) => !plan.removeContainers.includes(c)).map((c) => c.sandboxId),
  );
  plan.removeSandboxes = seen.sandboxes.filter(
    (s) => s !== sandbox && s.state === "notready" && !kept.has(s.id),
  );
}
