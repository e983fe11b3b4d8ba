import { join } from "node:path";
import { errnoOf } from "../../base/errors.ts";
import type { CgroupPath } from "./cgroup-filesystem.ts";
import { type CgroupFiles, hostCgroupFiles } from "./files.ts";
import type { CgroupLayout } from "./layout.ts";
import { checkPath, readPids } from "./tree.ts";

/** Which processes are in which cgroup. */
export interface CgroupMembership {
  /** Processes that are in no cgroup but the root. */
  rootProcesses(): Promise<number[]>;
  /**
   * Moves a process with all of its threads into a cgroup, in every hierarchy. The cgroup must exist. A process that has exited
   * in the meantime is ignored.
   */
  attach(path: CgroupPath, pid: number): Promise<void>;
}

export function cgroupMembership(
  layout: CgroupLayout,
  files: CgroupFiles = hostCgroupFiles,
): CgroupMembership {
  const mounts = layout.version === 2 ? [layout.root] : [...v1Mounts(layout.mounts)];
  // On v1 a process may be in the root of one hierarchy and below the root of another. The devices hierarchy decides, as in the reference kubelet.
  const main = layout.version === 2 ? layout.root : (layout.mounts.get("devices") ?? mounts[0]);
  return {
    rootProcesses: async () => (main === undefined ? [] : readPids(files, main)),
    async attach(path, pid) {
      if (path !== "/") checkPath(path);
      const results = await Promise.allSettled(
        mounts.map((mount) => files.write(join(mount, path, "cgroup.procs"), String(pid))),
      );
      const failed = results.find((r) => r.status === "rejected" && errnoOf(r.reason) !== "ESRCH");
      if (failed?.status === "rejected") throw failed.reason;
    },
  };
}

/** The unified hierarchy of a hybrid host has no controllers, and nothing is accounted there. */
function v1Mounts(mounts: ReadonlyMap<string, string>): Set<string> {
  return new Set([...mounts].filter(([name]) => name !== "unified").map(([, mount]) => mount));
}
