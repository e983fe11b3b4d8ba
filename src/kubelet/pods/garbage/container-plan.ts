import { msBetween, plusMs, type WallTime } from "../../../lib/base/time.ts";
import type { PodUid } from "../../../lib/model/pod.ts";
import type { ObservedContainer, ObservedPod, ObservedSandbox } from "../../state/observed-pods.ts";

/**
 * "active": a worker manages the pod; "terminated": its last containers are kept for inspection; "evicted": the same, but they
 * are not kept; "orphaned": in no source; "foreign": may belong to another kubelet.
 */
export type PodGcState = "active" | "terminated" | "evicted" | "orphaned" | "foreign";

export interface ContainerGcPolicy {
  /** Minimum age of a dead container, since its creation, to be removed. */
  minAgeMs: number;
  /** Dead containers to keep of each container of a pod; negative for no limit. */
  maxPerContainer: number;
  /** Dead containers to keep in total; negative for no limit. */
  maxContainers: number;
}

export interface DeadContainer {
  pod: ObservedPod;
  container: ObservedContainer;
}

export interface ContainerGcPlan {
  containers: DeadContainer[];
  /** Removed after the containers, if all containers in them were removed. */
  sandboxes: { pod: ObservedPod; sandbox: ObservedSandbox }[];
}

export interface ContainerGcView {
  pods: Iterable<ObservedPod>;
  gcState: (uid: PodUid) => PodGcState;
  now: WallTime;
  /** True to reclaim space: no containers of terminated pods are kept. */
  removeTerminated?: boolean;
}

/** Decides which dead containers and sandboxes to remove. Pure. */
export function planContainerGc(view: ContainerGcView, policy: ContainerGcPolicy): ContainerGcPlan {
  const pods = [...view.pods].flatMap((pod) => {
    const gcState = view.gcState(pod.uid);
    if (gcState === "foreign") return [];
    const all =
      gcState === "orphaned" ||
      gcState === "evicted" ||
      (gcState === "terminated" && view.removeTerminated === true);
    return [{ pod, gcState, all }];
  });
  const containers: DeadContainer[] = [];
  let units: DeadContainer[][] = [];
  for (const { pod, gcState, all } of pods)
    for (const unit of deadByName(pod, gcState, plusMs(view.now, -policy.minAgeMs))) {
      if (all) containers.push(...unit);
      else units.push(unit);
    }
  const keepNewest = (count: number) => {
    units = units.map((unit) => {
      containers.push(...unit.slice(count));
      return unit.slice(0, count);
    });
  };
  if (policy.maxPerContainer >= 0) keepNewest(policy.maxPerContainer);
  const { maxContainers } = policy;
  if (maxContainers >= 0 && units.flat().length > maxContainers) {
    // The same share for each first, so that a container that crashes often does not evict the others.
    keepNewest(Math.max(1, Math.floor(maxContainers / units.length)));
    containers.push(...units.flat().sort(newestFirst).slice(maxContainers));
  }
  const removed = new Set(containers.map((dead) => dead.container));
  const sandboxes = pods.flatMap(({ pod, all }) =>
    emptySandboxes(pod, removed, all).map((sandbox) => ({ pod, sandbox })),
  );
  return { containers: containers.sort((a, b) => newestFirst(b, a)), sandboxes };
}

/** Dead containers of the minimum age, by container name, newest first. */
function deadByName(pod: ObservedPod, gcState: PodGcState, newestAt: WallTime): DeadContainer[][] {
  const byName = new Map<string, DeadContainer[]>();
  for (const container of pod.containers) {
    if (container.state === "running" || container.createdAt > newestAt) continue;
    // A container that a worker is about to start or stop is not dead.
    if (gcState === "active" && container.state !== "exited") continue;
    const unit = byName.get(container.name) ?? [];
    unit.push({ pod, container });
    byName.set(container.name, unit);
  }
  return [...byName.values()].map((unit) => unit.sort(newestFirst));
}

/** Sandboxes that are not ready and have no containers; the newest is kept, unless all of the pod is removed. */
function emptySandboxes(
  pod: ObservedPod,
  removed: ReadonlySet<ObservedContainer>,
  all: boolean,
): ObservedSandbox[] {
  const inUse = new Set(pod.containers.filter((c) => !removed.has(c)).map((c) => c.sandboxId));
  return [...pod.sandboxes]
    .sort((a, b) => msBetween(a.createdAt, b.createdAt))
    .slice(all ? 0 : 1)
    .filter((sandbox) => sandbox.state !== "ready" && !inUse.has(sandbox.id))
    .reverse();
}

function newestFirst(a: DeadContainer, b: DeadContainer): number {
  return msBetween(a.container.createdAt, b.container.createdAt);
}
