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

/** All volumes that have a directory. Only names are read: a filesystem that is mounted there may hang. */
export async function findVolumes(rootDir: string): Promise<FoundVolume[]> {
  const pods = join(rootDir, "pods");
  const found = await Promise.all((await listDir(pods)).map((uid) => findPodVolumes(pods, uid as PodUid)));
  return found.flat();
}

async function findPodVolumes(pods: string, podUid: PodUid): Promise<FoundVolume[]> {
  const found: FoundVolume[] = [];
  for (const kind of ["mount", "block"] as const) {
    const kindDir = join(pods, podUid, kindDirs[kind]);
    for (const escaped of await listDir(kindDir))
      for (const name of await listDir(join(kindDir, escaped)))
        found.push({
          podUid,
          kind,
          plugin: unescapePlugin(escaped),
          name,
          dir: join(kindDir, escaped, name),
        });
  }
  return found;
}
