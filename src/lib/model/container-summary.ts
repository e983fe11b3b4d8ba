import type { ContainerState, ContainerStatus, Pod } from "./pod.ts";
import { isSidecar } from "./restart-policy.ts";

/** The containers of a pod, summarized in one line. */
export interface ContainerSummary {
  readonly ready: number;
  /** Containers that run at the same time: the regular ones and the sidecars. */
  readonly total: number;
  readonly restarts: number;
  /** When the last restarted container terminated; milliseconds since the epoch. */
  readonly lastRestart: number | undefined;
  /** The state of the containers, otherwise the state of the pod. */
  readonly reason: string;
}

interface Restarts {
  count: number;
  last: number | undefined;
}

type Shown = Pick<Pod, "spec" | "status">;

/** Init containers are shown until the last one has completed; from then on the regular containers. */
export function summarizeContainers(pod: Shown, phaseReason: string): ContainerSummary {
  const initContainers = pod.spec.initContainers ?? [];
  const sidecars = new Set(initContainers.filter(isSidecar).map((container) => container.name));
  const total = (pod.spec.containers ?? []).length + sidecars.size;
  const init = summarizeInit(pod.status?.initContainerStatuses ?? [], sidecars, initContainers.length);
  if (init.reason !== undefined && !hasTrueCondition(pod, "Initialized")) {
    const { count: restarts, last: lastRestart } = init.restarts;
    return { ready: init.ready, total, restarts, lastRestart, reason: init.reason };
  }
  const main = summarizeRegular(pod, init.sidecarRestarts, init.reason ?? phaseReason);
  const { count: restarts, last: lastRestart } = main.restarts;
  return { ready: init.ready + main.ready, total, restarts, lastRestart, reason: main.reason };
}

function summarizeInit(statuses: readonly ContainerStatus[], sidecars: ReadonlySet<string>, count: number) {
  const restarts: Restarts = { count: 0, last: undefined };
  const sidecarRestarts: Restarts = { count: 0, last: undefined };
  let ready = 0;
  for (const [i, status] of statuses.entries()) {
    const sidecar = sidecars.has(status.name);
    addRestarts(restarts, status);
    if (sidecar) addRestarts(sidecarRestarts, status);
    if (status.state?.terminated?.exitCode === 0) continue;
    if (sidecar && status.started) {
      if (status.ready) ready++;
      continue;
    }
    // The pod waits for the first one that has not completed.
    return { ready, restarts, sidecarRestarts, reason: `Init:${initReason(status.state, i, count)}` };
  }
  return { ready, restarts, sidecarRestarts, reason: undefined };
}

function initReason(state: ContainerState | undefined, index: number, count: number): string {
  if (state?.terminated) return endReason(state.terminated);
  const waiting = state?.waiting?.reason;
  return waiting && waiting !== "PodInitializing" ? waiting : `${index}/${count}`;
}

function summarizeRegular(pod: Shown, restartsSoFar: Restarts, reasonSoFar: string) {
  const restarts = { ...restartsSoFar };
  let reason = reasonSoFar;
  let failure: string | undefined;
  let ready = 0;
  // The loop runs from the last to the first container: if several have a reason, the reason of the first one is shown.
  for (const status of (pod.status?.containerStatuses ?? []).toReversed()) {
    addRestarts(restarts, status);
    const { waiting, terminated, running } = status.state ?? {};
    if (waiting?.reason) {
      reason = waiting.reason;
    } else if (terminated) {
      reason = endReason(terminated);
      if (terminated.exitCode !== 0) failure = reason;
    } else if (status.ready && running) {
      ready++;
    }
  }
  if (reason === "Completed") reason = notAllCompleted(pod, ready > 0, failure) ?? reason;
  return { ready, restarts, reason };
}

/** One container has completed, but others run or have failed. */
function notAllCompleted(pod: Shown, running: boolean, failure: string | undefined): string | undefined {
  if (running && hasTrueCondition(pod, "Ready")) return "Running";
  return failure ?? (running ? "NotReady" : undefined);
}

function endReason(end: NonNullable<ContainerState["terminated"]>): string {
  if (end.reason) return end.reason;
  return end.signal ? `Signal:${end.signal}` : `ExitCode:${end.exitCode ?? 0}`;
}

function addRestarts(restarts: Restarts, status: ContainerStatus): void {
  restarts.count += status.restartCount ?? 0;
  const ended = Date.parse(status.lastState?.terminated?.finishedAt ?? "");
  if (ended > (restarts.last ?? Number.NEGATIVE_INFINITY)) restarts.last = ended;
}

export function hasTrueCondition(pod: Shown, type: string): boolean {
  return pod.status?.conditions?.find((condition) => condition.type === type)?.status === "True";
}
