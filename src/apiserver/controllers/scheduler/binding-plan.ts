import type { Pod } from "../../../lib/model/pod.ts";
import { compareText } from "../../patch/text-order.ts";
import { type ApiObject, typed } from "../../storage/object.ts";
import { type FilterFailure, type NodeView, runFilters } from "./filter.ts";
import { addUsage, emptyUsage, type NodeUsage } from "./node-usage.ts";
import { podVolumes, type VolumeLookup } from "./pod-volumes.ts";

const schedulerName = "default-scheduler";

export type SchedulingStep =
  | { readonly do: "bind"; readonly pod: ApiObject; readonly node: string }
  | { readonly do: "wait"; readonly pod: ApiObject; readonly message: string };

/** The node of each pending pod, by priority and then by age; and why the others do not fit. */
export function planScheduling(
  pods: readonly ApiObject[],
  nodes: readonly ApiObject[],
  volumes: VolumeLookup,
): SchedulingStep[] {
  const waiting = pods.filter(isWaiting).sort(byPriorityAndAge);
  if (waiting.length === 0) return [];
  const views = nodes.filter(({ metadata }) => metadata.deletionTimestamp === undefined).map(viewOf);
  const usages = new Map(views.map(({ name }) => [name, emptyUsage()]));
  for (const pod of pods) {
    const usage = isActive(pod) ? usages.get(pod.spec?.nodeName) : undefined;
    if (usage !== undefined) addUsage(usage, podOf(pod));
  }
  return waiting.map((pod) => bind(pod, views, usages, volumes));
}

function bind(
  object: ApiObject,
  views: readonly NodeView[],
  usages: ReadonlyMap<string, NodeUsage>,
  volumes: VolumeLookup,
): SchedulingStep {
  const pod = podOf(object);
  const needed = podVolumes(pod, volumes);
  if (!needed.ready) return { do: "wait", pod: object, message: blockedMessage(views.length, needed.reason) };
  const failures: FilterFailure[] = [];
  const fitting = views.filter((view) => {
    const usage = usages.get(view.name) ?? emptyUsage();
    const reason = runFilters(pod, view, usage, needed.nodeTerms);
    if (reason !== undefined) failures.push(reason);
    return reason === undefined;
  });
  // There is usually one node; if there are several, the one with the fewest pods is chosen.
  const podsOn = (view: NodeView) => usages.get(view.name)?.pods ?? 0;
  const best = fitting.sort((a, b) => podsOn(a) - podsOn(b))[0];
  if (best === undefined) return { do: "wait", pod: object, message: fitMessage(failures) };
  addUsage(usages.get(best.name)!, pod);
  return { do: "bind", pod: object, node: best.name };
}

function isWaiting(object: ApiObject): boolean {
  const { metadata, spec } = object;
  return (
    !spec?.nodeName &&
    metadata.deletionTimestamp === undefined &&
    (spec?.schedulerName ?? schedulerName) === schedulerName &&
    !spec?.schedulingGates?.length &&
    isActive(object)
  );
}

/** Terminated pods use no resources. */
function isActive(pod: ApiObject): boolean {
  const phase = pod.status?.phase;
  return phase !== "Succeeded" && phase !== "Failed";
}

function byPriorityAndAge(a: ApiObject, b: ApiObject): number {
  const [left, right] = [a, b];
  const priority = (right.spec?.priority ?? 0) - (left.spec?.priority ?? 0);
  if (priority !== 0) return priority;
  const [since, then] = [left.metadata.creationTimestamp ?? "", right.metadata.creationTimestamp ?? ""];
  if (since !== then) return since < then ? -1 : 1;
  return Number(a.metadata.resourceVersion ?? 0) - Number(b.metadata.resourceVersion ?? 0);
}

function podOf(object: ApiObject): Pod {
  return typed(object);
}

function viewOf(object: ApiObject): NodeView {
  const { metadata, spec, status } = object;
  return {
    name: metadata.name,
    labels: metadata.labels ?? {},
    unschedulable: spec?.unschedulable === true,
    taints: spec?.taints ?? [],
    allocatable: status?.allocatable ?? status?.capacity ?? {},
  };
}

export const noNodes = "no nodes available to schedule pods";

/** Why a pod is not scheduled, with the message of kube-scheduler. */
export function fitMessage(failures: readonly FilterFailure[]): string {
  if (failures.length === 0) return noNodes;
  const reasons = counted(failures.flatMap((failure) => failure.reasons));
  const preemption = counted(
    failures.map(({ unresolvable }) =>
      unresolvable
        ? "Preemption is not helpful for scheduling"
        : "No preemption victims found for incoming pod",
    ),
  );
  const head = `0/${failures.length} nodes are available:`;
  return `${head} ${reasons}. preemption: ${head} ${preemption}.`;
}

/** Why a pod is not scheduled to any node. */
function blockedMessage(nodes: number, reason: string): string {
  const head = `0/${nodes} nodes are available:`;
  return `${head} ${reason}. preemption: ${head} ${nodes} Preemption is not helpful for scheduling.`;
}

function counted(reasons: readonly string[]): string {
  const counts = new Map<string, number>();
  for (const reason of reasons) counts.set(reason, (counts.get(reason) ?? 0) + 1);
  return [...counts]
    .map(([reason, count]) => `${count} ${reason}`)
    .sort(compareText)
    .join(", ");
}
