import type { Dirent } from "node:fs";
import { lstat, readdir } from "node:fs/promises";
import { join } from "node:path";
import { errnoOf } from "../../lib/base/errors.ts";

export interface FileUsage {
  readonly bytes: number;
  readonly files: number;
}

/** The disk usage of the files directly in a directory; undefined if it does not exist. */
export async function usageOfFiles(dir: string): Promise<FileUsage | undefined> {
  const entries = await list(dir);
  if (!entries) return undefined;
  const files = entries.filter((entry) => !entry.isDirectory());
  const sizes = await Promise.all(files.map(({ name }) => usageOfFile(join(dir, name))));
  return {
    bytes: sizes.reduce((sum, size) => sum + (size?.bytes ?? 0), 0),
    files: sizes.filter((size) => size !== undefined).length,
  };
}

/** The same for each directory in a directory, by name. */
export async function usageByDirectory(parent: string): Promise<ReadonlyMap<string, FileUsage>> {
  const names = ((await list(parent)) ?? []).filter((e) => e.isDirectory()).map(({ name }) => name);
  const usages = await Promise.all(names.map((name) => usageOfFiles(join(parent, name))));
  return new Map(names.map((name, index) => [name, usages[index] ?? { bytes: 0, files: 0 }]));
}

export async function usageOfFile(path: string): Promise<FileUsage | undefined> {
  const found = await lstat(path).catch((error: unknown) => {
    if (errnoOf(error) === "ENOENT") return undefined;
    throw error;
  });
  return found && { bytes: found.blocks * 512, files: 1 };
}

/** Undefined if the directory does not exist. */
function list(dir: string): Promise<Dirent[] | undefined> {
  return readdir(dir, { withFileTypes: true }).catch((error: unknown) => {
    if (errnoOf(error) === "ENOENT") return undefined;
    throw error;
  });
}
