import { readFile } from "node:fs/promises";

/** The I/O counters of one block device since boot. */
export interface BlockDevice {
  /** "/dev/vda1" */
  readonly path: string;
  readonly reads: number;
  readonly readsMerged: number;
  readonly sectorsRead: number;
  readonly readMs: number;
  readonly writes: number;
  readonly writesMerged: number;
  readonly sectorsWritten: number;
  readonly writeMs: number;
  readonly inFlight: number;
  readonly ioMs: number;
  readonly weightedIoMs: number;
}

/** The counters of all block devices, by "major:minor". */
export async function readBlockDevices(file = "/proc/diskstats"): Promise<ReadonlyMap<string, BlockDevice>> {
  return parseDiskstats(await readFile(file, "utf8").catch(() => ""));
}

export function parseDiskstats(text: string): ReadonlyMap<string, BlockDevice> {
  const devices = new Map<string, BlockDevice>();
  for (const line of text.split("\n")) {
    const [major, minor, name, ...rest] = line.trim().split(/\s+/);
    if (name === undefined || rest.length < 11) continue;
    const [reads, readsMerged, sectorsRead, readMs, writes, writesMerged, sectorsWritten, writeMs, ...last] =
      rest.map(Number) as [number, number, number, number, number, number, number, number, ...number[]];
    const [inFlight = 0, ioMs = 0, weightedIoMs = 0] = last;
    devices.set(`${major}:${minor}`, {
      path: `/dev/${name}`,
      reads,
      readsMerged,
      sectorsRead,
      readMs,
      writes,
      writesMerged,
      sectorsWritten,
      writeMs,
      inFlight,
      ioMs,
      weightedIoMs,
    });
  }
  return devices;
}
