import type { ContainerStats, PodStats, Summary } from "../../lib/model/stats-summary.ts";
import type { ApiObject } from "../storage/object.ts";

/** The minimum interval of a kubelet's CPU measurement. */
const window = "1s";

/** Undefined if the kubelet has not measured both. */
export function nodeMetrics(node: ApiObject, summary: Summary): ApiObject | undefined {
  const usage = usageOf(summary.node);
  if (!usage) return undefined;
  return { metadata: metadataOf(node), timestamp: summary.node.cpu?.time, window, usage };
}

export function podMetrics(pod: ApiObject, stats: PodStats): ApiObject | undefined {
  const containers = stats.containers.flatMap((container) => {
    const usage = usageOf(container);
    return usage ? [{ name: container.name, usage }] : [];
  });
  // A partial sum would look like low usage.
  if (containers.length === 0 || containers.length < stats.containers.length) return undefined;
  const timestamp = stats.containers[0]?.cpu?.time;
  return { metadata: metadataOf(pod), timestamp, window, containers };
}

function usageOf({
  cpu,
  memory,
}: Pick<ContainerStats, "cpu" | "memory">): { cpu: string; memory: string } | undefined {
  if (cpu?.usageNanoCores === undefined || memory?.workingSetBytes === undefined) return undefined;
  return {
    cpu: `${Math.round(cpu.usageNanoCores)}n`,
    memory: `${Math.floor(memory.workingSetBytes / 1024)}Ki`,
  };
}

function metadataOf({ metadata }: ApiObject): ApiObject["metadata"] {
  const { name, namespace, labels, creationTimestamp } = metadata;
  // Metrics objects have no UID and no resourceVersion.
  return {
    name,
    ...(namespace !== undefined && { namespace }),
    ...(creationTimestamp !== undefined && { creationTimestamp }),
    ...(labels !== undefined && { labels }),
  } as ApiObject["metadata"];
}
