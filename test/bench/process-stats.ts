import { readdirSync, readFileSync, readlinkSync } from "node:fs";

/** The kernel reports these times in hundredths of a second. */
const tickMs = 10;

/** CPU time of a process and of its children that have exited, in milliseconds, in steps of 10. */
export function cpuMs(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
  const times = stat.slice(stat.lastIndexOf(")")).split(" ").slice(12, 16).map(Number);
  return times.reduce((sum, next) => sum + next, 0) * tickMs;
}

/** CPU time of each thread in milliseconds; without the steps of `cpuMs`, which are too large for an idle process. */
export function threadCpuMs(pid: number): Map<string, number> {
  const dir = `/proc/${pid}/task`;
  const times = readdirSync(dir).flatMap((id) => {
    try {
      return [[id, Number(readFileSync(`${dir}/${id}/schedstat`, "utf8").split(" ")[0]) / 1e6] as const];
    } catch {
      return []; // it has exited
    }
  });
  return new Map(times);
}

/** CPU time between two snapshots of the threads. */
export function cpuBetween(before: ReadonlyMap<string, number>, after: ReadonlyMap<string, number>): number {
  return [...after].reduce((sum, [id, time]) => sum + time - (before.get(id) ?? 0), 0);
}

export function residentMiB(pid: number): number {
  const status = readFileSync(`/proc/${pid}/status`, "utf8");
  return Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1]) / 1024;
}

/** The process that listens on a TCP port of this machine, if it is visible here. */
export function listenerOf(port: number): number | undefined {
  const hex = port.toString(16).toUpperCase().padStart(4, "0");
  const inodes = ["/proc/net/tcp", "/proc/net/tcp6"].flatMap((file) => listening(readText(file), hex));
  const pids = readdirSync("/proc").filter((name) => /^\d+$/.test(name));
  const found = pids.find((pid) => socketsOf(pid).some((inode) => inodes.includes(inode)));
  return found === undefined ? undefined : Number(found);
}

function listening(table: string, port: string): string[] {
  return table
    .split("\n")
    .map((line) => line.trim().split(/\s+/))
    .filter(([, local, , state]) => state === "0A" && local?.endsWith(`:${port}`))
    .map((fields) => fields[9]!);
}

function socketsOf(pid: string): string[] {
  const dir = `/proc/${pid}/fd`;
  return entries(dir).flatMap((fd) => /^socket:\[(\d+)\]$/.exec(linkOf(`${dir}/${fd}`))?.[1] ?? []);
}

/** Processes exit and files are closed while they are looked at. */
function entries(dir: string): string[] {
  try {
    return readdirSync(dir);
  } catch {
    return [];
  }
}

function linkOf(file: string): string {
  try {
    return readlinkSync(file);
  } catch {
    return "";
  }
}

function readText(file: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch {
    return "";
  }
}
