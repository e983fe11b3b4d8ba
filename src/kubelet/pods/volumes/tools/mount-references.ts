import { join } from "node:path";
import { KubeletError } from "../../../../lib/base/errors.ts";
import type { MountPoint } from "../../../../lib/host/mount-table.ts";

/** Places in pods where the same part of the same file system is mounted as at this path. */
function podMountsOf(mounts: readonly MountPoint[], path: string, rootDir: string): string[] {
  const own = mounts.findLast((mount) => mount.path === path);
  if (!own) return [];
  const pods = `${join(rootDir, "pods")}/`;
  return mounts
    .filter(
      ({ device, root, path: other }) => device === own.device && root === own.root && other.startsWith(pods),
    )
    .map((mount) => mount.path);
}

/** The node's mount must not go, and the disk below it even less, while a pod has it. */
export function refuseWhileMounted(mounts: readonly MountPoint[], path: string, rootDir: string): void {
  const others = podMountsOf(mounts, path, rootDir);
  if (others.length === 0) return;
  const message = `the device mount path "${path}" is still mounted by other references [${others.join(" ")}]`;
  throw new KubeletError("VolumeInUse", message);
}
