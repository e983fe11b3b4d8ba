import type { PodPlan } from "./pod-plan.ts";
import { isLive, type PodView } from "./view.ts";

/** Plans the replacement of an unusable sandbox; false if the newest one is usable. */
export function planSandbox(plan: PodPlan, view: PodView): boolean {
  const reason = reasonToReplace(view);
  if (reason === undefined) return false;
  const { sandbox, observed } = view;
  const live = observed.containers.filter(isLive);
  if (live.length > 0 || observed.sandboxes.some((s) => s.state === "ready")) plan.killAll = reason;
  if (needsSandbox(view)) {
    // A dead sandbox may still hold its address and ports: it is stopped too.
    if (observed.sandboxes.length > 0) plan.killAll = reason;
    plan.createSandbox = { attempt: sandbox ? sandbox.attempt + 1 : 0 };
    plan.replaces.push(...live.filter((c) => view.runsAgain(c)));
  } else if (!plan.killAll) {
    plan.finished = "its sandbox is gone and is not replaced (restartPolicy: Never)";
  }
  return true;
}

/** Undefined if the newest sandbox is usable. */
function reasonToReplace({ pod, sandbox, observed }: PodView): string | undefined {
  if (!sandbox) return "no sandbox for the pod";
  if (observed.sandboxes.filter((s) => s.state === "ready").length > 1)
    return "more than one sandbox is ready";
  if (sandbox.state !== "ready") return "sandbox is not ready";
  if (sandbox.hostNetwork !== (pod.spec.hostNetwork === true))
    return "the network namespace of the sandbox changed";
  if (!sandbox.hostNetwork && sandbox.ips.length === 0) return "the sandbox has no IP address";
  return undefined;
}

/**
 * With restartPolicy Never no regular container runs twice, even if the loss of the sandbox stopped it, unless it has its own policy or
 * rule. A pod of which no regular container has started gets a new sandbox.
 */
function needsSandbox(view: PodView): boolean {
  const { pod, observed, sandbox } = view;
  if (!sandbox || pod.spec.restartPolicy !== "Never") return true;
  const regular = pod.spec.containers.map((c) => c.name);
  if (!observed.containers.some((c) => regular.includes(c.name) && c.state !== "created")) return true;
  const last = observed.containers.filter((c) => c === view.last(c.name));
  return last.some((c) => view.runsAgain(c));
}
