import { readFileSync } from "node:fs";

/** The kernel reports these times in hundredths of a second. */
const tickMs = 10;

/** The time that CPUs were idle since the boot, the sum of all. A read of memory, not of a disk: it needs no thread. Undefined if it cannot be read. */
export function cpuIdleMs(file = "/proc/stat"): number | undefined {
  try {
    return idleMsIn(readFileSync(file, "latin1"));
  } catch {
    return undefined;
  }
}

/** Waiting for a disk counts as idle. */
export function idleMsIn(stat: string): number | undefined {
  const [, idle, ioWait] = /^cpu +\d+ \d+ \d+ (\d+) (\d+)/.exec(stat) ?? [];
  return idle === undefined ? undefined : (Number(idle) + Number(ioWait)) * tickMs;
}
