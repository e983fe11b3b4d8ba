import { lstat, readdir } from "node:fs/promises";
import { join } from "node:path";
import { errnoOf } from "../../lib/base/errors.ts";

export interface FileUsage {
  readonly bytes: number;
  readonly files: number;
}

/** The disk usage of the files directly in a directory; undefined if it does not exist. */
export async function usageOfFiles(dir: string): Promise<FileUsage | undefined> {
  let entries: Awaited<ReturnType<typeof list>>;
  try {
    entries = await list(dir);
  } catch (error) {
    if (errnoOf(error) === "ENOENT") return undefined;
    throw error;
  }
  const files = entries.filter((entry) => !entry.isDirectory());
  const sizes = await Promise.all(files.map(({ name }) => usageOfFile(join(dir, name))));
  return {
    bytes: sizes.reduce((sum, size) => sum + (size?.bytes ?? 0), 0),
    files: sizes.filter((size) => size !== undefined).length,
  };
}

export async function usageOfFile(path: string): Promise<FileUsage | undefined> {
  const found = await lstat(path).catch((error: unknown) => {
    if (errnoOf(error) === "ENOENT") return undefined;
    throw error;
  });
  return found && { bytes: found.blocks * 512, files: 1 };
}

function list(dir: string) {
  return readdir(dir, { withFileTypes: true });
}
