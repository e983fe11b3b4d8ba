import type { ContainerState } from "../../../lib/model/pod.ts";
import type { ObservedContainer } from "../../state/observed-pods.ts";
import { isoSeconds, noTime, type Terminated, timeOrNull } from "./api-types.ts";

/** What all termination messages of a pod together may be, in bytes. */
const maxMessagesBytes = 12 * 1024;
const killed = 137;

const reasonUnknown = "ContainerStatusUnknown";
export const reasonRestartingAll = "RestartingAllContainers";
const notLocated = "The container could not be located when the pod was terminated";
const vanishedMessage =
  "The container could not be located when the pod was deleted.  The container used to be Running";
const removedForAll = "The container is removed because RestartAllContainers in place";
const lostInit =
  "Unable to get init container status from container runtime and pod has been initialized, treat it as exited normally";

/** Ended without anybody seeing how. */
export function unobservedTermination(restartingAll: boolean): Terminated {
  return without(restartingAll ? reasonRestartingAll : reasonUnknown, notLocated, killed);
}

/** Ran when last seen, and is not in the runtime any more. */
export function vanished(): Terminated {
  return without(reasonUnknown, vanishedMessage, killed);
}

export function removedForRestartAll(): { waiting: { reason: string; message: string }; last: Terminated } {
  return {
    waiting: { reason: reasonRestartingAll, message: removedForAll },
    last: without(reasonRestartingAll, removedForAll, killed),
  };
}

/** An init container that is gone, in a pod that has got beyond it. */
export function completedInit(): Terminated {
  return without("Completed", lostInit, 0);
}

function without(reason: string, message: string, exitCode: number): Terminated {
  return { exitCode, reason, message, startedAt: noTime, finishedAt: noTime };
}

export interface StateOptions {
  runtimeName: string;
  messageBytes: number;
  /** The reason to give for one that is not running yet. */
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
  const message = cutBytes(container.message, o.messageBytes);
  return {
    exitCode: container.exitCode,
    reason: container.reason || (container.exitCode === 0 ? "Completed" : "Error"),
    ...(message ? { message } : {}),
    startedAt: timeOrNull(container.startedAt),
    finishedAt: timeOrNull(container.finishedAt),
    containerID: `${o.runtimeName}://${container.id}`,
  };
}

/** Each container of a pod gets the same share of what all messages may be. */
export function messageShare(containers: number): number {
  return Math.floor(maxMessagesBytes / Math.max(containers, 1));
}

function cutBytes(text: string, bytes: number): string {
  const all = Buffer.from(text);
  if (all.length <= bytes) return text;
  // A decoder that waits for more leaves out a character that was cut in two.
  return new TextDecoder().decode(all.subarray(0, bytes), { stream: true });
}
