import type { ContainerId } from "../../../lib/clients/cri/cri.ts";
import type { PodStatus } from "../../../lib/model/pod.ts";
import type { ProbeKind, ProbeOutcome } from "../../state/probe-results.ts";

/**
 * The outcome that a status, which another kubelet may have written, implies for the container with this ID. Undefined if there is none, or
 * if the status shows that the container has not started: it may have started since, and must not be killed for that.
 */
export function outcomeInStatus(
  status: PodStatus | undefined,
  kind: ProbeKind,
  id: ContainerId,
): ProbeOutcome | undefined {
  const found = [...(status?.containerStatuses ?? []), ...(status?.initContainerStatuses ?? [])].find(
    ({ containerID, state }) => containerID?.endsWith(`://${id}`) && state?.running,
  );
  if (!found) return undefined;
  if (kind === "readiness") return found.ready ? "success" : "failure";
  return kind === "startup" && found.started ? "success" : undefined;
}
