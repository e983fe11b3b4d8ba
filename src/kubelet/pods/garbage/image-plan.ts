import { type MonotonicTime, msBetween } from "../../../lib/base/time.ts";
import type { ImageRecord } from "./image-records.ts";

export interface ImageGcPolicy {
  /** Images are removed when the usage of the image filesystem reaches this percentage, … */
  highPercent: number;
  /** … until it has dropped to this one. */
  lowPercent: number;
  /** A younger image may be about to be used. */
  minAgeMs: number;
  /** An image that was not used for so long is removed in any case; 0 for never. */
  maxAgeMs: number;
}

export interface DiskSpace {
  capacity: number;
  available: number;
}

/** Images that may be removed: not in use, not pinned. Least recently used first, then first seen. */
export function evictionOrder(records: Iterable<ImageRecord>): ImageRecord[] {
  return [...records]
    .filter((image) => !image.used && !image.pinned)
    .sort((a, b) => order(a.lastUsed, b.lastUsed) || order(a.firstSeen, b.firstSeen));
}

/** Undefined comes first. */
function order(a: MonotonicTime | undefined, b: MonotonicTime | undefined): number {
  if (a === undefined || b === undefined) return a === b ? 0 : a === undefined ? -1 : 1;
  return msBetween(b, a);
}

/**
 * Images that were unused for too long. Uses before the agent started are unknown, so the agent must have run for as long.
 */
export function unusedTooLong(
  order: readonly ImageRecord[],
  policy: ImageGcPolicy,
  time: { now: MonotonicTime; startedAt: MonotonicTime },
): ImageRecord[] {
  const { maxAgeMs } = policy;
  if (maxAgeMs === 0 || msBetween(time.startedAt, time.now) <= maxAgeMs) return [];
  return order.filter(({ lastUsed }) => lastUsed === undefined || msBetween(lastUsed, time.now) > maxAgeMs);
}

/** Images of the minimum age: a pod that pulled them had time to use them. */
export function oldEnough(
  order: readonly ImageRecord[],
  policy: ImageGcPolicy,
  now: MonotonicTime,
): ImageRecord[] {
  return order.filter((image) => msBetween(image.firstSeen, now) >= policy.minAgeMs);
}

export interface Shortage {
  usedPercent: number;
  bytesToFree: number;
}

/** Undefined below the high threshold. */
export function shortageOf(space: DiskSpace, policy: ImageGcPolicy): Shortage | undefined {
  const { capacity } = space;
  const available = Math.min(space.available, capacity);
  const usedPercent = 100 - Math.floor((available * 100) / capacity);
  if (usedPercent < policy.highPercent) return undefined;
  return {
    usedPercent,
    bytesToFree: Math.floor((capacity * (100 - policy.lowPercent)) / 100) - available,
  };
}

const units = ["B", "KiB", "MiB", "GiB", "TiB"];

export function formatBytes(bytes: number): string {
  const power = Math.min(units.length - 1, Math.max(0, Math.floor(Math.log2(Math.max(1, bytes)) / 10)));
  return power === 0 ? `${bytes} B` : `${(bytes / 1024 ** power).toFixed(1)} ${units[power]}`;
}
