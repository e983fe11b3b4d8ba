import * as fs from "node:fs/promises";
import { join, relative } from "node:path";
import type { Clock } from "../../../../lib/base/clock.ts";
import { errnoOf } from "../../../../lib/base/errors.ts";
import { type ContentFile, checkPayload, type Payload, topNames } from "./payload.ts";
import { dataLink, newDataLink, newGenerationName, planRoot, type RootEntry } from "./volume-root.ts";

export type FileCalls = Pick<
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

export interface WriteOptions {
  readonly clock: Clock;
  /** The group that may read all of it. */
  readonly fsGroup?: number | undefined;
  /** For tests: faults and crashes. */
  readonly files?: FileCalls;
  readonly random?: () => number;
}

// What a group is given: to read files, and to enter folders, whose new files are the group's as well.
const groupReads = 0o440;
const groupEnters = 0o2550;
const folderMode = 0o755;

/**
 * Makes the files in `dir` these, all of them at once: whoever goes through one look at `..data` sees all old or all new
 * ones. A write that was cut short, also by the end of the process, leaves what was there, and the next one cleans up after
 * it. One writer a folder at a time. Says whether anything was written.
 */
export async function writeAtomically(
  dir: string,
  payload: Payload,
  options: WriteOptions,
): Promise<boolean> {
  const files = options.files ?? fs;
  const wanted = checkPayload(payload);
  const current = await currentGeneration(files, dir);
  const isRight = current !== undefined && (await holds(files, join(dir, current), wanted));
  const generation = isRight ? current : await writeGeneration(files, dir, wanted, options);
  if (!isRight) await publish(files, dir, generation);
  await tidy(files, dir, generation, wanted);
  return !isRight;
}

/** The name of the folder that `..data` leads to, if there is one. */
async function currentGeneration(files: FileCalls, dir: string): Promise<string | undefined> {
  const name = await files.readlink(join(dir, dataLink)).catch(absent);
  if (name === undefined || name.includes("/") || !name.startsWith("..") || name === "..") return undefined;
  const found = await files.lstat(join(dir, name)).catch(absent);
  return found?.isDirectory() ? name : undefined;
}

/** True if the folder has exactly these files with exactly this in them. */
async function holds(files: FileCalls, dir: string, wanted: Payload): Promise<boolean> {
  const entries = await files.readdir(dir, { recursive: true, withFileTypes: true });
  const found = entries.filter((entry) => !entry.isDirectory());
  if (found.length !== wanted.size) return false;
  for (const entry of found) {
    const path = join(entry.parentPath, entry.name);
    const file = wanted.get(relative(dir, path));
    if (!file || !entry.isFile()) return false;
    const data = await files.readFile(path).catch(absent);
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
    await makeFolder(files, root, options.fsGroup);
    for (const folder of foldersOf(payload)) await makeFolder(files, join(root, folder), options.fsGroup);
    for (const [path, file] of payload) await writeFile(files, join(root, path), file, options.fsGroup);
  } catch (error) {
    await files.rm(root, { recursive: true, force: true }).catch(() => {});
    throw withPath(error, dir);
  }
  return name;
}

async function grantToGroup(files: FileCalls, dir: string, fsGroup: number | undefined): Promise<void> {
  if (fsGroup === undefined) return;
  const { mode, gid } = await files.lstat(dir);
  if (gid !== fsGroup) await files.chown(dir, -1, fsGroup);
  // After the change of the group, which takes the setgid bit away.
  if (gid !== fsGroup || (mode & groupEnters) !== groupEnters)
    await files.chmod(dir, (mode & 0o7777) | groupEnters);
}

/** Each folder before those in it. */
function foldersOf(payload: Payload): string[] {
  const folders = new Set<string>();
  for (const path of payload.keys()) {
    const names = path.split("/");
    for (let depth = 1; depth < names.length; depth++) folders.add(names.slice(0, depth).join("/"));
  }
  return [...folders];
}

/** Modes are set and not only asked for: the process may have a umask. */
async function makeFolder(files: FileCalls, path: string, fsGroup: number | undefined): Promise<void> {
  await files.mkdir(path);
  if (fsGroup !== undefined) await files.chown(path, -1, fsGroup);
  await files.chmod(path, folderMode | (fsGroup === undefined ? 0 : groupEnters));
}

async function writeFile(
  files: FileCalls,
  path: string,
  { data, mode, user }: ContentFile,
  fsGroup: number | undefined,
): Promise<void> {
  // Nobody else's until it has the owner that it is to have.
  await files.writeFile(path, data, { mode: 0o600, flag: "wx" });
  if (user !== undefined || fsGroup !== undefined) await files.lchown(path, user ?? -1, fsGroup ?? -1);
  await files.chmod(path, mode | (fsGroup === undefined ? 0 : groupReads));
}

/** A write that fails does not say where, and users need to know which disk is full. The volume is named, in the same words each time. */
function withPath(error: unknown, path: string): unknown {
  if (!(error instanceof Error) || "path" in error) return error;
  return Object.assign(error, { path, message: `${error.message} '${path}'` });
}

/** The moment at which the new files take the place of the old ones is that of the rename. */
async function publish(files: FileCalls, dir: string, generation: string): Promise<void> {
  const link = join(dir, newDataLink);
  try {
    await files.rm(link, { recursive: true, force: true });
    await files.symlink(generation, link);
    await files.rename(link, join(dir, dataLink));
  } catch (error) {
    await files.rm(link, { force: true }).catch(() => {});
    await files.rm(join(dir, generation), { recursive: true, force: true }).catch(() => {});
    throw error;
  }
}

/** Shows what is new, and removes what is old or was left by a write that did not come to its end. */
async function tidy(files: FileCalls, dir: string, generation: string, payload: Payload): Promise<void> {
  const entries: RootEntry[] = [];
  for (const entry of await files.readdir(dir, { withFileTypes: true })) {
    const { name } = entry;
    const target = entry.isSymbolicLink() ? await files.readlink(join(dir, name)) : undefined;
    entries.push({ name, isFolder: entry.isDirectory(), target });
  }
  const { show, remove } = planRoot(entries, generation, topNames(payload));
  for (const name of show) {
    const link = join(dir, name);
    await files.symlink(join(dataLink, name), link);
    const user = ownerOf(name, payload);
    if (user !== undefined) await files.lchown(link, user, -1);
  }
  for (const name of remove) await files.rm(join(dir, name), { recursive: true, force: true });
}

function ownerOf(name: string, payload: Payload): number | undefined {
  for (const [path, { user }] of payload) if (path === name || path.startsWith(`${name}/`)) return user;
  return undefined;
}

function absent(error: unknown): undefined {
  const errno = errnoOf(error);
  // EINVAL: no link.
  if (errno === "ENOENT" || errno === "EINVAL" || errno === "ENOTDIR") return undefined;
  throw error;
}
