import type { ContainerState } from "../../../lib/model/pod.ts";
import type { ObservedContainer } from "../../state/observed-pods.ts";
import { isoSeconds, noTime, type Terminated, timeOrNull } from "./api-types.ts";

/** The limit for all termination messages of a pod together. */
const maxMessagesBytes = 12 * 1024;
/** The limit for the message of a container that waits, which may contain what a hook, a registry or the runtime wrote. */
const maxWaitingBytes = 32 * 1024;
const killed = 137;

const reasonUnknown = "ContainerStatusUnknown";
export const reasonRestartingAll = "RestartingAllContainers";
const notLocated = "The container could not be located when the pod was terminated";
const lostMessage =
  "The container could not be located when the pod was deleted.  The container used to be Running";
const removedForRestartAllMessage = "The container is removed because RestartAllContainers in place";
const lostInit =
  "Unable to get init container status from container runtime and pod has been initialized, treat it as exited normally";

/** A termination that was not observed. */
export function unobservedTermination(restartingAll: boolean): Terminated {
  return terminatedAs(restartingAll ? reasonRestartingAll : reasonUnknown, notLocated, killed);
}

/** A container that was running when last observed, and is no longer in the runtime. */
export function lostWhileRunning(): Terminated {
  return terminatedAs(reasonUnknown, lostMessage, killed);
}

export function removedForRestartAll(): { waiting: { reason: string; message: string }; last: Terminated } {
  return {
    waiting: { reason: reasonRestartingAll, message: removedForRestartAllMessage },
    last: terminatedAs(reasonRestartingAll, removedForRestartAllMessage, killed),
  };
}

/** An init container that is no longer in the runtime, in an initialized pod. */
export function completedInit(): Terminated {
  return terminatedAs("Completed", lostInit, 0);
}

function terminatedAs(reason: string, message: string, exitCode: number): Terminated {
  return { exitCode, reason, message, startedAt: noTime, finishedAt: noTime };
}

export interface StateOptions {
  runtimeName: string;
  messageBytes: number;
  /** The waiting reason of a container that has not started yet. */
  startingReason: string;
}

export function stateOf(container: ObservedContainer, o: StateOptions): ContainerState {
  switch (container.state) {
    case "running":
      return { running: { startedAt: isoSeconds(container.startedAt) } };
    case "exited":
      return { terminated: terminated(container, o) };
    case "created":
    case "unknown":
      return { waiting: { reason: o.startingReason } };
    default:
      return container.state satisfies never;
  }
}

function terminated(container: ObservedContainer, o: StateOptions): Terminated {
  const message = truncateBytes(container.message, o.messageBytes);
  return {
    exitCode: container.exitCode,
    reason: container.reason || (container.exitCode === 0 ? "Completed" : "Error"),
    ...(message ? { message } : {}),
    startedAt: timeOrNull(container.startedAt),
    finishedAt: timeOrNull(container.finishedAt),
    containerID: `${o.runtimeName}://${container.id}`,
  };
}

/** Each container of a pod gets the same share of the limit. */
export function messageShare(containers: number): number {
  return Math.floor(maxMessagesBytes / Math.max(containers, 1));
}

/** The state of a container that the worker has not started yet. */
export function waitingState(reason: string, message: string | undefined): ContainerState {
  const text = message === undefined ? undefined : truncateBytes(message, maxWaitingBytes);
  return { waiting: { reason, ...(text !== undefined && { message: text }) } };
}

function truncateBytes(text: string, bytes: number): string {
  const all = Buffer.from(text);
  if (all.length <= bytes) return text;
  // In stream mode the decoder omits a truncated character.
  return new TextDecoder().decode(all.subarray(0, bytes), { stream: true });
}
