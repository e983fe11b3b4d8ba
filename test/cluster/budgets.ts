import { type Counts, statusComputations, timersFired } from "./work-counter.ts";

/**
 * The work that the agent may do for one pod of one container whose image is present, and for a node with 3 such pods that is idle for a minute. The
 * counts do not depend on the speed of the machine. A change that needs more has to change its budget here, with a reason.
 * docs/BUDGETS.md has the sums.
 */
export const budgets = {
  podStart: {
    // Running, with its address.
    "PATCH pods/status": 1,
    // Pulled, Created, Started.
    "POST events": 3,
    RunPodSandbox: 1,
    PodSandboxStatus: 1,
    ImageStatus: 1,
    CreateContainer: 1,
    StartContainer: 1,
    ContainerStatus: 1,
    // Added; the status that was written.
    "event pods-changed": 2,
    "event api-pod": 2,
    "event worker-phase": 1,
    "event worker-changed": 6,
    "event worker-step": 4,
    "event container-started": 1,
    "event runtime-observed": 2,
    "event status-changed": 3,
    [statusComputations]: 8,
    // The events of the pod are sent together; the runtime's events are compared with what was observed.
    [timersFired]: 2,
  },
  podEnd: {
    // The containers have terminated; the phase.
    "PATCH pods/status": 2,
    // Killing.
    "POST events": 1,
    "DELETE pods": 1,
    StopContainer: 1,
    StopPodSandbox: 1,
    RemoveContainer: 1,
    RemovePodSandbox: 1,
    PodSandboxStatus: 1,
    ContainerStatus: 1,
    // Nothing runs; nothing is left.
    ListPodSandbox: 2,
    ListContainers: 2,
    // Deleted by a user; the two statuses that were written.
    "event pods-changed": 3,
    "event api-pod": 4,
    "event worker-phase": 2,
    "event worker-changed": 5,
    "event worker-step": 3,
    "event runtime-observed": 4,
    "event status-changed": 3,
    "event pod-resources-reclaimed": 1,
    "event worker-gone": 1,
    [statusComputations]: 9,
    [timersFired]: 2,
  },
  idleMinute: {
    "PUT leases": 6,
    ListPodSandbox: 6,
    ListContainers: 6,
    Status: 12,
    ImageFsInfo: 6,
    ListImages: 2,
    "event worker-changed": 3,
    "event volumes-reported": 6,
    [statusComputations]: 3,
    // 177 or 178, because of random delays: another timer that fires every 20 s is over it.
    [timersFired]: 180,
  },
} as const satisfies Record<string, Counts>;

/** The JavaScript heap that the built agent may allocate for the whole life of one pod, in KiB. Measured: 4,600 to 4,900. */
export const allocatedKiBPerPod = 6000;

/** The counts that exceed the budget; a kind without a budget has none. */
export function overBudget(counts: Counts, budget: Counts): string[] {
  return Object.entries(counts)
    .filter(([what, count]) => count > (budget[what] ?? 0))
    .map(([what, count]) => `${what}: ${count}, budget ${budget[what] ?? 0}`);
}

/** The smallest count of each kind: other work of the node may fall into some of the lives or minutes. */
export function least(all: readonly Counts[]): Counts {
  const kinds = new Set(all.flatMap((counts) => Object.keys(counts)));
  return Object.fromEntries(
    [...kinds].map((kind) => [kind, Math.min(...all.map((counts) => counts[kind] ?? 0))]),
  );
}
