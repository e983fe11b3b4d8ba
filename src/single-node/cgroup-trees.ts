import { readdirSync, rmdirSync } from "node:fs";
import { join } from "node:path";
import { type Clock, msFromNow, sleep } from "../lib/base/clock.ts";
import { errnoOf } from "../lib/base/errors.ts";

/** A cgroup and all cgroups below it, children before parents; empty if it does not exist. */
export function cgroupTree(dir: string): string[] {
  try {
    const children = readdirSync(dir, { withFileTypes: true }).filter((entry) => entry.isDirectory());
    return [...children.flatMap((child) => cgroupTree(join(dir, child.name))), dir];
  } catch {
    return [];
  }
}

/** Removes cgroups recursively. A process that has just exited keeps its cgroup busy for a moment. Resolves with those that remain. */
export async function removeCgroups(
  dirs: readonly string[],
  clock: Clock,
  timeoutMs = 5000,
): Promise<string[]> {
  const deadline = msFromNow(clock, timeoutMs);
  for (;;) {
    const remaining = dirs.flatMap(cgroupTree).filter((dir) => !removed(dir));
    if (remaining.length === 0 || clock.monotonic() >= deadline) return remaining;
    await sleep(clock, 20);
  }
}

function removed(dir: string): boolean {
  try {
    rmdirSync(dir);
    return true;
  } catch (error) {
    return errnoOf(error) === "ENOENT";
  }
}
