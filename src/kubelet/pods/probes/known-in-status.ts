import type { ContainerId } from "../../../lib/clients/cri/cri.ts";
import type { PodStatus } from "../../../lib/model/pod.ts";
import type { ProbeKind, ProbeOutcome } from "../../state/probe-results.ts";

/**
 * What a status, which another kubelet may have written, says of a container with this very ID. Undefined if nothing, or
 * that it has not started: that is no reason to end one that has.
 */
export function knownInStatus(
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
