import type { WallTime } from "../../../lib/base/time.ts";
import type { CgroupUsage } from "../../../lib/host/cgroups/usage.ts";
import type { FilesystemSpace } from "../../../lib/host/disk-usage.ts";
import type { InterfaceCounters } from "../../../lib/host/network-usage.ts";
import type { TaskStates } from "../../../lib/host/task-states.ts";

/** One cgroup, its owner, and its counters. */
export interface CgroupRow {
  readonly id: string;
  /** The ID of the container or sandbox, with CRI-O its name; "" if it is neither. */
  readonly name: string;
  readonly image: string;
  readonly namespace: string;
  readonly pod: string;
  readonly container: string;
  /** Milliseconds since the epoch. */
  readonly time: WallTime;
  readonly startedAt: WallTime;
  readonly usage: CgroupUsage;
  readonly network?: readonly InterfaceCounters[];
  readonly processes?: number;
  readonly tasks?: TaskStates;
  readonly openFiles?: number;
  readonly openSockets?: number;
  readonly openFilesLimit?: number;
  /** The writable layer of the container. */
  readonly layer?: {
    readonly device: string;
    readonly usedBytes: number;
    readonly inodesUsed: number;
    readonly space: FilesystemSpace;
  };
}
