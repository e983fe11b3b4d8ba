import { join } from "node:path";
import type { PodUid } from "../../lib/model/pod.ts";
import type { FsStats, PodStats } from "../../lib/model/stats-summary.ts";
import type { FsSpace } from "./filesystems.ts";
import { type FileUsage, usageByDirectory } from "./log-usage.ts";

/** Disk usage of the termination message files of a pod, by container, including the files of earlier starts. */
export function messageFilesOf(rootDir: string, uid: PodUid): Promise<ReadonlyMap<string, FileUsage>> {
  return usageByDirectory(join(rootDir, "pods", uid, "containers"));
}

/**
 * With the termination message files, as logs of their container: a container can write any amount to its file. Only evictions are based on
 * this. The summary does not include these files, as in the reference kubelet.
 */
export function withMessageFiles(
  stats: PodStats,
  messages: ReadonlyMap<string, FileUsage>,
  space: FsSpace,
): PodStats {
  const ephemeral = stats["ephemeral-storage"];
  return {
    ...stats,
    containers: stats.containers.map((container) => {
      const usage = messages.get(container.name);
      return usage
        ? { ...container, logs: added(container.logs ?? { time: container.startTime, ...space }, usage) }
        : container;
    }),
    // All of them: init containers have terminated when the others run.
    ...(ephemeral && { "ephemeral-storage": [...messages.values()].reduce(added, ephemeral) }),
  };
}

function added(fs: FsStats, { bytes, files }: FileUsage): FsStats {
  return { ...fs, usedBytes: (fs.usedBytes ?? 0) + bytes, inodesUsed: (fs.inodesUsed ?? 0) + files };
}
