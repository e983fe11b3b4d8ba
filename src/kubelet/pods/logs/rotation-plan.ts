import { dateOf, type WallTime } from "../../../lib/base/time.ts";
/** What is to be done with the rotated files of a log before the log itself is rotated. Names, oldest first. */
export interface RotationPlan {
  remove: string[];
  compress: string[];
}

export const compressedSuffix = ".gz";
export const temporarySuffix = ".tmp";

/**
 * Decides by names: halves of a compression that was cut off go, then the oldest, so that with the log and what it is
 * about to become there are `maxFiles`; all that stay are compressed.
 */
export function planRotation(rotated: Iterable<string>, maxFiles: number): RotationPlan {
  const names = new Set(rotated);
  const isHalf = (name: string) =>
    name.endsWith(temporarySuffix) || (!isCompressed(name) && names.has(`${name}${compressedSuffix}`));
  const whole = [...names].filter((name) => !isHalf(name)).sort(byName);
  const excess = Math.max(0, whole.length - Math.max(0, maxFiles - 2));
  return {
    remove: [...[...names].filter(isHalf).sort(byName), ...whole.slice(0, excess)],
    compress: whole.slice(excess).filter((name) => !isCompressed(name)),
  };
}

/** The time in their names sorts them by age. */
function byName(a: string, b: string): number {
  return a < b ? -1 : 1;
}

function isCompressed(name: string): boolean {
  return name.endsWith(compressedSuffix);
}

/** What a log is called when it is rotated: with the local time, "0.log.20260131-235959". */
export function rotatedName(log: string, now: WallTime): string {
  const t = dateOf(now);
  const two = (n: number) => String(n).padStart(2, "0");
  const day = `${t.getFullYear()}${two(t.getMonth() + 1)}${two(t.getDate())}`;
  return `${log}.${day}-${two(t.getHours())}${two(t.getMinutes())}${two(t.getSeconds())}`;
}
