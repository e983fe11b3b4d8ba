import { open, rename, rm } from "node:fs/promises";
import { dirname } from "node:path";
import { makeDirs } from "./make-dirs.ts";

/** Puts a file in place at once or not at all, whenever the process or the machine ends; its folder is made if need be. */
export async function writeDurably(
  path: string,
  content: string | Uint8Array,
  mode: number,
  draft?: string,
): Promise<void> {
  await makeDirs(dirname(path), 0o755);
  await replaceDurably(path, content, mode, draft);
}

/** The same in a folder that has to be there. The draft is in the same folder. */
export async function replaceDurably(
  path: string,
  content: string | Uint8Array,
  mode: number,
  draft = `${path}.new`,
): Promise<void> {
  // One that was left over may have other permissions.
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

/** Makes sure that what was renamed in a folder stays so. */
export async function syncDir(path: string): Promise<void> {
  const folder = await open(path, "r");
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}
