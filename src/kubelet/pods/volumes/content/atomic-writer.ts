import * as fs from "node:fs/promises";
import { join, relative } from "node:path";
import type { Clock } from "../../../../lib/base/clock.ts";
import { errnoOf } from "../../../../lib/base/errors.ts";
import { removeTree } from "../../../../lib/host/remove-tree.ts";
import { type ContentFile, checkPayload, type Payload, topNames } from "./payload.ts";
import { dataLink, newDataLink, newGenerationName, planRoot, type RootEntry } from "./volume-root.ts";

type NodeCalls = Pick<
  typeof fs,
  | "chmod"
  | "chown"
  | "lchown"
  | "lstat"
  | "mkdir"
  | "readFile"
  | "readdir"
  | "readlink"
  | "rename"
  | "rm"
  | "symlink"
  | "writeFile"
>;

export interface FileCalls extends NodeCalls {
  removeTree(path: string): Promise<void>;
}

export const diskFiles: FileCalls = { ...fs, removeTree };

export interface WriteOptions {
  readonly clock: Clock;
  /** The group that may read all files. */
  readonly fsGroup?: number | undefined;
  /** For tests: failures and crashes. */
  readonly files?: FileCalls;
  readonly random?: () => number;
}

// The group may read files and enter directories, which have the setgid bit.
const groupFileMode = 0o440;
const groupDirMode = 0o2550;
const dirMode = 0o755;

/**
 * Atomically replaces the files in `dir` with the payload: a reader that resolves `..data` once sees all old or all new files. An
 * interrupted write, even by a crash, leaves the old files, and the next write cleans up after it. One writer per directory at a
 * time. Returns whether anything was written.
 */
export async function writeAtomically(
  dir: string,
  payload: Payload,
  options: WriteOptions,
): Promise<boolean> {
  const files = options.files ?? diskFiles;
  const desired = checkPayload(payload);
  const current = await currentGeneration(files, dir);
  const isCurrent = current !== undefined && (await containsExactly(files, join(dir, current), desired));
  const generation = isCurrent ? current : await writeGeneration(files, dir, desired, options);
  if (!isCurrent) await replaceDataLink(files, dir, generation);
  await cleanUp(files, dir, generation, desired);
  return !isCurrent;
}

/** The name of the directory that `..data` points to, if it exists. */
async function currentGeneration(files: FileCalls, dir: string): Promise<string | undefined> {
  const name = await files.readlink(join(dir, dataLink)).catch(undefinedIfAbsent);
  if (name === undefined || name.includes("/") || !name.startsWith("..") || name === "..") return undefined;
  const found = await files.lstat(join(dir, name)).catch(undefinedIfAbsent);
  return found?.isDirectory() ? name : undefined;
}

/** True if the directory has exactly these files with exactly this content. */
async function containsExactly(files: FileCalls, dir: string, desired: Payload): Promise<boolean> {
  const entries = await files.readdir(dir, { recursive: true, withFileTypes: true });
  const found = entries.filter((entry) => !entry.isDirectory());
  if (found.length !== desired.size) return false;
  for (const entry of found) {
    const path = join(entry.parentPath, entry.name);
    const file = desired.get(relative(dir, path));
    if (!file || !entry.isFile()) return false;
    const data = await files.readFile(path).catch(undefinedIfAbsent);
    if (!data?.equals(file.data)) return false;
  }
  return true;
}

async function writeGeneration(
  files: FileCalls,
  dir: string,
  payload: Payload,
  options: WriteOptions,
): Promise<string> {
  const name = newGenerationName(options.clock.wall(), options.random ?? Math.random);
  const root = join(dir, name);
  try {
    await grantToGroup(files, dir, options.fsGroup);
    await makeDir(files, root, options.fsGroup);
    for (const path of dirsOf(payload)) await makeDir(files, join(root, path), options.fsGroup);
    for (const [path, file] of payload) await writeFile(files, join(root, path), file, options.fsGroup);
  } catch (error) {
    await files.removeTree(root).catch(() => {});
    throw withPath(error, dir);
  }
  return name;
}

async function grantToGroup(files: FileCalls, dir: string, fsGroup: number | undefined): Promise<void> {
  if (fsGroup === undefined) return;
  const { mode, gid } = await files.lstat(dir);
  if (gid !== fsGroup) await files.chown(dir, -1, fsGroup);
  // After chown, which clears the setgid bit.
  if (gid !== fsGroup || (mode & groupDirMode) !== groupDirMode)
    await files.chmod(dir, (mode & 0o7777) | groupDirMode);
}

/** Each directory before its subdirectories. */
function dirsOf(payload: Payload): string[] {
  const dirs = new Set<string>();
  for (const path of payload.keys()) {
    const names = path.split("/");
    for (let depth = 1; depth < names.length; depth++) dirs.add(names.slice(0, depth).join("/"));
  }
  return [...dirs];
}

/** Creates a directory and sets its mode with chmod, because the mode of mkdir is subject to the umask. */
async function makeDir(files: FileCalls, path: string, fsGroup: number | undefined): Promise<void> {
  await files.mkdir(path);
  if (fsGroup !== undefined) await files.chown(path, -1, fsGroup);
  await files.chmod(path, dirMode | (fsGroup === undefined ? 0 : groupDirMode));
}

async function writeFile(
  files: FileCalls,
  path: string,
  { data, mode, user }: ContentFile,
  fsGroup: number | undefined,
): Promise<void> {
  // Other users get no access to the file before it has its owner.
  await files.writeFile(path, data, { mode: 0o600, flag: "wx" });
  if (user !== undefined || fsGroup !== undefined) await files.lchown(path, user ?? -1, fsGroup ?? -1);
  await files.chmod(path, mode | (fsGroup === undefined ? 0 : groupFileMode));
}

/** Errors of write do not contain the path, and users need to know which disk is full. Names the volume, so that the message is stable. */
function withPath(error: unknown, path: string): unknown {
  if (!(error instanceof Error) || "path" in error) return error;
  return Object.assign(error, { path, message: `${error.message} '${path}'` });
}

/** The rename replaces the old files with the new ones. */
async function replaceDataLink(files: FileCalls, dir: string, generation: string): Promise<void> {
  const link = join(dir, newDataLink);
  try {
    if (await files.lstat(link).catch(undefinedIfAbsent)) await files.removeTree(link);
    await files.symlink(generation, link);
    await files.rename(link, join(dir, dataLink));
  } catch (error) {
    await files.rm(link, { force: true }).catch(() => {});
    await files.removeTree(join(dir, generation)).catch(() => {});
    throw error;
  }
}

/** Creates missing symlinks, and removes stale entries and what an interrupted write left behind. */
async function cleanUp(files: FileCalls, dir: string, generation: string, payload: Payload): Promise<void> {
  const entries: RootEntry[] = [];
  for (const entry of await files.readdir(dir, { withFileTypes: true })) {
    const { name } = entry;
    const target = entry.isSymbolicLink() ? await files.readlink(join(dir, name)) : undefined;
    entries.push({ name, isDirectory: entry.isDirectory(), target });
  }
  const { missing, remove } = planRoot(entries, generation, topNames(payload));
  const owners = missing.length > 0 ? ownersOf(payload) : undefined;
  for (const name of missing) {
    const link = join(dir, name);
    await files.symlink(join(dataLink, name), link);
    const user = owners?.get(name);
    if (user !== undefined) await files.lchown(link, user, -1);
  }
  for (const name of remove) await files.removeTree(join(dir, name));
}

/** The owner of the first file of each name in the root. */
function ownersOf(payload: Payload): Map<string, number | undefined> {
  const owners = new Map<string, number | undefined>();
  for (const [path, { user }] of payload) {
    const [name = path] = path.split("/", 1);
    if (!owners.has(name)) owners.set(name, user);
  }
  return owners;
}

function undefinedIfAbsent(error: unknown): undefined {
  const errno = errnoOf(error);
  // EINVAL: not a symlink.
  if (errno === "ENOENT" || errno === "EINVAL" || errno === "ENOTDIR") return undefined;
  throw error;
}
