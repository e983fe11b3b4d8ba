import { open, rename, rm } from "node:fs/promises";
import { dirname } from "node:path";
import { makeDirs } from "./make-dirs.ts";

/** Writes a file atomically and durably; its directory is created if needed. */
export async function writeDurably(
  path: string,
  content: string | Uint8Array,
  mode: number,
  draft?: string,
): Promise<void> {
  await makeDirs(dirname(path), 0o755);
  await replaceDurably(path, content, mode, draft);
}

/** The same in an existing directory. The temporary file is in the same directory. */
export async function replaceDurably(
  path: string,
  content: string | Uint8Array,
  mode: number,
  draft = `${path}.new`,
): Promise<void> {
  // A stale one may have other permissions.
  await rm(draft, { force: true });
  const file = await open(draft, "wx", mode);
  try {
    await file.writeFile(content);
    await file.sync();
  } finally {
    await file.close();
  }
  await rename(draft, path);
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
