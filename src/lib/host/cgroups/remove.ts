import { join } from "node:path";
import { type Clock, msFromNow, sleep } from "../../base/clock.ts";
import { abortError, errnoOf, KubeletError } from "../../base/errors.ts";
import type { RemoveOptions } from "./cgroup-filesystem.ts";
import { type CgroupFiles, isGone } from "./files.ts";
import { dirsBelow, pidsBelow } from "./tree.ts";

const defaultTimeoutMs = 10_000;
const firstPauseMs = 5;
const maxPauseMs = 250;

export interface RemoveDeps {
  readonly files: CgroupFiles;
  readonly clock: Clock;
  /** Sends SIGKILL. */
  readonly kill: (pid: number) => void;
}

/** Kills all processes in the directories and below until there are none left. */
export async function killProcesses(
  dirs: readonly string[],
  { files, clock, kill }: RemoveDeps,
  { signal, timeoutMs = defaultTimeoutMs }: RemoveOptions = {},
): Promise<void> {
  const deadline = msFromNow(clock, timeoutMs);
  for (let pauseMs = firstPauseMs; ; pauseMs = Math.min(pauseMs * 2, maxPauseMs)) {
    if (signal?.aborted) throw abortError(signal.reason);
    const pids = await pidsBelow(files, dirs);
    if (pids.length === 0) return;
    if (clock.monotonic() >= deadline)
      throw new KubeletError(
        "CgroupBusy",
        `cgroup ${dirs.join(", ")}: processes ${pids.join(", ")} did not exit`,
      );
    await killAll(dirs, pids, files, kill);
    await sleep(clock, pauseMs, signal);
  }
}

/**
 * Removes the directories (one cgroup in each hierarchy) with everything below. Their processes are killed. The kernel
 * frees a cgroup shortly after its last process has exited, so EBUSY is retried until the timeout.
 */
export async function removeDirs(
  dirs: readonly string[],
  { files, clock, kill }: RemoveDeps,
  { signal, timeoutMs = defaultTimeoutMs }: RemoveOptions = {},
): Promise<void> {
  const deadline = msFromNow(clock, timeoutMs);
  const existing = dirs.filter((dir) => files.exists(dir));
  // Most are already empty.
  let left = await busyOf(existing, (dir) => removeOne(files, dir));
  for (let pauseMs = firstPauseMs; left.length > 0; pauseMs = Math.min(pauseMs * 2, maxPauseMs)) {
    if (signal?.aborted) throw abortError(signal.reason);
    const pids = await pidsBelow(files, left);
    if (pids.length > 0) await killAll(left, pids, files, kill);
    left = await busyOf(left, (dir) => removeTree(files, dir));
    if (left.length === 0) return;
    if (clock.monotonic() >= deadline) {
      const running = await pidsBelow(files, left);
      const why = running.length > 0 ? `processes ${running.join(", ")} did not exit` : "it is still busy";
      throw new KubeletError("CgroupBusy", `cannot remove cgroup ${left.join(", ")}: ${why}`);
    }
    await sleep(clock, pauseMs, signal);
  }
}

async function busyOf(dirs: readonly string[], remove: (dir: string) => Promise<boolean>): Promise<string[]> {
  const removed = await Promise.all(dirs.map(remove));
  return dirs.filter((_, index) => !removed[index]);
}

async function killAll(
  dirs: readonly string[],
  pids: readonly number[],
  files: CgroupFiles,
  kill: (pid: number) => void,
): Promise<void> {
  if (pids.includes(process.pid)) {
    throw new KubeletError("CgroupBusy", `cannot remove cgroup ${dirs.join(", ")}: this process runs in it`);
  }
  // cgroup.kill kills all processes atomically, including forks.
  for (const dir of dirs) {
    try {
      await files.write(join(dir, "cgroup.kill"), "1");
    } catch {
      // Absent on v1 and on old kernels: kill one by one below.
    }
  }
  for (const pid of pids) {
    try {
      kill(pid);
    } catch (error) {
      if (errnoOf(error) !== "ESRCH") throw error;
    }
  }
}

async function removeTree(files: CgroupFiles, dir: string): Promise<boolean> {
  for (const directory of await dirsBelow(files, dir)) if (!(await removeOne(files, directory))) return false;
  return true;
}

/** False if the kernel reports that it is still in use, by processes or by a child cgroup. */
async function removeOne(files: CgroupFiles, dir: string): Promise<boolean> {
  try {
    await files.rmdir(dir);
    return true;
  } catch (error) {
    if (isGone(error)) return true;
    if (errnoOf(error) === "EBUSY" || errnoOf(error) === "ENOTEMPTY") return false;
    throw error;
  }
}
