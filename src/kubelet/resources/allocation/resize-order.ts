import type { WallTime } from "../../../lib/base/time.ts";

/** The properties that decide in which order the pending resizes of pods are tried. */
export interface PendingPod {
  readonly increasesRequests: boolean;
  readonly priority: number;
  readonly isGuaranteed: boolean;
  /** How long it has been pending; undefined if it was never tried. */
  readonly since: WallTime | undefined;
}

/**
 * The order in which pending resizes are tried: first those that free resources, then by priority, Guaranteed pods before others, then
 * the one that has waited longest.
 */
export function compareResizes(a: PendingPod, b: PendingPod): number {
  return (
    Number(a.increasesRequests) - Number(b.increasesRequests) ||
    b.priority - a.priority ||
    Number(b.isGuaranteed) - Number(a.isGuaranteed) ||
    byTime(a.since, b.since)
  );
}

function byTime(a: WallTime | undefined, b: WallTime | undefined): number {
  if (a === undefined || b === undefined) return Number(a === undefined) - Number(b === undefined);
  return a < b ? -1 : a > b ? 1 : 0;
}
