import type { Container, Pod } from "../../../lib/model/pod.ts";
import { type ContainerType, isSidecar, restartDecision } from "../../../lib/model/restart-policy.ts";
import type { ApiContainerStatus, ApiPodStatus } from "./api-types.ts";
import { couldRestartAll } from "./restart-all.ts";
import type { StatusGates } from "./status-input.ts";

/** Why a new status is invalid: a terminated container that may not be restarted is no longer terminated. Undefined if valid. */
export function invalidTransition(
  pod: Pod,
  previous: ApiPodStatus | undefined,
  current: ApiPodStatus,
  gates: StatusGates,
): string | undefined {
  const policy = pod.spec.restartPolicy ?? "Always";
  if (!previous || policy === "Always" || couldRestartAll(pod, gates)) return undefined;
  const restarted = (
    containers: readonly Container[],
    containerType: ContainerType,
    old: readonly ApiContainerStatus[] = [],
    now: readonly ApiContainerStatus[] = [],
  ) =>
    containers.find((container) => {
      const end = old.find((s) => s.name === container.name)?.state?.terminated;
      if (!end || restartDecision(pod, container, containerType, end.exitCode, gates.restart) !== "no")
        return false;
      const status = now.find((s) => s.name === container.name);
      return status !== undefined && !status.state?.terminated;
    });
  const regular = restarted(
    pod.spec.containers,
    "regular",
    previous.containerStatuses,
    current.containerStatuses,
  );
  if (regular)
    return `terminated container ${regular.name} attempted illegal transition to non-terminated state`;
  // With OnFailure a new sandbox runs all init containers again, including those that succeeded.
  if (policy !== "Never") return undefined;
  const inits = (pod.spec.initContainers ?? []).filter((c) => !isSidecar(c));
  const init = restarted(inits, "init", previous.initContainerStatuses, current.initContainerStatuses);
  if (!init) return undefined;
  return `terminated init container ${init.name} attempted illegal transition to non-terminated state`;
}
