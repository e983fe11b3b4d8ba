import { readFile, rm, rmdir } from "node:fs/promises";
import { basename, join } from "node:path";
import { errnoOf } from "../../../../lib/base/errors.ts";
import { replaceDurably } from "../../../../lib/host/durable-file.ts";
import { listDir } from "../../../../lib/host/entries.ts";
import { makeDirs } from "../../../../lib/host/make-dirs.ts";
import { checkDisk } from "./check-disk.ts";
import { diskFromDir, type IscsiDisk, pluginDir } from "./iscsi-disk.ts";

const fileName = "iscsi.json";

/** Saves what is needed to detach the disk, in the directory of its mount: the mount hides the file. */
export async function saveDisk(dir: string, disk: IscsiDisk): Promise<void> {
  await makeDirs(dir, 0o750);
  const path = join(dir, fileName);
  await replaceDurably(path, `${JSON.stringify({ ...disk, MetricsProvider: null })}\n`, 0o644, `${path}.tmp`);
}

export async function loadDisk(dir: string): Promise<IscsiDisk | undefined> {
  try {
    const disk = JSON.parse(await readFile(join(dir, fileName), "utf8")) as Partial<IscsiDisk>;
    if (disk.Iqn && disk.Portals?.length) {
      checkDisk(disk as IscsiDisk);
      return disk as IscsiDisk;
    }
  } catch {
    // Corrupt, or of another version: the directory's name contains most of it.
  }
  return diskFromDir(dir, "");
}

export async function removeDiskDir(dir: string): Promise<void> {
  for (const name of [fileName, `${fileName}.tmp`]) await rm(join(dir, name), { force: true });
  await rmdir(dir).catch((error) => {
    if (errnoOf(error) !== "ENOENT") throw error;
  });
}

/** Directories of all disks that are, or may be, mounted. */
export async function diskDirs(
  rootDir: string,
  mode: "Filesystem" | "Block" = "Filesystem",
): Promise<string[]> {
  const base = pluginDir(rootDir, mode);
  const ifaces = (await listDir(base)).filter((name) => name.startsWith("iface-"));
  const dirs = ifaces.map(async (iface) =>
    (await listDir(join(base, iface))).map((name) => join(base, iface, name)),
  );
  return (await Promise.all(dirs)).flat();
}

/** The number of disks of the target with a directory on this node. */
export async function disksInUse(rootDir: string, { Portals, Iqn }: IscsiDisk): Promise<number> {
  const prefix = `${Portals[0]}-${Iqn}`;
  const dirs = [...(await diskDirs(rootDir)), ...(await diskDirs(rootDir, "Block"))];
  return dirs.filter((dir) => basename(dir).startsWith(prefix)).length;
}
