import type { Container } from "../../../../lib/model/pod.ts";
import { type ContainerType, restartsWhenKilled } from "../../../../lib/model/restart-policy.ts";
import type { ObservedContainer } from "../../../state/observed-pods.ts";
import type { KillCause, PodPlan } from "./pod-plan.ts";
import { isLive, type PodView } from "./view.ts";

/** Plans the next action for a container that should run. */
export function planContainer(
  plan: PodPlan,
  view: PodView,
  container: Container,
  containerType: ContainerType,
): void {
  // A superseded container is stopped first: there are never two of a name.
  if (superseded(view).some((c) => c.name === container.name)) return;
  const current = view.inSandbox(container.name);
  if (!current) {
    // In a new sandbox all start again, except a regular container that is not restarted.
    if (containerType === "regular" && view.isFinished(container, containerType)) return;
    if (containerType === "regular" && mustWait(plan, view, container, view.newest(container.name))) return;
    return start(plan, view, container, containerType);
  }
  switch (current.state) {
    case "running":
      return planKill(plan, view, container, containerType, current);
    case "unknown":
      // How it exited is unknown, so its exit code is ignored.
      plan.replaces.push(current);
      plan.kill.push({
        container: current,
        cause: "unknown",
        message: `${title(containerType)} is in "unknown" state, try killing it before restart`,
      });
      return;
    case "created":
      // An agent exited between create and start: the container is removed, and the next stage creates a new one.
      return;
    case "exited":
      if (
        view.decision(container, containerType, current) === "no" ||
        mustWait(plan, view, container, current)
      )
        return;
      return start(plan, view, container, containerType);
    default:
      return current.state satisfies never;
  }
}

function start(plan: PodPlan, view: PodView, container: Container, containerType: ContainerType): void {
  const newest = view.newest(container.name);
  plan.start.push({ container, containerType, attempt: newest ? newest.attempt + 1 : 0 });
}

/** Live containers outside of the newest sandbox, and all but the newest of a name in it. */
function superseded(view: PodView): ObservedContainer[] {
  return view.observed.containers.filter((c) => isLive(c) && c !== view.inSandbox(c.name));
}

export function planSuperseded(plan: PodPlan, view: PodView): void {
  for (const container of superseded(view)) {
    const { name } = container;
    if (container.sandboxId === view.sandbox?.id) {
      const message = `Container ${name} is running twice, stopping the older one`;
      plan.kill.push({ container, cause: "duplicate", message });
    } else {
      const message = `Container ${name} is running in a previous sandbox, stopping it`;
      plan.kill.push({ container, cause: "former-sandbox", message });
    }
  }
  plan.replaces.push(...superseded(view).filter((c) => !view.inSandbox(c.name) && view.runsAgain(c)));
}

/** True if it may not start yet because of the restart back-off. */
function mustWait(
  plan: PodPlan,
  view: PodView,
  container: Container,
  last: ObservedContainer | undefined,
): boolean {
  if (last?.state !== "exited") return false;
  // The replacement of a sandbox does not count as a failure of its containers.
  if (last.sandboxId !== view.sandbox?.id && view.context.replaced(last)) return false;
  const until = view.context.restartAt(container, last);
  if (until === undefined) return false;
  plan.delays.push({ container: container.name, until });
  return true;
}

/** Stops a running container that has changed or failed a probe. Init and ephemeral containers are not affected. */
function planKill(
  plan: PodPlan,
  view: PodView,
  container: Container,
  containerType: ContainerType,
  running: ObservedContainer,
): void {
  if (containerType === "init" || containerType === "ephemeral") return;
  const reason = reasonToKill(view, container, running);
  if (!reason) return;
  const { cause, what } = reason;
  const restart =
    cause === "changed" || restartsWhenKilled(view.pod, container, containerType, view.context.gates);
  const rest = restart && containerType === "regular" ? ", will be restarted" : "";
  plan.kill.push({
    container: running,
    cause,
    message: `${title(containerType)} ${container.name} ${what}${rest}`,
  });
  if (restart) plan.replaces.push(running);
}

function reasonToKill(
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

function title(containerType: ContainerType): string {
  return containerType === "regular" || containerType === "ephemeral" ? "Container" : "Init container";
}
