import type { ContainerStatus, Pod, PodStatus } from "./pod.ts";
import type { Step } from "./pod-step.ts";
import { isSidecar } from "./restart-policy.ts";

export interface Readiness {
  readonly isReady: boolean;
  /** Why not, if it waits for a probe or a readiness gate, which its worker cannot change. */
  readonly why: Step | undefined;
}

/** Whether a pod is ready according to its status. If all of its containers run and it is not, also what it waits for. */
export function readinessOf(pod: Pod, status: PodStatus): Readiness {
  const ready = status.conditions?.find((c) => c.type === "Ready");
  if (ready?.status === "True") return { isReady: true, why: undefined };
  return { isReady: false, why: unreadyContainer(pod, status) ?? unreadyGate(ready) };
}

function unreadyContainer({ spec }: Pod, status: PodStatus): Step | undefined {
  const statuses = [...(status.initContainerStatuses ?? []), ...(status.containerStatuses ?? [])];
  const running = [...(spec.initContainers ?? []).filter(isSidecar), ...spec.containers]
    .map(({ name }) => statuses.find((s) => s.name === name))
    .filter((s): s is ContainerStatus => s?.state?.running !== undefined && !s.ready);
  // The readiness probe of a container starts after its startup probe.
  const starting = running.find((s) => s.started === false);
  if (starting)
    return {
      kind: "startup",
      container: starting.name,
      text: `waiting for the startup probe of ${starting.name}`,
    };
  const [first] = running;
  if (!first) return undefined;
  return {
    kind: "readiness",
    container: first.name,
    text: `waiting for the readiness probe of ${first.name}`,
  };
}

function unreadyGate(ready: { reason?: string; message?: string } | undefined): Step | undefined {
  if (ready?.reason !== "ReadinessGatesNotReady") return undefined;
  return { kind: "gate", text: `waiting for a readiness gate: ${ready.message ?? ""}` };
}
