import type { WallTime } from "../../../lib/base/time.ts";
import type { ContainerId } from "../../../lib/clients/cri/cri.ts";
import { newestContainer, type ObservedPod } from "../../state/observed-pods.ts";

/** The newest container of a probe's target, as observed in the runtime. */
export type TargetState =
  | { kind: "absent" }
  | { kind: "created"; id: ContainerId }
  | { kind: "running"; id: ContainerId; startedAt: WallTime; sandboxCreatedAt: WallTime }
  | { kind: "ended"; id: ContainerId };

export type RunningTarget = TargetState & { kind: "running" };

export const absent: TargetState = { kind: "absent" };

export function targetStateOf(observed: ObservedPod | undefined, name: string): TargetState {
  const newest = newestContainer(observed, name);
  if (!newest) return absent;
  const { id, state, startedAt, sandboxId } = newest;
  const createdAt = observed?.sandboxes.find((s) => s.id === sandboxId)?.createdAt;
  switch (state) {
    case "created":
      return { kind: "created", id };
    case "running":
      return { kind: "running", id, startedAt, sandboxCreatedAt: createdAt ?? startedAt };
    case "exited":
    case "unknown":
      return { kind: "ended", id };
    default:
      return state satisfies never;
  }
}

export function containerIdOf(target: TargetState): ContainerId | undefined {
  return target.kind === "absent" ? undefined : target.id;
}
