import type { WallTime } from "../../../lib/base/time.ts";
import type { ContainerId } from "../../../lib/clients/cri/cri.ts";
import { newestContainer, type ObservedPod } from "../../state/observed-pods.ts";

/** What a probe has to know of its container: is there one, which one, and does it run. */
export type Sight =
  | { kind: "absent" }
  | { kind: "created"; id: ContainerId }
  | { kind: "running"; id: ContainerId; startedAt: WallTime; sandboxCreatedAt: WallTime }
  | { kind: "ended"; id: ContainerId };

export type Running = Sight & { kind: "running" };

export const absent: Sight = { kind: "absent" };

export function sightOf(observed: ObservedPod | undefined, name: string): Sight {
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

export function idOf(sight: Sight): ContainerId | undefined {
  return sight.kind === "absent" ? undefined : sight.id;
}
