import { join } from "node:path";
import { KubeletError } from "../../../../lib/base/errors.ts";
import type { MountPoint } from "../../../../lib/host/mount-table.ts";

/** Mount points in pods with the same root of the same filesystem as this path. */
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

/** Throws while pods use the device mount: neither it nor the disk may be removed. */
export function rejectWhileMounted(mounts: readonly MountPoint[], path: string, rootDir: string): void {
  const others = podMountsOf(mounts, path, rootDir);
  if (others.length === 0) return;
  const message = `the device mount path "${path}" is still mounted by other references [${others.join(" ")}]`;
  throw new KubeletError("VolumeInUse", message);
}
