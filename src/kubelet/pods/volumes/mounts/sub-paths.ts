import { lstat, open, rmdir, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { errnoOf } from "../../../../lib/base/errors.ts";
import { makeDirsBeneath, type OpenedFile, openBeneath, openRoot } from "../../../../lib/host/beneath.ts";
import { listDir } from "../../../../lib/host/entries.ts";
import { makeDirs } from "../../../../lib/host/make-dirs.ts";
import type { Mounts } from "../../../../lib/host/mounts.ts";
import { removeEntry } from "../../../../lib/host/remove-tree.ts";
import type { PodUid } from "../../../../lib/model/pod.ts";

export interface SubPathsOptions {
  readonly rootDir: string;
  readonly mounts: Pick<Mounts, "bind" | "unmount" | "isMountPoint" | "list">;
}

export interface SubPathRequest {
  readonly podUid: PodUid;
  /** The name of the volume's directory. */
  readonly volume: string;
  readonly volumePath: string;
  readonly container: string;
  /** The index in the volumeMounts of the container. */
  readonly index: number;
  /** Relative, without "..". */
  readonly subPath: string;
}

/**
 * subPaths of volumes. Containers can change names in a volume at any time: the subPath is opened once, by a call in which the kernel
 * does not resolve paths outside the volume, and the opened file is bind-mounted to a path that containers cannot reach. The runtime gets that path.
 */
export class SubPaths {
  readonly #o: SubPathsOptions;

  constructor(options: SubPathsOptions) {
    this.#o = options;
  }

  /** Resolves with `<pod>/volume-subpaths/<volume>/<container>/<index>`, where the subPath is mounted. */
  async prepare(request: SubPathRequest): Promise<string> {
    const { podUid, volume, container, index } = request;
    const target = join(this.#dirOf(podUid), volume, container, String(index));
    const root = await openRoot(request.volumePath);
    try {
      const part = await openOrCreate(root, request.subPath);
      try {
        await this.#bind(part, target);
      } finally {
        part.close();
      }
    } finally {
      root.close();
    }
    return target;
  }

  /** Unmounts all subPaths of a volume of the pod. */
  async clean(podUid: PodUid, volume: string): Promise<void> {
    const dir = join(this.#dirOf(podUid), volume);
    for (const container of await listDir(dir)) {
      for (const index of await listDir(join(dir, container))) {
        const path = join(dir, container, index);
        await this.#o.mounts.unmount(path);
        await removeEntry(path);
      }
      await removeEntry(join(dir, container));
    }
    await removeEntry(dir);
    await rmdir(this.#dirOf(podUid)).catch(() => {}); // unless other volumes have subPaths
  }

  #dirOf(podUid: PodUid): string {
    return join(this.#o.rootDir, "pods", podUid, "volume-subpaths");
  }

  async #bind(part: OpenedFile, target: string): Promise<void> {
    const { mounts } = this.#o;
    if (await mounts.isMountPoint(target)) {
      const existing = await lstat(target);
      // Already mounted, after a restart of the container or the agent.
      if (existing.dev === part.dev && existing.ino === part.ino) return;
      await mounts.unmount(target);
    }
    await createTarget(target, part.isDirectory);
    try {
      await mounts.bind(part.path, target);
    } catch (error) {
      await removeEntry(target);
      throw error;
    }
  }
}

async function openOrCreate(root: OpenedFile, subPath: string): Promise<OpenedFile> {
  try {
    return await openBeneath(root, subPath);
  } catch (error) {
    if (errnoOf(error) !== "ENOENT") throw error;
    // The directory gets the mode of the volume, so that the fsGroup can write to it, too.
    const { mode } = await stat(root.path);
    return makeDirsBeneath(root, subPath, mode & 0o7777);
  }
}

async function createTarget(target: string, isDirectory: boolean): Promise<void> {
  await makeDirs(dirname(target), 0o750);
  const existing = await lstat(target).catch(() => undefined);
  if (existing && existing.isDirectory() !== isDirectory) await removeEntry(target);
  if (isDirectory) await makeDirs(target, 0o750);
  else await (await open(target, "a", 0o640)).close(); // a file is a valid target for anything but a directory
}
