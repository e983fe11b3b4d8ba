import { statfs } from "node:fs/promises";
import type { MountPoints } from "./csi-deps.ts";
import { loadVolumeData, saveVolumeData, type VolumeData } from "./volume-data.ts";

export interface CompletionDeps {
  readonly mounts: MountPoints;
  /** Rejects if the file system there is dead (its server is gone, for one). */
  readonly checkMount?: ((path: string) => Promise<unknown>) | undefined;
}

/**
 * True if the driver is known to have finished what is noted in `dataDir`, and it is still mounted and well: then it need not be
 * asked again, not even by an agent that began anew.
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

/** Notes that the driver is done. Without the note it is asked once more, which is no reason to fail. */
export async function markCompleted(dataDir: string): Promise<void> {
  const data = await loadVolumeData(dataDir).catch(() => undefined);
  if (data && data.completed !== "true")
    await saveVolumeData(dataDir, { ...data, completed: "true" }).catch(() => {});
}

/** Before the driver is asked to undo it: from then on what is mounted says nothing. A disk that is full does not keep it mounted. */
export async function clearCompleted(dataDir: string, data: VolumeData): Promise<void> {
  const { completed, ...rest } = data;
  if (completed !== undefined) await saveVolumeData(dataDir, rest).catch(() => {});
}
