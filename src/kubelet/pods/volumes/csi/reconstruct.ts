import { basename, join } from "node:path";
import { listDir } from "../../../../lib/host/entries.ts";
import type { FoundSpec, PodVolumeTarget, VolumeSpec } from "../volume-plugin.ts";
import { blockPaths, csiPluginName, globalMountDir } from "./names.ts";
import { loadVolumeData, type VolumeData } from "./volume-data.ts";

/** True for a block device: `<root>/pods/<uid>/volumeDevices/…`. */
export function isBlockTarget({ podUid, dir }: PodVolumeTarget): boolean {
  return dir.includes(`/pods/${podUid}/volumeDevices/`);
}

/** The volume data of the target. */
export function dataAt(rootDir: string, target: PodVolumeTarget): Promise<VolumeData | undefined> {
  if (!isBlockTarget(target)) return loadVolumeData(target.dir);
  return loadVolumeData(blockPaths(rootDir, basename(target.dir), target.podUid).data);
}

/** The part of the spec that is needed to find the device and to tear down the volume. */
export async function reconstructVolume(
  rootDir: string,
  target: PodVolumeTarget,
): Promise<FoundSpec | undefined> {
  const data = await dataAt(rootDir, target);
  if (!data) return undefined;
  const { driverName: driver, volumeHandle, seLinuxMountContext: label } = data;
  const name = data.specVolID ?? basename(target.dir);
  if (data.volumeLifecycleMode === "Ephemeral")
    return { name, volume: { name, csi: { driver } }, readOnly: false };
  const mode = isBlockTarget(target) ? "Block" : "Filesystem";
  return { ...persistentSpec(name, driver, volumeHandle, mode), label };
}

export interface StagedVolume {
  readonly dir: string;
  readonly spec: FoundSpec;
}

/** Volumes that are, or may be, staged, according to their volume data. */
export async function stagedVolumes(rootDir: string): Promise<StagedVolume[]> {
  const base = join(rootDir, "plugins", csiPluginName);
  const staged: StagedVolume[] = [];
  for (const driver of await listDir(base)) {
    if (driver === "volumeDevices") continue;
    for (const volume of await listDir(join(base, driver))) {
      const data = await loadVolumeData(join(base, driver, volume)).catch(() => undefined);
      if (!data) continue;
      const { driverName, volumeHandle, seLinuxMountContext: label } = data;
      const dir = globalMountDir(rootDir, driverName, volumeHandle);
      const spec = { ...persistentSpec(volumeHandle, driverName, volumeHandle, "Filesystem"), label };
      if (dir === join(base, driver, volume, "globalmount")) staged.push({ dir, spec });
    }
  }
  return staged;
}

function persistentSpec(
  name: string,
  driver: string,
  volumeHandle: string,
  mode: "Filesystem" | "Block",
): VolumeSpec {
  return {
    name,
    volume: { name },
    readOnly: false,
    persistent: {
      volumeName: name,
      spec: { csi: { driver, volumeHandle }, volumeMode: mode },
      claim: { namespace: "", name: "", uid: "" },
      mode,
    },
  };
}
