import { KubeletError } from "../../../lib/base/errors.ts";
import type { CgroupManager } from "./cgroup-manager.ts";
import type { CgroupName } from "./names.ts";

/**
 * Fails unless the cgroup exists with the controllers that pods need: without them it would accept no limits, and every check would
 * report it as missing. On cgroup v2 controllers are often missing: systemd does not delegate hugetlb, and a cgroup with processes cannot
 * delegate memory, as in many containers.
 */
export async function checkCgroup(manager: CgroupManager, name: CgroupName, title: string): Promise<void> {
  const missing = await manager.missingControllers(name);
  if (missing?.length === 0) return;
  const why =
    manager.version === 2
      ? " (the parent cgroup has to enable them in cgroup.subtree_control, which a cgroup other than the root can only do while it has no processes)"
      : "";
  throw new KubeletError(
    "InvalidCgroup",
    missing ? `${title} has some missing controllers: ${missing.join(", ")}${why}` : `${title} doesn't exist`,
  );
}
