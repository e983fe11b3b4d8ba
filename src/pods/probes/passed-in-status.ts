import type { ContainerId } from "../../clients/cri/cri.ts";
import type { PodStatus } from "../../model/pod.ts";
import type { ProbeKind, ProbeOutcome } from "../../state/probe-results.ts";

/** What a status, which another kubelet may have written, says of a container with this very ID; undefined if nothing good. */
export function passedInStatus(
  status: PodStatus | undefined,
  kind: ProbeKind,
  id: ContainerId,
): ProbeOutcome | undefined {
  const found = [...(status?.containerStatuses ?? []), ...(status?.initContainerStatuses ?? [])].find(
    ({ containerID, state }) => containerID?.endsWith(`://${id}`) && state?.running,
  );
  const passed = kind === "readiness" ? found?.ready : kind === "startup" && found?.started;
  return passed ? "success" : undefined;
}
