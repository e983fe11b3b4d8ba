import type { Container, Pod } from "../../../lib/model/pod.ts";
import { type ContainerRole, isSidecar, restartDecision } from "../../../lib/model/restart-policy.ts";
import type { ApiContainerStatus, ApiPodStatus } from "./api-types.ts";
import { couldRestartAll } from "./restart-all.ts";
import type { StatusGates } from "./status-input.ts";

/** Why a new status is invalid: a terminated container that may not be restarted is not terminated any more. Undefined if valid. */
export function invalidTransition(
  pod: Pod,
  before: ApiPodStatus | undefined,
  after: ApiPodStatus,
  gates: StatusGates,
): string | undefined {
  const policy = pod.spec.restartPolicy ?? "Always";
  if (!before || policy === "Always" || couldRestartAll(pod, gates)) return undefined;
  const revived = (
    containers: readonly Container[],
    role: ContainerRole,
    old: readonly ApiContainerStatus[] = [],
    now: readonly ApiContainerStatus[] = [],
  ) =>
    containers.find((container) => {
      const end = old.find((s) => s.name === container.name)?.state?.terminated;
      if (!end || restartDecision(pod, container, role, end.exitCode, gates.restart) !== "no") return false;
      const status = now.find((s) => s.name === container.name);
      return status !== undefined && !status.state?.terminated;
    });
  const regular = revived(pod.spec.containers, "regular", before.containerStatuses, after.containerStatuses);
  if (regular)
    return `terminated container ${regular.name} attempted illegal transition to non-terminated state`;
  // With OnFailure a new sandbox runs all init containers again, including those that succeeded.
  if (policy !== "Never") return undefined;
  const inits = (pod.spec.initContainers ?? []).filter((c) => !isSidecar(c));
  const init = revived(inits, "init", before.initContainerStatuses, after.initContainerStatuses);
  if (!init) return undefined;
  return `terminated init container ${init.name} attempted illegal transition to non-terminated state`;
}
