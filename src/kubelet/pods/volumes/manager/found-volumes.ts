import { join } from "node:path";
import { listDir } from "../../../../lib/host/entries.ts";
import type { PodUid } from "../../../../lib/model/pod.ts";
import { kindDirs, unescapePlugin, type VolumeKind } from "./layout.ts";

export interface FoundVolume {
  readonly podUid: PodUid;
  readonly kind: VolumeKind;
  readonly plugin: string;
  readonly name: string;
  readonly dir: string;
}

/** All volumes that have a folder. Only names are read: what is mounted there may not answer. */
export async function findVolumes(rootDir: string): Promise<FoundVolume[]> {
  const pods = join(rootDir, "pods");
  const found = await Promise.all((await listDir(pods)).map((uid) => findPodVolumes(pods, uid as PodUid)));
  return found.flat();
}

async function findPodVolumes(pods: string, podUid: PodUid): Promise<FoundVolume[]> {
  const found: FoundVolume[] = [];
  for (const kind of ["mount", "block"] as const) {
    const folder = join(pods, podUid, kindDirs[kind]);
    for (const escaped of await listDir(folder))
      for (const name of await listDir(join(folder, escaped)))
        found.push({
          podUid,
          kind,
          plugin: unescapePlugin(escaped),
          name,
          dir: join(folder, escaped, name),
        });
  }
  return found;
}
