import { statfs } from "node:fs/promises";
import type { MountPoints } from "./csi-deps.ts";
import { loadVolumeData, saveVolumeData, type VolumeData } from "./volume-data.ts";

export interface CompletionDeps {
  readonly mounts: MountPoints;
  /** Rejects if the filesystem at the path is dead, such as without its server. */
  readonly checkMount?: ((path: string) => Promise<unknown>) | undefined;
}

/**
 * True if the driver has completed the call that is recorded in `dataDir`, and the volume is still mounted and responsive: then the
 * call need not be repeated, not even after a restart.
 */
export async function isCompleted(
  { mounts, checkMount = (path) => statfs(path) }: CompletionDeps,
  dataDir: string,
  mountPath: string,
  handle: string,
): Promise<boolean> {
  const data = await loadVolumeData(dataDir).catch(() => undefined);
  if (data?.completed !== "true" || data.volumeHandle !== handle) return false;
  if (!(await mounts.isMountPoint(mountPath))) return false;
  return checkMount(mountPath).then(
    () => true,
    () => false,
  );
}

/** Records that the driver is done. If this fails, the call is repeated after a restart, which is no reason to fail. */
export async function markCompleted(dataDir: string): Promise<void> {
  const data = await loadVolumeData(dataDir).catch(() => undefined);
  if (data && data.completed !== "true")
    await saveVolumeData(dataDir, { ...data, completed: "true" }).catch(() => {});
}

/** Call before the driver undoes it: from then on a mount proves nothing. A full disk must not prevent the unmount. */
export async function clearCompleted(dataDir: string, data: VolumeData): Promise<void> {
  const { completed, ...rest } = data;
  if (completed !== undefined) await saveVolumeData(dataDir, rest).catch(() => {});
}
