import { join } from "node:path";
import { listDir } from "../../../../lib/host/entries.ts";
import type { PodUid } from "../../../../lib/model/pod.ts";
import { modeDirs, unescapePlugin, type VolumeMode } from "./layout.ts";

export interface FoundVolume {
  readonly podUid: PodUid;
  readonly volumeMode: VolumeMode;
  readonly plugin: string;
  readonly name: string;
  readonly dir: string;
}

/** All volumes that have a directory. Only names are read: a filesystem that is mounted there may hang. */
export async function findVolumes(rootDir: string): Promise<FoundVolume[]> {
  const pods = join(rootDir, "pods");
  const found = await Promise.all((await listDir(pods)).map((uid) => findPodVolumes(pods, uid as PodUid)));
  return found.flat();
}

async function findPodVolumes(pods: string, podUid: PodUid): Promise<FoundVolume[]> {
  const found: FoundVolume[] = [];
  for (const volumeMode of ["Filesystem", "Block"] as const) {
    const modeDir = join(pods, podUid, modeDirs[volumeMode]);
    for (const escaped of await listDir(modeDir))
      for (const name of await listDir(join(modeDir, escaped)))
        found.push({
          podUid,
          volumeMode,
          plugin: unescapePlugin(escaped),
          name,
          dir: join(modeDir, escaped, name),
        });
  }
  return found;
}
