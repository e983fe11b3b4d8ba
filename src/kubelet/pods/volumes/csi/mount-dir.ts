import { rmdir } from "node:fs/promises";
import { dirname } from "node:path";
import { errnoOf, KubeletError, messageOf } from "../../../../lib/base/errors.ts";
import type { MountPoints } from "./csi-deps.ts";
import { csiText } from "./csi-failure.ts";
import { removeVolumeData } from "./volume-data.ts";

/**
 * Removes the mount path, the volume data next to it, and the directory of both, but nothing below a mount and no other files. True if
 * everything is removed.
 */
export async function removeMountDir(mounts: MountPoints, mountPath: string): Promise<boolean> {
  if (await mounts.isMountPoint(mountPath)) return false;
  const dir = dirname(mountPath);
  await removeDir(mountPath);
  await removeVolumeData(dir);
  await removeDir(dir);
  return true;
}

export async function removeDir(path: string): Promise<void> {
  try {
    await rmdir(path);
  } catch (error) {
    if (errnoOf(error) === "ENOENT") return;
    const message = csiText(`failed to remove dir [${path}]: ${messageOf(error)}`);
    throw new KubeletError("CsiVolume", message, { cause: error });
  }
}
