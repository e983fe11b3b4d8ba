import { closeSync, existsSync, mkdirSync, openSync, readFileSync, writeSync } from "node:fs";
import { mkdir, open, readdir, readFile, rmdir } from "node:fs/promises";
import { basename } from "node:path";
import { errnoOf } from "../../base/errors.ts";

/** Operations on a cgroup filesystem. */
export interface CgroupFiles {
  read(file: string): Promise<string>;
  /** Fails with ENOENT if the file does not exist: only the kernel creates these files. */
  write(file: string, text: string): Promise<void>;
  /** Creates one directory; an existing one is not an error. */
  mkdir(dir: string): Promise<void>;
  rmdir(dir: string): Promise<void>;
  exists(dir: string): boolean;
  /** Names of subdirectories; none if the directory is absent. */
  dirs(dir: string): Promise<string[]>;
}

export const hostCgroupFiles: CgroupFiles = {
  read: (file) => readFile(file, "utf8"),
  async write(file, text) {
    const handle = await open(file, "r+").catch((error: unknown) => {
      // Files such as cgroup.kill may only be written.
      if (errnoOf(error) === "EACCES") return open(file, "w");
      throw error;
    });
    try {
      await handle.write(text);
    } finally {
      await handle.close();
    }
  },
  async mkdir(dir) {
    try {
      await mkdir(dir, { mode: 0o755 });
    } catch (error) {
      if (errnoOf(error) !== "EEXIST") throw error;
    }
  },
  rmdir,
  // A lookup in memory.
  exists: existsSync,
  async dirs(dir) {
    try {
      const entries = await readdir(dir, { withFileTypes: true });
      return entries.filter((entry) => entry.isDirectory()).map((entry) => entry.name);
    } catch (error) {
      if (isGone(error)) return [];
      throw error;
    }
  },
};

/** A write to these does not wait. One to memory.max, for example, may wait until memory is reclaimed. */
const quickFiles = /^(cpu|cpuset|pids|hugetlb)\./;

/**
 * Reads, creates directories and sets most limits without the thread pool: a fifth of the CPU time for a few small files, and it blocks
 * the agent as long as the kernel takes.
 */
export const directCgroupFiles: CgroupFiles = {
  ...hostCgroupFiles,
  read: async (file) => readFileSync(file, "utf8"),
  async write(file, text) {
    if (!quickFiles.test(basename(file))) return hostCgroupFiles.write(file, text);
    const fd = openSync(file, "r+");
    try {
      writeSync(fd, text);
    } finally {
      closeSync(fd);
    }
  },
  async mkdir(dir) {
    try {
      mkdirSync(dir, 0o755);
    } catch (error) {
      if (errnoOf(error) !== "EEXIST") throw error;
    }
  },
};

/** The kernel returns ENODEV for files of a cgroup that is being removed. */
export function isGone(error: unknown): boolean {
  const code = errnoOf(error);
  return code === "ENOENT" || code === "ENODEV";
}
