import { open, rename, rm } from "node:fs/promises";
import { dirname } from "node:path";
import { makeDirs } from "./make-dirs.ts";

/** Writes a file atomically and durably; its directory is created if needed. */
export async function writeDurably(
  path: string,
  content: string | Uint8Array,
  mode: number,
  tempPath?: string,
): Promise<void> {
  await makeDirs(dirname(path), 0o755);
  await replaceDurably(path, content, mode, tempPath);
}

/** The same in an existing directory. The temporary file is in the same directory. */
export async function replaceDurably(
  path: string,
  content: string | Uint8Array,
  mode: number,
  tempPath = `${path}.new`,
): Promise<void> {
  // A stale temporary file may have other permissions.
  await rm(tempPath, { force: true });
  const file = await open(tempPath, "wx", mode);
  try {
    await file.writeFile(content);
    await file.sync();
  } finally {
    await file.close();
  }
  await rename(tempPath, path);
  await syncDir(dirname(path));
}

/** Makes renames in a directory durable. */
export async function syncDir(path: string): Promise<void> {
  const dir = await open(path, "r");
  try {
    await dir.sync();
  } finally {
    await dir.close();
  }
}
