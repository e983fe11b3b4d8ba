import { dateOf, type WallTime, wallTime } from "../../lib/base/time.ts";
/** A time in API format: RFC 3339, in whole seconds. */
export function rfc3339(time: WallTime): string {
  return `${dateOf(time).toISOString().slice(0, 19)}Z`;
}

/** The runtime counts in nanoseconds since the epoch. */
export function timeOfNs(ns: bigint): WallTime {
  return wallTime(Number(ns / 1_000_000n));
}
