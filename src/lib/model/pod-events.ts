import type { Pod } from "./pod.ts";

/**
 * Records events of a pod. With the name of a container, the event is about that container. `annotations` are annotations of the event, not
 * of the pod.
 */
export interface PodEvents {
  normal(pod: Pod, reason: string, message: string, container?: string): void;
  warning(
    pod: Pod,
    reason: string,
    message: string,
    container?: string,
    annotations?: Readonly<Record<string, string>>,
  ): void;
}

/** Records events of the node. */
export interface NodeEvents {
  normal(reason: string, message: string): void;
  warning(reason: string, message: string): void;
}
