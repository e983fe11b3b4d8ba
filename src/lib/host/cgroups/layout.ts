import { readFile } from "node:fs/promises";
import { KubeletError } from "../../base/errors.ts";
import { parseMountinfo } from "../mount-table.ts";

/** How the host's cgroup hierarchies are mounted. */
export type CgroupLayout =
  | {
      readonly version: 1;
      /** The mount point of each controller: "cpu" -> "/sys/fs/cgroup/cpu". "systemd" and "unified" control nothing. */
      readonly mounts: ReadonlyMap<string, string>;
    }
  | { readonly version: 2; readonly root: string };

const v1Controllers = new Set([
  "blkio",
  "cpu",
  "cpuacct",
  "cpuset",
  "devices",
  "freezer",
  "hugetlb",
  "memory",
  "misc",
  "net_cls",
  "net_prio",
  "perf_event",
  "pids",
  "rdma",
]);

const unifiedMount = "/sys/fs/cgroup";
const hybridMount = "/sys/fs/cgroup/unified";

export async function detectLayout(mountinfo = "/proc/self/mountinfo"): Promise<CgroupLayout> {
  return parseLayout(await readFile(mountinfo, "utf8"));
}

/**
 * A host with any controller on v1 is a v1 host, even with an additional cgroup2 mount (hybrid): the controllers that pods
 * need are then not in the unified hierarchy.
 */
export function parseLayout(mountinfo: string): CgroupLayout {
  const mounts = new Map<string, string>();
  const unified: string[] = [];
  for (const { path, fsType, options } of parseMountinfo(mountinfo)) {
    if (fsType === "cgroup2") unified.push(path);
    if (fsType === "cgroup")
      for (const controller of controllersIn(options)) keepShortest(mounts, controller, path);
  }
  if (!unified.includes(unifiedMount) && [...mounts.keys()].some((name) => v1Controllers.has(name))) {
    // Runtimes put the containers of a hybrid host into the unified hierarchy too, so pods have a directory there to clean up.
    const hybrid = unified.includes(hybridMount) ? hybridMount : unified[0];
    if (hybrid !== undefined) mounts.set("unified", hybrid);
    return { version: 1, mounts };
  }
  const root = unified.includes(unifiedMount) ? unifiedMount : unified[0];
  if (root === undefined) {
    throw new KubeletError("NotSupported", "no cgroup hierarchy is mounted: neither cgroup v1 nor v2");
  }
  return { version: 2, root };
}

/** The controllers without which no pod can be limited. On v2 a cgroup is checked for the controllers that it gets. */
const required = ["cpu", "cpuacct", "cpuset", "memory"];

/** Fails on a v1 host without a controller that every pod needs, and names all that are missing. */
export function checkControllers(layout: CgroupLayout): void {
  if (layout.version === 2) return;
  const missing = required.filter((name) => !layout.mounts.has(name));
  if (missing.length > 0)
    throw new KubeletError(
      "NotSupported",
      `system validation failed - Following Cgroup subsystem not mounted: [${missing.join(" ")}]`,
    );
}

function controllersIn(options: readonly string[]): string[] {
  return options.flatMap((option) => {
    if (option === "name=systemd") return ["systemd"];
    return v1Controllers.has(option) ? [option] : [];
  });
}

/** A hierarchy may be mounted in several places; the shortest path is the same on every start. */
function keepShortest(mounts: Map<string, string>, controller: string, mountPoint: string): void {
  const old = mounts.get(controller);
  if (old === undefined || mountPoint.length < old.length) mounts.set(controller, mountPoint);
}
