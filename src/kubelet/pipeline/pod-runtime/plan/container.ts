import type { Container } from "../../../../lib/model/pod.ts";
import { restartsWhenKilled } from "../../../../lib/model/restart-policy.ts";
import type { ObservedContainer } from "../../../state/observed-pods.ts";
import type { KillCause, PodPlan, Role } from "./pod-plan.ts";
import { isLive, type PodView } from "./view.ts";

/** Plans what brings a container that should run from its last state to running. */
export function planContainer(plan: PodPlan, view: PodView, container: Container, role: Role): void {
  // One that runs where it should not is ended first: there are never two of a name.
  if (strays(view).some((c) => c.name === container.name)) return;
  const here = view.here(container.name);
  if (!here) {
    // In a new sandbox all starts again, except a regular container that has ended for good.
    if (role === "regular" && view.hasEnded(container, role)) return;
    if (role === "regular" && mustWait(plan, view, container, view.newest(container.name))) return;
    return start(plan, view, container, role);
  }
  switch (here.state) {
    case "running":
      return planKill(plan, view, container, role, here);
    case "unknown":
      // Nobody can say what became of it, so its exit code says nothing.
      plan.replaces.push(here);
      plan.kill.push({
        container: here,
        cause: "unknown",
        message: `${title(role)} is in "unknown" state, try killing it before restart`,
      });
      return;
    case "created":
      // Left over from an agent that ended between create and start: it goes, and the next stage makes a new one.
      return;
    case "exited":
      if (view.decision(container, role, here) === "no" || mustWait(plan, view, container, here)) return;
      return start(plan, view, container, role);
    default:
      return here.state satisfies never;
  }
}

function start(plan: PodPlan, view: PodView, container: Container, role: Role): void {
  const former = view.newest(container.name);
  plan.start.push({ container, role, attempt: former ? former.attempt + 1 : 0 });
}

/** What lives outside of the newest sandbox, and all but the newest of a name in it. */
function strays(view: PodView): ObservedContainer[] {
  return view.seen.containers.filter((c) => isLive(c) && c !== view.here(c.name));
}

export function planStrays(plan: PodPlan, view: PodView): void {
  for (const container of strays(view)) {
    const { name } = container;
    if (container.sandboxId === view.sandbox?.id) {
      const message = `Container ${name} runs twice, the older one is stopped`;
      plan.kill.push({ container, cause: "duplicate", message });
    } else {
      const message = `Container ${name} runs in a former sandbox, it is stopped`;
      plan.kill.push({ container, cause: "former-sandbox", message });
    }
  }
  plan.replaces.push(...strays(view).filter((c) => !view.here(c.name) && view.runsAgain(c)));
}

/** True if it may not start yet, because the last one ended too soon. */
function mustWait(
  plan: PodPlan,
  view: PodView,
  container: Container,
  ended: ObservedContainer | undefined,
): boolean {
  if (ended?.state !== "exited") return false;
  // That a sandbox was replaced is no fault of the containers in it.
  if (ended.sandboxId !== view.sandbox?.id && view.context.replaced(ended)) return false;
  const until = view.context.restartAt(container, ended);
  if (until === undefined) return false;
  plan.delays.push({ container: container.name, until });
  return true;
}

/** Ends a running container that is not as it should be. An init container runs once, as it was begun. */
function planKill(
  plan: PodPlan,
  view: PodView,
  container: Container,
  role: Role,
  running: ObservedContainer,
): void {
  if (role === "init" || role === "ephemeral") return;
  const found = trouble(view, container, running);
  if (!found) return;
  const { cause, what } = found;
  const restart = cause === "changed" || restartsWhenKilled(view.pod, container, role, view.context.gates);
  const rest = restart && role === "regular" ? ", will be restarted" : "";
  plan.kill.push({ container: running, cause, message: `${title(role)} ${container.name} ${what}${rest}` });
  if (restart) plan.replaces.push(running);
}

function trouble(
  { context }: PodView,
  container: Container,
  { id, hash }: ObservedContainer,
): { cause: KillCause; what: string } | undefined {
  if (hash !== context.hashOf(container)) return { cause: "changed", what: "definition changed" };
  if (context.probe("liveness", id) === "failure")
    return { cause: "liveness-probe", what: "failed liveness probe" };
  if (context.probe("startup", id) === "failure")
    return { cause: "startup-probe", what: "failed startup probe" };
  return undefined;
}

function title(role: Role): string {
  return role === "regular" || role === "ephemeral" ? "Container" : "Init container";
}
