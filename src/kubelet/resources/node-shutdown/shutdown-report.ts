import type { WallTime } from "../../../lib/base/time.ts";
import type { ShutdownPeriod } from "./shutdown-groups.ts";
import type { LastShutdown } from "./shutdown-record.ts";

/** The state of graceful shutdown on this node, for explanations. */
export interface ShutdownReport {
  readonly periods: readonly ShutdownPeriod[];
  /** Why a shutdown would not wait for pods; undefined if it would. */
  readonly problem?: string | undefined;
  readonly active?: {
    readonly since: WallTime;
    /** The priority of the group that is terminating; undefined before the first and after the last one. */
    readonly priority?: number;
    /** The pods of this group that have not terminated. */
    readonly waitsFor: readonly string[];
  };
  readonly last?: LastShutdown | undefined;
}
