import { readFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { type WallTime, wallTime } from "../base/time.ts";

export interface TaskCounts {
  /** How many tasks (threads) the machine can have; absent if unknown. */
  readonly max?: number;
  readonly running?: number;
}

/** The smaller of the kernel's two limits, and how many tasks there are. */
export async function readTaskCounts(proc = "/proc"): Promise<TaskCounts> {
  // Synchronous: a read takes less time than a switch to a thread of the pool.
  const read = (path: string) => {
    try {
      return readFileSync(`${proc}/${path}`, "utf8");
    } catch {
      return "";
    }
  };
  const [pidMax, threadsMax, load] = ["sys/kernel/pid_max", "sys/kernel/threads-max", "loadavg"].map(
    read,
  ) as [string, string, string];
  const limits = [pidMax, threadsMax].filter((text) => /^\d+\s*$/.test(text)).map(Number);
  const running = /^\S+ \S+ \S+ \d+\/(\d+) /.exec(load)?.[1];
  return {
    ...(limits.length > 0 && { max: Math.min(...limits) }),
    ...(running !== undefined && { running: Number(running) }),
  };
}

/** Boot time. */
export async function readBootTime(proc = "/proc"): Promise<WallTime> {
  const text = await readFile(`${proc}/stat`, "utf8");
  return wallTime(Number(/^btime (\d+)$/m.exec(text)?.[1] ?? 0) * 1000);
}
