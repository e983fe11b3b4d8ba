import type { ContainerId } from "../../../lib/clients/cri/cri.ts";
import type { Container } from "../../../lib/model/pod.ts";
import type { ContainerRole } from "../../../lib/model/restart-policy.ts";
import type { ApiContainerStatus } from "./api-types.ts";
import type { StatusInput } from "./status-input.ts";

/**
 * What users see as started and ready, from the state and the probes. Until there is a first result a container is
 * what it was: after a restart of the agent nothing may seem to fail that does not.
 */
export function startedAndReady(
  container: Container,
  role: ContainerRole,
  status: ApiContainerStatus,
  before: ApiContainerStatus | undefined,
  probe: StatusInput["probe"],
): { started?: boolean; ready: boolean } {
  // Nobody probes an ephemeral container or waits for it.
  if (role === "ephemeral") return { ready: false };
  const was = before?.containerID && before.containerID === status.containerID ? before : undefined;
  const id = bareId(status.containerID);
  const started = isStarted(container, status, was, id && probe("startup", id));
  if (role === "init") return { started, ready: status.state?.terminated?.exitCode === 0 };
  return { started, ready: started && isReady(container, was, id && probe("readiness", id)) };
}

type Outcome = ReturnType<StatusInput["probe"]> | "";

function isStarted(
  container: Container,
  status: ApiContainerStatus,
  was: ApiContainerStatus | undefined,
  outcome: Outcome,
): boolean {
  if (!status.state?.running) return false;
  if (outcome === "success") return true;
  if (outcome === "failure") return false;
  return was?.started === true || !container.startupProbe;
}

function isReady(container: Container, was: ApiContainerStatus | undefined, outcome: Outcome): boolean {
  // Without a probe nothing would ever change what was known before.
  if (!container.readinessProbe || outcome === "success") return true;
  if (outcome === "failure") return false;
  return was?.ready === true;
}

/** The id without "containerd://" before it. */
function bareId(id: string | undefined): ContainerId | "" {
  return (id?.slice(id.indexOf("://") + 3) ?? "") as ContainerId | "";
}
