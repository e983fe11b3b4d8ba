import { msBetween, plusMs, type WallTime } from "../../../lib/base/time.ts";
import type { PodUid } from "../../../lib/model/pod.ts";
import type { ObservedContainer, ObservedPod, ObservedSandbox } from "../../state/observed-pods.ts";

/**
 * What becomes of a pod: "live" has a worker that looks after it, "ended" is kept to be looked at, "gone" is wanted by
 * nobody, "foreign" is none of our business.
 */
export type PodStanding = "live" | "ended" | "gone" | "foreign";

export interface ContainerGcPolicy {
  /** How old a dead container must be, by its creation, to be removed. */
  minAgeMs: number;
  /** Dead containers to keep of each container of a pod; negative for no limit. */
  maxPerContainer: number;
  /** Dead containers to keep altogether; negative for no limit. */
  maxContainers: number;
}

export interface DeadContainer {
  pod: ObservedPod;
  container: ObservedContainer;
}

export interface ContainerGcPlan {
  containers: DeadContainer[];
  /** To be removed after the containers, if all that were in them are gone. */
  sandboxes: { pod: ObservedPod; sandbox: ObservedSandbox }[];
}

export interface ContainerGcView {
  pods: Iterable<ObservedPod>;
  standing: (uid: PodUid) => PodStanding;
  now: WallTime;
  /** True when room is needed: of pods that have ended nothing is kept then. */
  clearEnded?: boolean;
}

/** Decides which dead containers and sandboxes only take up room. Pure. */
export function planContainerGc(view: ContainerGcView, policy: ContainerGcPolicy): ContainerGcPlan {
  const pods = [...view.pods].flatMap((pod) => {
    const standing = view.standing(pod.uid);
    if (standing === "foreign") return [];
    const all = standing === "gone" || (standing === "ended" && view.clearEnded === true);
    return [{ pod, standing, all }];
  });
  const containers: DeadContainer[] = [];
  let units: DeadContainer[][] = [];
  for (const { pod, standing, all } of pods)
    for (const unit of deadByName(pod, standing, plusMs(view.now, -policy.minAgeMs))) {
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
    // The same share for each first, so that a container that crashes a lot does not push out the others.
    keepNewest(Math.max(1, Math.floor(maxContainers / units.length)));
    containers.push(...units.flat().sort(newestFirst).slice(maxContainers));
  }
  const removed = new Set(containers.map((dead) => dead.container));
  const sandboxes = pods.flatMap(({ pod, all }) =>
    emptySandboxes(pod, removed, all).map((sandbox) => ({ pod, sandbox })),
  );
  return { containers: containers.sort((a, b) => newestFirst(b, a)), sandboxes };
}

/** What is dead and old enough, by container name, newest first. */
function deadByName(pod: ObservedPod, standing: PodStanding, newestAt: WallTime): DeadContainer[][] {
  const byName = new Map<string, DeadContainer[]>();
  for (const container of pod.containers) {
    if (container.state === "running" || container.createdAt > newestAt) continue;
    // What a worker is about to start or to stop is not dead yet.
    if (standing === "live" && container.state !== "exited") continue;
    const unit = byName.get(container.name) ?? [];
    unit.push({ pod, container });
    byName.set(container.name, unit);
  }
  return [...byName.values()].map((unit) => unit.sort(newestFirst));
}

/** Sandboxes that run nothing and hold nothing; the newest stays, unless nothing of the pod is to be kept. */
function emptySandboxes(
  pod: ObservedPod,
  removed: ReadonlySet<ObservedContainer>,
  all: boolean,
): ObservedSandbox[] {
  const holding = new Set(pod.containers.filter((c) => !removed.has(c)).map((c) => c.sandboxId));
  return [...pod.sandboxes]
    .sort((a, b) => msBetween(a.createdAt, b.createdAt))
    .slice(all ? 0 : 1)
    .filter((sandbox) => sandbox.state !== "ready" && !holding.has(sandbox.id))
    .reverse();
}

function newestFirst(a: DeadContainer, b: DeadContainer): number {
  return msBetween(a.container.createdAt, b.container.createdAt);
}
