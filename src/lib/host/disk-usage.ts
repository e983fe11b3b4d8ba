import type { Stats } from "node:fs";
import { type FileHandle, lstat, statfs } from "node:fs/promises";
import { abortError, errnoOf } from "../base/errors.ts";
import { maxPathLength, namesIn, openShortPath, type RawPath, rawJoin } from "./entries.ts";

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

/** How many files are checked concurrently: enough to keep the thread pool busy, without starving other calls. */
const concurrency = 8;

/**
 * The disk usage of a directory, itself included. It sums allocated blocks, counts a file with several hard links once, and does not
 * enter other filesystems. Files that are removed in the meantime are ignored. Containers choose names and depth: a name may be any bytes,
 * and a tree of any depth is read.
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
  const pending: (RawPath | FileHandle)[] = [Buffer.from(dir)];
  try {
    for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
      if (!Buffer.isBuffer(next)) {
        await next.close(); // its subtree is counted
        continue;
      }
      let directory = next;
      if (directory.length > maxPathLength) {
        const short = await openShortPath(directory).catch(ignoreMissing);
        if (!short) continue;
        pending.push(short.handle);
        directory = short.path;
      }
      for await (const names of unlessGone(namesIn(directory, concurrency))) {
        if (signal?.aborted) throw abortError(signal.reason);
        const paths = names.map((name) => rawJoin(directory, name));
        const stats = await Promise.all(paths.map((path) => lstat(path).catch(ignoreMissing)));
        stats.forEach((stat, index) => {
          if (!stat || stat.dev !== top.dev) return;
          count(stat);
          if (stat.isDirectory()) pending.push(paths[index]!);
        });
      }
    }
  } finally {
    for (const one of pending) if (!Buffer.isBuffer(one)) await one.close();
  }
  return total;
}

async function* unlessGone<T>(names: AsyncGenerator<T>): AsyncGenerator<T> {
  try {
    yield* names;
  } catch (error) {
    ignoreMissing(error);
  }
}

function ignoreMissing(error: unknown): undefined {
  // ENOTDIR, ELOOP: the directory was replaced.
  if (["ENOENT", "ENOTDIR", "ELOOP"].includes(errnoOf(error) ?? "")) return undefined;
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

/** How many bytes the filesystem with this path can hold, used or not. */
export async function filesystemBytes(path: string): Promise<bigint> {
  const { blocks, bsize } = await statfs(path, { bigint: true });
  return blocks * bsize;
}
