import type { ContainerId } from "../../../lib/clients/cri/cri.ts";
import type { Container } from "../../../lib/model/pod.ts";
import type { ContainerType } from "../../../lib/model/restart-policy.ts";
import type { ApiContainerStatus } from "./api-types.ts";
import type { StatusInput } from "./status-input.ts";

/**
 * The started and ready fields, from the state and the probes. Until there is a first result a container keeps its previous values: a
 * restart of the agent must not make it unready.
 */
export function startedAndReady(
  container: Container,
  containerType: ContainerType,
  status: ApiContainerStatus,
  previous: ApiContainerStatus | undefined,
  probe: StatusInput["probe"],
): { started?: boolean; ready: boolean } {
  // Ephemeral containers have no probes.
  if (containerType === "ephemeral") return { ready: false };
  const sameContainer =
    previous?.containerID && previous.containerID === status.containerID ? previous : undefined;
  const id = bareId(status.containerID);
  const started = isStarted(container, status, sameContainer, id && probe("startup", id));
  if (containerType === "init") return { started, ready: status.state?.terminated?.exitCode === 0 };
  return { started, ready: started && isReady(container, sameContainer, id && probe("readiness", id)) };
}

type Outcome = ReturnType<StatusInput["probe"]> | "";

function isStarted(
  container: Container,
  status: ApiContainerStatus,
  sameContainer: ApiContainerStatus | undefined,
  outcome: Outcome,
): boolean {
  if (!status.state?.running) return false;
  if (outcome === "success") return true;
  if (outcome === "failure") return false;
  return sameContainer?.started === true || !container.startupProbe;
}

function isReady(
  container: Container,
  sameContainer: ApiContainerStatus | undefined,
  outcome: Outcome,
): boolean {
  // Without a probe a previous value would never change.
  if (!container.readinessProbe || outcome === "success") return true;
  if (outcome === "failure") return false;
  return sameContainer?.ready === true;
}

/** The ID without the "containerd://" prefix. */
function bareId(id: string | undefined): ContainerId | "" {
  return (id?.slice(id.indexOf("://") + 3) ?? "") as ContainerId | "";
}
