import { dateOf, type WallTime } from "../../../lib/base/time.ts";

/** Actions on the rotated files of a log before the log itself is rotated. Names, oldest first. */
export interface RotationPlan {
  remove: string[];
  compress: string[];
}

export const compressedSuffix = ".gz";
export const temporarySuffix = ".tmp";

/**
 * Decides by names: files of interrupted compressions are removed, then the oldest, so that with the log and its next
 * rotated file there are `maxFiles`; all that are kept are compressed.
 */
export function planRotation(rotated: Iterable<string>, maxFiles: number): RotationPlan {
  const names = new Set(rotated);
  const isIncomplete = (name: string) =>
    name.endsWith(temporarySuffix) || (!isCompressed(name) && names.has(`${name}${compressedSuffix}`));
  const complete = [...names].filter((name) => !isIncomplete(name)).sort(byName);
  const excess = Math.max(0, complete.length - Math.max(0, maxFiles - 2));
  return {
    remove: [...[...names].filter(isIncomplete).sort(byName), ...complete.slice(0, excess)],
    compress: complete.slice(excess).filter((name) => !isCompressed(name)),
  };
}

/** Names contain the time, so this sorts by age. */
function byName(a: string, b: string): number {
  return a < b ? -1 : 1;
}

function isCompressed(name: string): boolean {
  return name.endsWith(compressedSuffix);
}

/** The name of a rotated log, with the local time: "0.log.20260131-235959". */
export function rotatedName(log: string, now: WallTime): string {
  const t = dateOf(now);
  const two = (n: number) => String(n).padStart(2, "0");
  const day = `${t.getFullYear()}${two(t.getMonth() + 1)}${two(t.getDate())}`;
  return `${log}.${day}-${two(t.getHours())}${two(t.getMinutes())}${two(t.getSeconds())}`;
}
