import type { Objects } from "../../../definition.ts";

const copied = ["topology.kubernetes.io/zone", "topology.kubernetes.io/region"];

/** The topology labels that a pod gets from its node. */
export async function topologyLabels(nodeName: string, objects: Objects): Promise<Record<string, string>> {
  const node = await objects.get({ resource: "nodes", namespace: "", name: nodeName });
  const labels = (node?.metadata.labels ?? {}) as Record<string, string>;
  return Object.fromEntries(Object.entries(labels).filter(([key]) => copied.includes(key)));
}
