import {
  closeSync,
  constants,
  fchmodSync,
  fstatSync,
  mkdirSync,
  openSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { dirname } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { errnoOf } from "../base/errors.ts";
import { libc } from "./libc.ts";

export interface FileLock {
  readonly kind: "acquired";
  release(): void;
}

export interface HeldLock {
  readonly kind: "held";
  /** The process that holds it, if known. */
  readonly holder: number | undefined;
}

/** Users that can read the file can also lock it, and prevent the next start. */
const fileMode = 0o600;

/** A process that has just acquired the lock is about to write its PID. */
const readAttempts = 20;
const rereadMs = 10;

/**
 * Takes an exclusive flock(2) on a file, which contains the PID and start time of its holder. The kernel releases the lock when the
 * process exits, even if it is killed. Does not wait.
 */
export async function lockFile(path: string, o: { dirMode: number }): Promise<FileLock | HeldLock> {
  const { flock } = await libc();
  for (;;) {
    const fd = open(path, o.dirMode);
    if (fd === undefined) continue;
    let isOurs = false;
    try {
      if (!flock(fd)) break;
      // If the previous holder removed the file after it was opened here, a lock on it excludes no other process.
      isOurs = isFileAt(fd, path);
      if (!isOurs) continue;
      // An earlier version created it for everyone, and it remains after a crash.
      fchmodSync(fd, fileMode);
      writeFileSync(path, identity(process.pid));
      return { kind: "acquired", release: () => release(fd, path) };
    } catch (error) {
      isOurs = false;
      throw error;
    } finally {
      if (!isOurs) closeSync(fd);
    }
  }
  return { kind: "held", holder: await holderOf(path) };
}

/** Undefined if the directory was removed between creating it and opening the file. */
function open(path: string, dirMode: number): number | undefined {
  mkdirSync(dirname(path), { recursive: true, mode: dirMode });
  try {
    // Read-only: an open writable file would prevent its filesystem from being remounted read-only.
    return openSync(path, constants.O_RDONLY | constants.O_CREAT | constants.O_NOFOLLOW, fileMode);
  } catch (error) {
    if (errnoOf(error) === "ENOENT") return undefined;
    throw error;
  }
}

function isFileAt(fd: number, path: string): boolean {
  const opened = fstatSync(fd);
  const found = statSync(path, { throwIfNoEntry: false });
  return found?.ino === opened.ino && found.dev === opened.dev;
}

/** Removes the file before the lock is released, so that it cannot be the file of the next holder. */
function release(fd: number, path: string): void {
  if (isFileAt(fd, path)) rmSync(path, { force: true });
  closeSync(fd);
}

async function holderOf(path: string): Promise<number | undefined> {
  for (let attempt = 1; attempt <= readAttempts; attempt++) {
    const pid = readHolder(path) ?? holderInKernel(path);
    if (pid !== undefined) return pid;
    await delay(rereadMs);
  }
  return undefined;
}

/** Undefined if the file names a process that no longer exists. */
function readHolder(path: string): number | undefined {
  try {
    const text = readFileSync(path, "utf8");
    const pid = Number(text.split(" ")[0]);
    return Number.isInteger(pid) && pid > 0 && text === identity(pid) ? pid : undefined;
  } catch {
    return undefined;
  }
}

/**
 * The holder in /proc/locks, where it is from the moment it has the lock. Not for overlayfs, which reports the inode of another file
 * system there, and not for a process in another PID namespace.
 */
function holderInKernel(path: string): number | undefined {
  try {
    const { dev, ino } = statSync(path, { bigint: true });
    const hex = (part: bigint) => part.toString(16).padStart(2, "0");
    // The device number of Linux: the low 8 bits of the minor, 12 of the major, the rest of the minor, the rest of the major.
    const major = ((dev >> 8n) & 0xfffn) | ((dev >> 32n) & ~0xfffn);
    const minor = (dev & 0xffn) | ((dev >> 12n) & 0xffffff00n);
    const file = `${hex(major)}:${hex(minor)}:${ino}`;
    const fields = readFileSync("/proc/locks", "utf8")
      .split("\n")
      .map((line) => line.split(/\s+/))
      .find(([, kind, , , , locked]) => kind === "FLOCK" && locked === file);
    const pid = Number(fields?.[4]);
    return pid > 0 ? pid : undefined;
  } catch {
    return undefined;
  }
}

/** PID and start time identify a process uniquely. */
function identity(pid: number): string {
  const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
  // The command name in parentheses may contain spaces and parentheses; the fields after it cannot.
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  const [state] = fields;
  return state === "Z" || state === "X" ? `${pid} exited` : `${pid} ${fields[19]}`;
}
