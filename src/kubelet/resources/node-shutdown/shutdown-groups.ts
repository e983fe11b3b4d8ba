import type { Pod } from "../../../lib/model/pod.ts";

/** The time that a shutdown gives to pods of this priority and above, up to the priority of the next group. */
export interface ShutdownPeriod {
  readonly priority: number;
  readonly seconds: number;
}

export interface ShutdownGroup extends ShutdownPeriod {
  readonly pods: readonly Pod[];
}

interface ShutdownSettings {
  readonly shutdownGracePeriod: number;
  readonly shutdownGracePeriodCriticalPods: number;
  readonly shutdownGracePeriodByPodPriority: readonly {
    readonly priority: number;
    readonly shutdownGracePeriodSeconds: number;
  }[];
}

const defaultPriority = 0;
const systemCritical = 2_000_000_000;

/** The configured periods in the order in which pods are terminated; empty if shutdowns are not delayed. */
export function shutdownPeriods(config: ShutdownSettings, isByPriority: boolean): ShutdownPeriod[] {
  const { shutdownGracePeriodByPodPriority: listed } = config;
  if (!isByPriority || listed.length === 0) return twoPeriods(config);
  return listed
    .map(({ priority, shutdownGracePeriodSeconds: seconds }) => ({ priority, seconds }))
    .sort((a, b) => a.priority - b.priority);
}

/** Critical pods get their share at the end, all others what is left of the whole. */
function twoPeriods(config: ShutdownSettings): ShutdownPeriod[] {
  const { shutdownGracePeriod: whole, shutdownGracePeriodCriticalPods: critical } = config;
  if (whole === 0 || critical > whole) return [];
  return [
    { priority: defaultPriority, seconds: Math.floor((whole - critical) / 1000) },
    { priority: systemCritical, seconds: Math.floor(critical / 1000) },
  ];
}

/** How long a shutdown takes at most. */
export function totalMs(periods: readonly ShutdownPeriod[]): number {
  return periods.reduce((sum, { seconds }) => sum + seconds, 0) * 1000;
}

/** A pod belongs to the highest priority that is not above its own, or else to the lowest. Groups without pods are omitted. */
export function groupPods(periods: readonly ShutdownPeriod[], pods: readonly Pod[]): ShutdownGroup[] {
  const groups = periods.map((period) => ({ ...period, pods: [] as Pod[] }));
  for (const pod of pods) {
    const priority = pod.spec.priority ?? defaultPriority;
    const group = groups.findLast((one) => one.priority <= priority) ?? groups[0];
    group?.pods.push(pod);
  }
  return groups.filter((group) => group.pods.length > 0);
}

/** The grace period of a pod: its own, if that is not longer than the time of its group. */
export function shutdownGraceSeconds(pod: Pod, { seconds }: ShutdownPeriod): number {
  return Math.min(pod.spec.terminationGracePeriodSeconds ?? seconds, seconds);
}
