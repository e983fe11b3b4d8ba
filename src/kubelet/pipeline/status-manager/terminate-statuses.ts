import type { Pod } from "../../../lib/model/pod.ts";
import { isSidecar } from "../../../lib/model/restart-policy.ts";
import type { ApiContainerStatus } from "./api-types.ts";
import { unobservedTermination } from "./container-state.ts";

/**
 * The containers of a terminated pod, as in upstream's TerminatePod. A container whose termination was not observed is reported as failed.
 * Containers that could not have started keep waiting.
 */
export function terminateStatuses(
  pod: Pod,
  statuses: { containers: ApiContainerStatus[]; inits: ApiContainerStatus[] },
  previous: readonly ApiContainerStatus[] = [],
): { containers: ApiContainerStatus[]; inits: ApiContainerStatus[] } {
  const { containers, inits } = statuses;
  const startedInits = Math.max(inits.findLastIndex(hasStarted) + 1, 1);
  return {
    containers:
      previous.some(hasStarted) || wasInitialized(pod, statuses) ? containers.map(terminated) : containers,
    inits: inits.map((status, i) => (i < startedInits ? terminated(status) : status)),
  };
}

function terminated(status: ApiContainerStatus): ApiContainerStatus {
  if (status.state?.terminated) return status;
  const { started, ...rest } = status;
  return {
    ...rest,
    state: { terminated: unobservedTermination(false) },
    ready: false,
    ...(started === undefined ? {} : { started: false }),
  };
}

function hasStarted({ state, lastState }: ApiContainerStatus): boolean {
  return !state?.waiting || lastState?.terminated !== undefined;
}

/** False if no regular container could have started. */
function wasInitialized(
  pod: Pod,
  { containers, inits }: { containers: ApiContainerStatus[]; inits: ApiContainerStatus[] },
): boolean {
  const specs = pod.spec.initContainers ?? [];
  if (specs.length === 0 || containers.some(hasStarted)) return true;
  const [spec, status] = [specs.at(-1), inits.at(-1)];
  if (!spec || !status) return false;
  if (isSidecar(spec)) return status.state?.running !== undefined && status.started === true;
  return [status.state, status.lastState].some((s) => s?.terminated?.exitCode === 0);
}
