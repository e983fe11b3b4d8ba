import type { Summary } from "../../lib/model/stats-summary.ts";

/** A summary of CPU, memory and swap only has no statistics of I/O. */
export function withoutIo({ node, pods }: Summary): Summary {
  return {
    node: {
      ...drop(node),
      ...(node.systemContainers && { systemContainers: node.systemContainers.map(drop) }),
    },
    pods: pods.map((pod) => ({ ...drop(pod), containers: pod.containers.map(drop) })),
  };
}

function drop<T extends { readonly io?: unknown }>({ io: _, ...rest }: T): Omit<T, "io"> {
  return rest;
}
