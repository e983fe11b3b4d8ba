import type { Stats } from "node:fs";
import { lstat, opendir, statfs } from "node:fs/promises";
import { join } from "node:path";
import { abortError, errnoOf } from "../base/errors.ts";

export interface DiskUsage {
  readonly bytes: number;
  readonly inodes: number;
}

export interface FilesystemSpace {
  readonly availableBytes: number;
  readonly capacityBytes: number;
  readonly usedBytes: number;
  readonly inodes: number;
  readonly inodesFree: number;
  readonly inodesUsed: number;
}

/** How many files are looked at together: enough to keep the thread pool busy, not so many that others starve. */
const together = 8;

/**
 * What a folder takes on its disk, itself included: by blocks, each file once whatever its number of names, and not what is on
 * other file systems. Files that go away meanwhile do not count.
 */
export async function diskUsage(dir: string, signal?: AbortSignal): Promise<DiskUsage> {
  const top = await lstat(dir);
  const seen = new Set<number>();
  const total = { bytes: 0, inodes: 0 };
  const count = (stat: Stats) => {
    if (stat.nlink > 1 && !stat.isDirectory()) {
      if (seen.has(stat.ino)) return;
      seen.add(stat.ino);
    }
    total.bytes += stat.blocks * 512;
    total.inodes += 1;
  };
  count(top);
  const open = [dir];
  for (let folder = open.pop(); folder !== undefined; folder = open.pop()) {
    for await (const names of namesOf(folder)) {
      if (signal?.aborted) throw abortError(signal.reason);
      const paths = names.map((name) => join(folder as string, name));
      const stats = await Promise.all(paths.map((path) => lstat(path).catch(goneIsFine)));
      stats.forEach((stat, index) => {
        if (!stat || stat.dev !== top.dev) return;
        count(stat);
        if (stat.isDirectory()) open.push(paths[index]!);
      });
    }
  }
  return total;
}

async function* namesOf(folder: string): AsyncGenerator<string[]> {
  const dir = await opendir(folder).catch(goneIsFine);
  if (!dir) return;
  let names: string[] = [];
  for await (const { name } of dir) {
    names.push(name);
    if (names.length < together) continue;
    yield names;
    names = [];
  }
  if (names.length > 0) yield names;
}

function goneIsFine(error: unknown): undefined {
  if (errnoOf(error) === "ENOENT") return undefined;
  throw error;
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
