import type { Stats } from "node:fs";
import { lstat, statfs } from "node:fs/promises";
import { allDone } from "../base/all-done.ts";
import { abortError } from "../base/errors.ts";
import { isReplaced, OpenDir, visitDirs } from "./open-dir.ts";

export interface DiskUsage {
  readonly bytes: number;
  readonly inodes: number;
}

export interface Counted {
  bytes: number;
  inodes: number;
}

export interface FilesystemSpace {
  readonly availableBytes: number;
  readonly capacityBytes: number;
  readonly usedBytes: number;
  readonly inodes: number;
  readonly inodesFree: number;
  readonly inodesUsed: number;
}

/** How many files are checked concurrently: enough to keep the thread pool busy, without starving other calls. */
const concurrency = 8;

/**
 * The disk usage of a directory, itself included. It sums allocated blocks, counts a file with several hard links once, and does not
 * enter other filesystems. Files that are removed in the meantime are ignored. Containers choose names and depth: a name may be any bytes,
 * and a tree of any depth is read. Links are not followed, not even those that replace a directory in the meantime. `counted` has what is read so far: a
 * container that keeps creating directories may prevent the end.
 */
export async function diskUsage(
  dir: string,
  { signal, counted = { bytes: 0, inodes: 0 } }: { signal?: AbortSignal; counted?: Counted } = {},
): Promise<DiskUsage> {
  const top = await lstat(dir);
  const seen = new Set<number>();
  const count = (stat: Stats) => {
    if (stat.nlink > 1 && !stat.isDirectory()) {
      if (seen.has(stat.ino)) return;
      seen.add(stat.ino);
    }
    counted.bytes += stat.blocks * 512;
    counted.inodes += 1;
  };
  count(top);
  const root = await OpenDir.open(dir, { follow: true }).catch(ignoreReplaced);
  if (!root) return counted;
  const visit = async (directory: OpenDir): Promise<Buffer[]> => {
    const dirs: Buffer[] = [];
    for await (const names of directory.names(concurrency)) {
      if (signal?.aborted) throw abortError(signal.reason);
      const stats = await allDone(names.map((name) => lstat(directory.at(name)).catch(ignoreReplaced)));
      stats.forEach((stat, index) => {
        if (!stat || stat.dev !== top.dev) return;
        count(stat);
        if (stat.isDirectory()) dirs.push(names[index]!);
      });
    }
    return dirs;
  };
  try {
    await visitDirs(root, visit, { crossMounts: false });
  } finally {
    root.close();
  }
  return counted;
}

function ignoreReplaced(error: unknown): undefined {
  if (!isReplaced(error)) throw error;
}

export async function filesystemSpace(path: string): Promise<FilesystemSpace> {
  const { bsize, blocks, bfree, bavail, files, ffree } = await statfs(path);
  return {
    availableBytes: bavail * bsize,
    capacityBytes: blocks * bsize,
    usedBytes: (blocks - bfree) * bsize,
    inodes: files,
    inodesFree: ffree,
    inodesUsed: files - ffree,
  };
}

/** How many bytes the filesystem with this path can hold, used or not. */
export async function filesystemBytes(path: string): Promise<bigint> {
  const { blocks, bsize } = await statfs(path, { bigint: true });
  return blocks * bsize;
}
