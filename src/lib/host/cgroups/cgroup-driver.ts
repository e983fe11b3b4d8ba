import type { Clock } from "../../base/clock.ts";
import type { CgroupDriver } from "./driver.ts";
import type { CgroupLayout } from "./layout.ts";
import { CgroupV1 } from "./v1.ts";
import { CgroupV2 } from "./v2.ts";

export { hasSwapAccounting, readHugepageSizes } from "./host-info.ts";
export { type CgroupLayout, checkControllers, detectLayout } from "./layout.ts";

/** The driver for the host's hierarchies. */
export function cgroupDriver(layout: CgroupLayout, options: { clock?: Clock } = {}): CgroupDriver {
  return layout.version === 1
    ? new CgroupV1({ mounts: layout.mounts, ...options })
    : new CgroupV2({ root: layout.root, ...options });
}
