import { closeSync, constants, fstat, open, readFileSync, type Stats } from "node:fs";
import { relative } from "node:path";
import { promisify } from "node:util";
import { errnoOf, KubeletError } from "../base/errors.ts";
import { linux } from "../base/linux.ts";
import { maxPathLength, namesIn, type RawPath, rawJoin } from "./entries.ts";
import { libc } from "./libc.ts";

const openFd = promisify(open);
const statOf = promisify(fstat);

const { O_RDONLY, O_DIRECTORY, O_NOFOLLOW } = constants;
const asDir = O_RDONLY | O_DIRECTORY;
const slash = "/".charCodeAt(0);

/**
 * An open directory. Its entries are reached through the descriptor, so a container that renames or replaces the directories
 * above them in the meantime leads no one elsewhere. Every call on an entry must have ended before the directory is closed:
 * the number of the descriptor is used again.
 */
export class OpenDir {
  readonly #fd: number;
  readonly #path: RawPath;
  #mountId: string | undefined;

  private constructor(fd: number) {
    this.#fd = fd;
    this.#path = Buffer.from(`/proc/self/fd/${fd}`);
  }

  /** `path` itself must not be a symbolic link, unless `follow` is set; those above it are followed. */
  static async open(path: string | RawPath, { follow = false } = {}): Promise<OpenDir> {
    return new OpenDir(await openFd(path, follow ? asDir : asDir | O_NOFOLLOW));
  }

  /**
   * Opens a directory below `root`; both paths are absolute. Links above the root, and the root itself, are followed, links below it are
   * not. Undefined if the directory does not exist, or if a link leads to it.
   */
  static async below(root: string, path: string): Promise<OpenDir | undefined> {
    const top = await OpenDir.open(root, { follow: true });
    try {
      return await top.enter(Buffer.from(relative(root, path)), { crossMounts: true });
    } finally {
      top.close();
    }
  }

  /** The path of the directory while it is open. */
  get path(): RawPath {
    return this.#path;
  }

  /** The path of one of its entries while it is open. */
  at(name: Buffer): RawPath {
    return rawJoin(this.#path, name);
  }

  names(batchSize: number): AsyncGenerator<Buffer[]> {
    return namesIn(this.#path, batchSize);
  }

  stat(): Promise<Stats> {
    return statOf(this.#fd);
  }

  /**
   * Opens a directory below this one, without following links. Undefined if it no longer exists, or is no longer a directory.
   * Fails with EXDEV at a mount point, unless `crossMounts` is set.
   */
  async enter(path: RawPath, { crossMounts = false } = {}): Promise<OpenDir | undefined> {
    try {
      return path.includes(slash)
        ? await this.#enterDeep(path, crossMounts)
        : await this.#enterEntry(path, crossMounts);
    } catch (error) {
      if (isReplaced(error)) return undefined;
      throw error;
    }
  }

  close(): void {
    closeSync(this.#fd);
  }

  async #enterEntry(name: Buffer, crossMounts: boolean): Promise<OpenDir> {
    const dir = await OpenDir.open(this.at(name));
    try {
      if (!crossMounts && dir.#mount() !== this.#mount())
        throw new KubeletError("EXDEV", `open ${name}: it is a mount point`);
      return dir;
    } catch (error) {
      dir.close();
      throw error;
    }
  }

  async #enterDeep(path: RawPath, crossMounts: boolean): Promise<OpenDir> {
    const resolve =
      linux.RESOLVE_BENEATH | linux.RESOLVE_NO_SYMLINKS | (crossMounts ? 0 : linux.RESOLVE_NO_XDEV);
    const { openAt } = await libc();
    try {
      return new OpenDir(await openAt(this.#fd, path, { flags: asDir | O_NOFOLLOW, resolve }));
    } catch (error) {
      // Before Linux 5.6, and with some seccomp profiles.
      if (errnoOf(error) === "ENOSYS") return this.#enterByNames(path, crossMounts);
      throw error;
    }
  }

  async #enterByNames(path: RawPath, crossMounts: boolean): Promise<OpenDir> {
    let dir: OpenDir = this;
    for (let from = 0; from < path.length; ) {
      const end = path.indexOf(slash, from);
      const name = path.subarray(from, end === -1 ? path.length : end);
      const next = await dir.#enterEntry(name, crossMounts).finally(() => dir !== this && dir.close());
      dir = next;
      from += name.length + 1;
    }
    return dir;
  }

  /** Unlike the device, it differs for a bind mount of the same filesystem. */
  #mount(): string {
    this.#mountId ??=
      /^mnt_id:\s*(\d+)$/m.exec(readFileSync(`/proc/self/fdinfo/${this.#fd}`, "latin1"))?.[1] ?? "";
    return this.#mountId;
  }
}

/** True if a name that was a directory no longer is: it was removed or replaced. */
export function isReplaced(error: unknown): boolean {
  return ["ENOENT", "ENOTDIR", "ELOOP"].includes(errnoOf(error) ?? "");
}

interface Pending {
  readonly base: OpenDir;
  /** Relative to `base`; undefined for the base itself. All entries of a directory share it: they may be many, and it may be long. */
  readonly parent: RawPath | undefined;
  readonly name: Buffer;
}

export interface VisitOptions {
  readonly crossMounts: boolean;
}

/**
 * Visits a directory and all directories below it, each before those that it contains. `visit` returns the names of the
 * subdirectories to enter; those that are removed or replaced in the meantime are skipped. Takes few descriptors for a tree of any depth.
 */
export async function visitDirs(
  root: OpenDir,
  visit: (dir: OpenDir) => Promise<readonly Buffer[]>,
  { crossMounts }: VisitOptions,
): Promise<void> {
  const pending: (Pending | OpenDir)[] = [];
  const add = (base: OpenDir, parent: RawPath | undefined, names: readonly Buffer[]) => {
    for (const name of names) pending.push({ base, parent, name });
  };
  add(root, undefined, await visit(root));
  try {
    for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
      if (next instanceof OpenDir) {
        next.close(); // everything below it has been visited
        continue;
      }
      const { base, parent, name } = next;
      const path = parent ? rawJoin(parent, name) : name;
      const dir = await base.enter(path, { crossMounts }).catch(unlessMountPoint);
      if (!dir) continue;
      // Paths longer than PATH_MAX cannot be resolved.
      const isBase = path.length > maxPathLength;
      if (isBase) pending.push(dir);
      try {
        const names = await visit(dir);
        if (isBase) add(dir, undefined, names);
        else add(base, path, names);
      } finally {
        if (!isBase) dir.close();
      }
    }
  } finally {
    for (const one of pending) if (one instanceof OpenDir) one.close();
  }
}

function unlessMountPoint(error: unknown): undefined {
  if (errnoOf(error) !== "EXDEV") throw error;
}
