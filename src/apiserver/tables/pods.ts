import { humanDuration } from "../../lib/base/human-duration.ts";
import {
  type ContainerSummary,
  hasTrueCondition,
  summarizeContainers,
} from "../../lib/model/container-summary.ts";
import type { Pod } from "../../lib/model/pod.ts";
import { type ApiObject, typed } from "../storage/object.ts";
import {
  ageColumn,
  column,
  nameColumn,
  type RowCondition,
  type TableDefinition,
  viewTableDefinition,
} from "./table-definition.ts";

interface PodView {
  readonly metadata: Pod["metadata"];
  readonly pod: Pod;
  readonly containers: ContainerSummary;
}

const none = "<none>";

const columns = viewTableDefinition<PodView>(viewOf, [
  nameColumn,
  column(
    "Ready",
    "The number of ready containers, and of all containers without init containers that run once.",
    ({ containers }) => `${containers.ready}/${containers.total}`,
  ),
  column("Status", "The state of the pod, or the reason why it is waiting.", podStatus),
  column("Restarts", "The number of container restarts, and the time since the last one.", restarts),
  ageColumn,
  column("IP", "The pod's first address.", ({ pod }) => podIp(pod) || none, { wide: true }),
  column("Node", "The node that the pod is bound to.", ({ pod }) => pod.spec.nodeName || none, {
    wide: true,
  }),
  column(
    "Nominated Node",
    "The node on which pods are preempted for this pod.",
    ({ pod }) => pod.status?.nominatedNodeName || none,
    { wide: true },
  ),
  column("Readiness Gates", "The number of readiness gates that are true.", readinessGates, {
    wide: true,
  }),
]);

export const podTable: TableDefinition = {
  ...columns,
  conditions(object) {
    const phase: string | undefined = object.status?.phase;
    return phase === "Succeeded" ? succeeded : phase === "Failed" ? failed : [];
  },
};

const succeeded: readonly RowCondition[] = [
  {
    type: "Completed",
    status: "True",
    reason: "Succeeded",
    message: "The pod has completed successfully.",
  },
];
const failed: readonly RowCondition[] = [
  { type: "Completed", status: "True", reason: "Failed", message: "The pod failed." },
];

function viewOf(object: ApiObject): PodView {
  const given: Pod = typed(object);
  const pod = { ...given, spec: given.spec ?? { containers: [] } };
  return { metadata: pod.metadata, pod, containers: summarizeContainers(pod, podReason(pod)) };
}

/** The state of the pod itself, without its containers. */
function podReason(pod: Pod): string {
  const gated = pod.status?.conditions?.some(
    (condition) => condition.type === "PodScheduled" && condition.reason === "SchedulingGated",
  );
  return gated ? "SchedulingGated" : pod.status?.reason || pod.status?.phase || "";
}

function podStatus({ pod, containers }: PodView): string {
  if (pod.metadata.deletionTimestamp) {
    if (pod.status?.reason === "NodeLost") return "Unknown";
    if (pod.status?.phase !== "Succeeded" && pod.status?.phase !== "Failed") return "Terminating";
  }
  return containers.reason;
}

function restarts({ containers }: PodView, now: number): string {
  const { restarts: count, lastRestart } = containers;
  if (count === 0 || lastRestart === undefined) return String(count);
  return `${count} (${humanDuration(now - lastRestart)} ago)`;
}

function podIp(pod: Pod): string | undefined {
  return pod.status?.podIPs?.[0]?.ip || pod.status?.podIP;
}

function readinessGates({ pod }: PodView): string {
  const gates = pod.spec.readinessGates ?? [];
  if (gates.length === 0) return none;
  return `${gates.filter((gate) => hasTrueCondition(pod, gate.conditionType)).length}/${gates.length}`;
}
