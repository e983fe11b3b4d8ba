import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { mapWithLimit } from "../base/map-with-limit.ts";

/** How many tasks (threads) are in which state. */
export interface TaskStates {
  readonly sleeping: number;
  readonly running: number;
  readonly stopped: number;
  readonly uninterruptible: number;
  /** The kernel counts tasks here that wait for I/O in none of the other states: /proc does not show them. */
  readonly iowaiting: number;
}

/** A process may have more threads than our limit of open files. */
const batchSize = 16;

const stateOf: Readonly<Record<string, keyof TaskStates>> = {
  R: "running",
  S: "sleeping",
  I: "sleeping",
  D: "uninterruptible",
  T: "stopped",
  t: "stopped",
};

/** The states of all tasks of these processes; those that exit in the meantime, and zombies, are ignored. */
export async function readTaskStates(pids: readonly number[], proc = "/proc"): Promise<TaskStates> {
  const counts = { sleeping: 0, running: 0, stopped: 0, uninterruptible: 0, iowaiting: 0 };
  for (const pid of pids) {
    const dir = join(proc, String(pid), "task");
    const tasks = await readdir(dir).catch(() => []);
    const stats = await mapWithLimit(tasks, batchSize, (task) =>
      readFile(join(dir, task, "stat"), "utf8").catch(() => ""),
    );
    for (const stat of stats) {
      // The name of the program may contain spaces and parentheses; the fields after it do not.
      const state = stateOf[stat.slice(stat.lastIndexOf(")") + 2)[0] ?? ""];
      if (state) counts[state]++;
    }
  }
  return counts;
}
