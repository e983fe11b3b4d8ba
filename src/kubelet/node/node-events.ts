import type { NodeEvents } from "../../lib/model/pod-events.ts";

/** An event about the node, recorded when its status is computed. */
export interface NodeEvent {
  type: "Normal" | "Warning";
  reason: string;
  message: string;
}

/** For a change of the node status, e.g. "NodeReady". */
export function statusEvent(node: string, reason: string): NodeEvent {
  return { type: "Normal", reason, message: `Node ${node} status is now: ${reason}` };
}

/** The events that a kubelet records at startup. */
export function startEvents(host: { cgroupVersion: 1 | 2 }): NodeEvent[] {
  const starting: NodeEvent = { type: "Normal", reason: "Starting", message: "Starting kubelet." };
  if (host.cgroupVersion === 2) return [starting];
  const message =
    "cgroup v1 detected. cgroup v1 support is deprecated and will be removed in a future release. " +
    "Please migrate to cgroup v2. More information at https://git.k8s.io/enhancements/keps/sig-node/5573-remove-cgroup-v1";
  return [starting, { type: "Warning", reason: "CgroupV1", message }];
}

export function record(events: NodeEvents, list: readonly NodeEvent[]): void {
  for (const { type, reason, message } of list) {
    if (type === "Warning") events.warning(reason, message);
    else events.normal(reason, message);
  }
}
