import type { Clock } from "../../lib/base/clock.ts";
import type { Logger } from "../../lib/base/logger.ts";
import type { WallTime } from "../../lib/base/time.ts";
import type { RuntimeService, StatsService } from "../../lib/clients/cri/cri.ts";
import type { ImageFsInfoResponse } from "../../lib/gen/runtime/v1/api_pb.js";
import type { CgroupUsageReader } from "../../lib/host/cgroups/usage.ts";
import type { FilesystemSpace } from "../../lib/host/disk-usage.ts";
import type { InterfaceCounters } from "../../lib/host/network-usage.ts";
import type { TaskCounts } from "../../lib/host/process-limits.ts";
import type { Pod, PodUid } from "../../lib/model/pod.ts";
import type { VolumeStat } from "../pods/volumes/manager/volume-stats.ts";
import type { ObservedPod } from "../state/observed-pods.ts";

/** How the machine is inspected; by default the real one. */
export interface StatsHost {
  network(pid: number | "self"): Promise<InterfaceCounters[] | undefined>;
  space(path: string): Promise<FilesystemSpace>;
  tasks(): Promise<TaskCounts>;
  /** The device of the filesystem that a path is on; undefined if there is no such path. */
  device(path: string): Promise<string | undefined>;
}

export interface StatsOptions {
  readonly nodeName: string;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly cgroups: CgroupUsageReader;
  /** Reads the cgroups that eviction decisions depend on, every 10 s. Default: `cgroups`. */
  readonly pressureCgroups?: Pick<CgroupUsageReader, "read">;
  readonly runtime: StatsService &
    Pick<RuntimeService, "podSandboxStatus"> & {
      imageFsInfo(o?: { signal?: AbortSignal; timeoutMs?: number }): Promise<ImageFsInfoResponse>;
    };
  readonly observed: { all(): Iterable<ObservedPod> };
  readonly pod: (uid: PodUid) => Pod | undefined;
  /** The cgroup of a pod; undefined if there is none. */
  readonly cgroupOf: (uid: PodUid) => string | undefined;
  /** The parent cgroup of all pods: "/kubepods". */
  readonly podsCgroup: string;
  /** The cgroups of the agent, the runtime and other system processes, if known. */
  readonly systemCgroups: () => Promise<{
    readonly kubelet?: string;
    readonly runtime?: string;
    readonly misc?: string;
  }>;
  readonly volumes?: { stats(uid: PodUid): Promise<readonly VolumeStat[]> };
  readonly rootDir: string;
  readonly podLogsDir: string;
  readonly machine: { readonly memoryBytes: number; readonly swapBytes: number };
  readonly bootedAt: WallTime;
  readonly startedAt: WallTime;
  /** The KubeletPSI gate. */
  readonly psi: boolean;
  /** The PodAndContainerStatsFromCRI gate. */
  readonly podStatsFromRuntime: boolean;
  /** The runtime is CRI-O. */
  readonly isCrio: boolean;
  readonly host?: StatsHost;
  /** How long results are cached. */
  readonly maxAgeMs?: number;
  /** How long to wait for a second sample of the CPU if the last one is too old to show the current usage; 0: never. */
  readonly secondSampleMs?: number;
}
