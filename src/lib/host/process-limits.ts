import { readFile } from "node:fs/promises";
import { type WallTime, wallTime } from "../base/time.ts";

export interface TaskCounts {
  /** How many tasks (threads) the machine can have; absent if unknown. */
  readonly max?: number;
  readonly running?: number;
}

/** The smaller of the kernel's two limits, and how many tasks there are. */
export async function readTaskCounts(proc = "/proc"): Promise<TaskCounts> {
  const read = (path: string) => readFile(`${proc}/${path}`, "utf8").catch(() => "");
  const [pidMax, threadsMax, load] = await Promise.all([
    read("sys/kernel/pid_max"),
    read("sys/kernel/threads-max"),
    read("loadavg"),
  ]);
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
