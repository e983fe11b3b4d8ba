import { whenAborted } from "../../../lib/base/abort.ts";
import { type Clock, msFromNow, msUntil, sleep } from "../../../lib/base/clock.ts";
import { earliest, type MonotonicTime } from "../../../lib/base/time.ts";
import { type Pod, type PodUid, podRef } from "../../../lib/model/pod.ts";
import type { PodEvents } from "../../../lib/model/pod-events.ts";
import type { PodFailure } from "../../../lib/model/pod-failure.ts";
import type { ApiStatuses } from "../../pipeline/status-manager/api-statuses.ts";
import { type ShutdownGroup, shutdownGraceSeconds } from "./shutdown-groups.ts";

export interface PodTermination {
  readonly failure: PodFailure;
  readonly graceSeconds: number;
}

export interface TerminationOptions {
  readonly clock: Clock;
  readonly events: PodEvents;
  /** The pod has to be terminated. */
  readonly onTerminate: (uid: PodUid, termination: PodTermination) => void;
  /** `finished`: its volumes are unmounted, too. */
  readonly terminationOf: (uid: PodUid) => "none" | "terminated" | "finished";
  /** Whether the API server has the last status of the pod; always true without one. */
  readonly apiStatuses: Pick<ApiStatuses, "isWritten"> | undefined;
}

const pollMs = 100;
/** The API server may be a pod of this node that has just terminated. */
const writeWithinMs = 2000;
const minKillSeconds = 10;
const message = "Pod was terminated in response to imminent node shutdown.";

/**
 * Terminates the pods of a group. Resolves when all of them have terminated, their volumes are unmounted and their statuses are written, or
 * when the time of the group is over: with the pods that are left then. Rejects when the signal is aborted.
 */
export async function terminateGroup(
  group: ShutdownGroup,
  o: TerminationOptions & { readonly detail: string; readonly signal: AbortSignal },
): Promise<Pod[]> {
  const { clock, terminationOf, signal } = o;
  const end = msFromNow(clock, group.seconds * 1000);
  for (const pod of group.pods) {
    const graceSeconds = shutdownGraceSeconds(pod, group);
    o.onTerminate(pod.metadata.uid, { failure: failureOf(o.detail), graceSeconds });
    reportStuck(pod, graceSeconds, o);
  }
  const unfinished = () => group.pods.filter(({ metadata }) => terminationOf(metadata.uid) !== "finished");
  const isOver = (time: MonotonicTime) => msUntil(clock, time) <= 0;
  while (unfinished().length > 0 && !isOver(end)) await sleep(clock, pollMs, signal);
  const left = unfinished();
  const writeEnd = earliest(end, msFromNow(clock, writeWithinMs));
  const isWritten = () => group.pods.every(({ metadata }) => o.apiStatuses?.isWritten(metadata.uid) ?? true);
  while (left.length === 0 && !isWritten() && !isOver(writeEnd)) await sleep(clock, pollMs, signal);
  return left;
}

/** A pod that outlives its grace period gets an event, even if the shutdown does not wait for it any longer. */
function reportStuck(
  pod: Pod,
  graceSeconds: number,
  o: TerminationOptions & { readonly signal: AbortSignal },
): void {
  const killMs = Math.max(minKillSeconds, graceSeconds + Math.floor(graceSeconds / 2)) * 1000;
  const cancel = o.clock.after(killMs, () => {
    aborted[Symbol.dispose]();
    if (o.terminationOf(pod.metadata.uid) !== "none") return;
    const text = "Container runtime did not kill the pod within specified grace period.";
    o.events.warning(pod, "ExceededGracePeriod", text);
  });
  const aborted = whenAborted(o.signal, cancel);
}

function failureOf(detail: string): PodFailure {
  return {
    phase: "Failed",
    reason: "Terminated",
    message,
    detail,
    conditions: [{ type: "DisruptionTarget", status: "True", reason: "TerminationByKubelet", message }],
  };
}

export function namesOf(pods: readonly Pod[]): string[] {
  return pods.map(podRef);
}
