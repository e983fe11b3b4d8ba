import type { Clock } from "../../../lib/base/clock.ts";
import { KubeletError } from "../../../lib/base/errors.ts";
import { isSystemdRunning, SystemdClient } from "../../../lib/clients/systemd/systemd-client.ts";
import { type CgroupLayout, cgroupFilesystem } from "../../../lib/host/cgroups/mounted-cgroups.ts";
import { CgroupfsManager, type CgroupManager } from "./cgroup-manager.ts";
import type { CgroupDriver } from "./names.ts";
import { SystemdManager } from "./systemd-manager.ts";

/** The manager for the configured driver. */
export async function createCgroupManager(
  driver: CgroupDriver,
  layout: CgroupLayout,
  clock: Clock,
  isRunning: () => Promise<boolean> = isSystemdRunning,
): Promise<CgroupManager> {
  const filesystem = cgroupFilesystem(layout, { clock });
  if (driver === "cgroupfs") return new CgroupfsManager(filesystem);
  if (await isRunning()) return new SystemdManager(filesystem, new SystemdClient({ clock }));
  throw new KubeletError(
    "NotSupported",
    'cgroupDriver: "systemd": systemd not running on this host, cannot use systemd cgroups manager; ' +
      'set cgroupDriver to "cgroupfs" here and in the container runtime (containerd: SystemdCgroup = false)',
  );
}
