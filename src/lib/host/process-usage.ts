import { readdir, readFile, readlink } from "node:fs/promises";
import { join } from "node:path";
import { mapWithLimit } from "../base/map-with-limit.ts";
import { plusMs, type WallTime } from "../base/time.ts";

/** Reading the open files of a process in batches does not block others. */
const batchSize = 16;

/** Resource usage of a process. */
export interface ProcessUsage {
  readonly cpuSeconds: number;
  readonly residentBytes: number;
  readonly virtualBytes: number;
  readonly startedAt: WallTime;
  readonly openFiles: number;
  readonly maxFiles: number;
  readonly maxVirtualBytes: number;
  readonly receivedBytes: number;
  readonly sentBytes: number;
}

/** The kernel reports hundredths of a second to user space, regardless of its own clock. */
const ticks = 100;

export async function readProcessUsage(
  bootedAt: WallTime,
  pid: number | "self" = "self",
): Promise<ProcessUsage> {
  const dir = `/proc/${pid}`;
  const [stat, limits, fds, status, netstat] = await Promise.all([
    readFile(join(dir, "stat"), "utf8"),
    readFile(join(dir, "limits"), "utf8"),
    readdir(join(dir, "fd")),
    readFile(join(dir, "status"), "utf8"),
    readFile(join(dir, "net/netstat"), "utf8").catch(() => ""),
  ]);
  // The name of the program may contain spaces and parentheses; the fields after it do not.
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  const field = (number: number) => Number(fields[number - 3] ?? 0);
  const residentKib = Number(/^VmRSS:\s+(\d+) kB/m.exec(status)?.[1] ?? 0);
  const octets = ipOctets(netstat);
  return {
    cpuSeconds: (field(14) + field(15)) / ticks,
    residentBytes: residentKib * 1024,
    virtualBytes: field(23),
    startedAt: plusMs(bootedAt, (field(22) / ticks) * 1000),
    openFiles: fds.length,
    maxFiles: limitOf(limits, "Max open files"),
    maxVirtualBytes: limitOf(limits, "Max address space"),
    ...octets,
  };
}

export function limitOf(limits: string, name: string): number {
  const value = new RegExp(`^${name} +(\\S+)`, "m").exec(limits)?.[1];
  return value === undefined || value === "unlimited" ? 2 ** 64 : Number(value);
}

/** Traffic of the network namespace of the process: the kernel does not count by process. */
function ipOctets(netstat: string): { receivedBytes: number; sentBytes: number } {
  const lines = netstat.split("\n").filter((line) => line.startsWith("IpExt:"));
  const [names = [], values = []] = lines.map((line) => line.split(" "));
  const value = (name: string) => Number(values[names.indexOf(name)] ?? 0) || 0;
  return { receivedBytes: value("InOctets"), sentBytes: value("OutOctets") };
}

/** The total number of files and sockets that several processes have open. Processes that exit in the meantime are ignored. */
export async function readOpenFiles(pids: readonly number[]): Promise<{ files: number; sockets: number }> {
  const total = { files: 0, sockets: 0 };
  for (const pid of pids) {
    const dir = `/proc/${pid}/fd`;
    const names = await readdir(dir).catch(() => []);
    const targets = await mapWithLimit(names, batchSize, (name) => readlink(join(dir, name)).catch(() => ""));
    total.files += names.length;
    total.sockets += targets.filter((target) => target.startsWith("socket:")).length;
  }
  return total;
}

/** How many files a process may have open: its soft limit; undefined if it has exited. */
export async function readOpenFilesLimit(pid: number): Promise<number | undefined> {
  const text = await readFile(`/proc/${pid}/limits`, "utf8").catch(() => undefined);
  return text === undefined ? undefined : limitOf(text, "Max open files");
}
