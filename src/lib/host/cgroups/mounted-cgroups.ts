import type { Clock } from "../../base/clock.ts";
import type { CgroupFilesystem } from "./cgroup-filesystem.ts";
import type { CgroupLayout } from "./layout.ts";
import { CgroupV1 } from "./v1.ts";
import { CgroupV2 } from "./v2.ts";

export { hasSwapAccounting, readHugepageSizes } from "./host-info.ts";
export { type CgroupLayout, checkControllers, detectLayout } from "./layout.ts";

/** The cgroup filesystem of the host. */
export function cgroupFilesystem(layout: CgroupLayout, options: { clock?: Clock } = {}): CgroupFilesystem {
  return layout.version === 1
    ? new CgroupV1({ mounts: layout.mounts, ...options })
    : new CgroupV2({ root: layout.root, ...options });
}
