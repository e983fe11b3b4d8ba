import { constants } from "node:fs";
import { type FileHandle, open, readdir, realpath, stat } from "node:fs/promises";
import { join, sep } from "node:path";
import { errnoOf, KubeletError } from "../../../lib/base/errors.ts";
import { type OpenedFile, openBeneath, openRoot } from "../../../lib/host/beneath.ts";

export type DirEntry =
  | { readonly kind: "file"; readonly file: FileHandle; readonly size: number; readonly modified: Date }
  | { readonly kind: "directory"; readonly names: readonly string[]; readonly modified: Date };

/** True if there is no such file, or it must not be served. */
export function isNotFound(error: unknown): boolean {
  return ["ENOENT", "ENOTDIR", "ELOOP", "ENAMETOOLONG"].includes(errnoOf(error) ?? "");
}

/**
 * Opens a path below a directory. The kernel ensures that no link leads out, even if one is created
 * in the meantime; and nothing but files and directories is opened: a pipe would block, a device might have side effects.
 */
export async function openEntry(dir: string, path: string): Promise<DirEntry> {
  const root = await openRoot(dir);
  try {
    const found = await openInside(root, dir, path);
    try {
      return await entryOf(found);
    } finally {
      found.close();
    }
  } finally {
    root.close();
  }
}

async function openInside(root: OpenedFile, dir: string, path: string): Promise<OpenedFile> {
  const relative = path.replace(/^\/+/, "") || ".";
  if (relative.includes("\0")) throw new KubeletError("ENOENT", "the path contains a NUL byte");
  try {
    return await openBeneath(root, relative);
  } catch (error) {
    if (errnoOf(error) !== "EXDEV") throw error;
  }
  // A link with an absolute path may still point inside. Its target is opened with the same restriction.
  const base = await realpath(dir);
  const target = await realpath(join(base, relative));
  if (!target.startsWith(base.endsWith(sep) ? base : base + sep)) throw escapes();
  return await openBeneath(root, target.slice(base.length).replace(/^\/+/, "")).catch((error) => {
    throw errnoOf(error) === "EXDEV" ? escapes() : error;
  });
}

function escapes(): KubeletError {
  return new KubeletError("EXDEV", "path escapes from parent");
}

async function entryOf({ path }: OpenedFile): Promise<DirEntry> {
  const found = await stat(path);
  const modified = found.mtime;
  if (found.isDirectory()) return { kind: "directory", names: await listing(path), modified };
  if (!found.isFile()) throw new KubeletError("EACCES", "not a regular file");
  // Through the open file: its name may have been replaced.
  const file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
  return { kind: "file", file, size: found.size, modified };
}

/** Directories have a trailing slash. */
async function listing(path: string): Promise<string[]> {
  const entries = await readdir(path, { withFileTypes: true });
  return entries
    .map((entry) => (entry.isDirectory() ? `${entry.name}/` : entry.name))
    .sort((a, b) => (a < b ? -1 : 1));
}
