declare const wall: unique symbol;
declare const monotonic: unique symbol;

/**
 * Wall-clock time. For display, storage, and comparison with certificates, API objects, runtime
 * timestamps and file times. It may jump either way at any moment, so no wait depends on it.
 *
 * At run time a number of milliseconds since the epoch, to the compiler neither a number nor a MonotonicTime: points of
 * the same kind compare with `<` and `===`, everything else goes through the functions below (docs/adr/0024-two-clocks.md).
 */
export interface WallTime {
  readonly [wall]: true;
}

/**
 * Never goes back, and stops while the machine is suspended. For back-off, rates, deadlines, TTLs,
 * health and durations. Counts from an arbitrary origin, so it means nothing to another process: it cannot be
 * converted to a number.
 */
export interface MonotonicTime {
  readonly [monotonic]: true;
}

/** A time from its number at run time. Not for components: they get their times from a `Clock`. */
export function timeOf<T extends WallTime | MonotonicTime>(ms: unknown): T {
  return ms as T;
}

function numberOf(time: unknown): number {
  return time as number;
}

/** A point in monotonic time that is never reached. */
export const endOfTime = timeOf<MonotonicTime>(Number.POSITIVE_INFINITY);

export function plusMs<T extends WallTime | MonotonicTime>(time: T, ms: number): T {
  return timeOf(numberOf(time) + ms);
}

/** How much later `to` is than `from`; negative if it is earlier. */
export function msBetween(from: WallTime, to: WallTime): number;
export function msBetween(from: MonotonicTime, to: MonotonicTime): number;
export function msBetween(from: unknown, to: unknown): number {
  return numberOf(to) - numberOf(from);
}

/** The earliest of one or more times. */
export function earliest<T extends WallTime | MonotonicTime>(...times: T[]): T {
  return timeOf(Math.min(...times.map(numberOf)));
}

/** The latest of one or more times. */
export function latest<T extends WallTime | MonotonicTime>(...times: T[]): T {
  return timeOf(Math.max(...times.map(numberOf)));
}

/** Converts milliseconds since the epoch, a date, or its text in RFC 3339. An invalid date is NaN: neither before nor after anything. */
export function wallTime(of: number | Date | string): WallTime {
  const ms = typeof of === "number" ? of : typeof of === "string" ? Date.parse(of) : of.getTime();
  return timeOf(ms);
}

/** Milliseconds since the epoch. */
export function epochMs(time: WallTime): number {
  return numberOf(time);
}

export function dateOf(time: WallTime): Date {
  return new Date(epochMs(time));
}

/** The text of a time in the machine's time zone, with nanoseconds, as Go writes it into annotations. */
export function rfc3339Nanos(at: Date, offsetMinutes = -at.getTimezoneOffset()): string {
  const local = new Date(at.getTime() + offsetMinutes * 60_000).toISOString().replace("Z", "000000");
  if (offsetMinutes === 0) return `${local}Z`;
  const ahead = Math.abs(offsetMinutes);
  const [hours, minutes] = [Math.floor(ahead / 60), ahead % 60].map((part) => String(part).padStart(2, "0"));
  return `${local}${offsetMinutes < 0 ? "-" : "+"}${hours}:${minutes}`;
}
