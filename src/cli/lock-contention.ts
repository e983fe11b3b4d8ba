import { closeSync, constants, openSync, readSync } from "node:fs";
import { type Clock, sleep } from "../lib/base/clock.ts";
import { errnoOf, KubeletError } from "../lib/base/errors.ts";
import type { Logger } from "../lib/base/logger.ts";
import { libc } from "../lib/host/libc.ts";

const retryMs = 100;
const checkMs = 1000;

export interface ContendedLock {
  /** Resolves when another process has opened the lock file, with `--exit-on-lock-contention`. */
  readonly contention: Promise<void>;
  isContended(): boolean;
}

/** Waits for the lock of `--lock-file`, which is held until the process exits. */
export async function lockedBy(
  flags: { readonly lockFile: string; readonly exitOnLockContention: boolean },
  {
    logger,
    clock,
    signal = new AbortController().signal,
  }: { logger: Logger; clock: Clock; signal?: AbortSignal },
): Promise<ContendedLock> {
  const { lockFile: path, exitOnLockContention } = flags;
  let contended = false;
  const lock = { contention: new Promise<void>(() => {}), isContended: () => contended };
  if (path === "") {
    if (!exitOnLockContention) return lock;
    throw new KubeletError("Usage", "cannot exit on lock file contention: no lock file specified");
  }
  logger.info("Acquiring file lock", { path });
  const { flock, watchOpens } = await libc();
  const fd = openLock(path);
  while (!flock(fd)) await sleep(clock, retryMs, signal);
  if (!exitOnLockContention) return lock;
  logger.info("Watching for inotify events", { path });
  const events = watchOpens(path);
  const watch = async () => {
    while (!hasEvents(events)) await sleep(clock, checkMs, signal);
    contended = true;
    closeSync(events);
  };
  return { ...lock, contention: watch() };
}

function openLock(path: string): number {
  try {
    return openSync(path, constants.O_CREAT | constants.O_RDWR, 0o600);
  } catch (error) {
    const message = `unable to acquire file lock on ${JSON.stringify(path)}: ${(error as Error).message}`;
    throw new KubeletError("Usage", message, { cause: error });
  }
}

function hasEvents(fd: number): boolean {
  try {
    return readSync(fd, Buffer.alloc(4096)) > 0;
  } catch (error) {
    if (errnoOf(error) === "EAGAIN") return false;
    throw error;
  }
}
