import type { Pod, PodStatus } from "../../lib/model/pod.ts";
import { isTerminalPhase } from "../../lib/model/pod-phase.ts";
import type { WorkerPhase } from "./pod-sync-status.ts";

/**
 * True if the pod will release its resources: no source has it, its phase is terminal, or its containers are being stopped or have
 * terminated.
 * The status may be final before the worker acts on it.
 */
export function willReleaseResources(pod: {
  readonly desired: Pod | undefined;
  readonly phase: WorkerPhase | undefined;
  readonly status: PodStatus | undefined;
}): boolean {
  const isEnding = pod.phase !== undefined && pod.phase !== "syncing";
  return pod.desired === undefined || isEnding || isTerminalPhase(pod.status?.phase);
}
