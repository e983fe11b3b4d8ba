import { closeSync, constants, fchmod, fstat } from "node:fs";
import { open } from "node:fs/promises";
import { promisify } from "node:util";
import { errnoOf, KubeletError } from "../base/errors.ts";
import { linux } from "../base/linux.ts";
import { libc } from "./libc.ts";

// In the thread pool: a network filesystem may be slow, and must not block the agent.
const statOf = promisify(fstat);
const setMode = promisify(fchmod);

/** An open file that cannot be replaced: bind mounts of its `path` always refer to it. */
export interface OpenedFile {
  readonly fd: number;
  /** "/proc/self/fd/7" */
  readonly path: string;
  readonly isDirectory: boolean;
  readonly isFile: boolean;
  readonly dev: number;
  readonly ino: number;
  close(): void;
}

/** How often to retry when the kernel reports a concurrent rename (EAGAIN). */
const maxTries = 128;
const beneath = linux.RESOLVE_BENEATH | linux.RESOLVE_NO_MAGICLINKS;

/** O_PATH: enough for a mount, and opening a pipe or device has no side effect. */
export async function openRoot(dir: string): Promise<OpenedFile> {
  const handle = await open(dir, linux.O_PATH | linux.O_CLOEXEC);
  // The handle owns the descriptor and closes it; only its number is needed here.
  const stat = await handle.stat();
  return {
    fd: handle.fd,
    path: `/proc/self/fd/${handle.fd}`,
    isDirectory: stat.isDirectory(),
    isFile: stat.isFile(),
    dev: stat.dev,
    ino: stat.ino,
    close: () => void handle.close().catch(() => {}),
  };
}

/**
 * Opens `path` below the root. Symbolic links are followed, but the kernel itself rejects (EXDEV) any that
 * lead out of the root, even if one is created in the meantime.
 */
export async function openBeneath(root: OpenedFile, path: string): Promise<OpenedFile> {
  const asDir = linux.O_PATH | constants.O_DIRECTORY; // accessed first: that also triggers automounts
  const fd = await openAt(root.fd, path, asDir).catch((error) => {
    if (errnoOf(error) !== "ENOTDIR") throw error;
    return openAt(root.fd, path, linux.O_PATH);
  });
  return opened(fd);
}

/** The same, but the directory acts as the root of a chroot: links that lead out of it, and "..", resolve inside it. */
export async function openInRoot(root: OpenedFile, path: string): Promise<OpenedFile> {
  return opened(
    await openAt(root.fd, path, linux.O_PATH, linux.RESOLVE_IN_ROOT | linux.RESOLVE_NO_MAGICLINKS),
  );
}

async function openAt(dirFd: number, path: string, flags: number, resolve = beneath): Promise<number> {
  const { openAt } = await libc();
  for (let tries = 1; ; tries++) {
    try {
      return await openAt(dirFd, path, { flags, resolve });
    } catch (error) {
      if (errnoOf(error) !== "EAGAIN" || tries === maxTries) throw error;
    }
  }
}

async function opened(fd: number): Promise<OpenedFile> {
  const stat = await statOf(fd).catch((error) => {
    closeSync(fd);
    throw error;
  });
  return {
    fd,
    path: `/proc/self/fd/${fd}`,
    isDirectory: stat.isDirectory(),
    isFile: stat.isFile(),
    dev: stat.dev,
    ino: stat.ino,
    close: () => closeSync(fd),
  };
}

/** Opens a directory below the root, and creates it and its parents if they do not exist. */
export async function makeDirsBeneath(root: OpenedFile, path: string, mode: number): Promise<OpenedFile> {
  const parts = path.split("/").filter((part) => part !== "" && part !== ".");
  let parent = root;
  try {
    for (const [index, name] of parts.entries()) {
      const here = parts.slice(0, index + 1).join("/");
      const child = await openBeneath(root, here).catch((error) => {
        if (errnoOf(error) !== "ENOENT") throw error;
        return makeDir(parent, name, mode);
      });
      if (parent !== root) parent.close();
      parent = child;
    }
  } catch (error) {
    if (parent !== root) parent.close();
    throw error;
  }
  if (parent === root) throw new KubeletError("EINVAL", `"${path}" names nothing below the directory`);
  return parent;
}

async function makeDir(parent: OpenedFile, name: string, mode: number): Promise<OpenedFile> {
  const { makeDirAt } = await libc();
  await makeDirAt(parent.fd, name, mode & 0o777).catch((error) => {
    if (errnoOf(error) !== "EEXIST") throw error;
  });
  const flags = constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW;
  const fd = await openAt(parent.fd, name, flags, beneath | linux.RESOLVE_NO_SYMLINKS);
  // mkdir would apply the umask to the mode.
  await setMode(fd, mode & 0o7777).catch((error) => {
    closeSync(fd);
    throw error;
  });
  return opened(fd);
}
