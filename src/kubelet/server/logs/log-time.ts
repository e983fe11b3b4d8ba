/** A time to the nanosecond, as in log entries; a Date has milliseconds. */
export interface LogTime {
  /** Milliseconds since the epoch. */
  readonly ms: number;
  /** Nanoseconds within the millisecond. */
  readonly nanos: number;
}

const msIn400Years = 146_097 * 86_400_000;
const form = /^(\d{4})-(\d\d)-(\d\d)[Tt](\d\d):(\d\d):(\d\d)(?:[.,](\d+))?(?:[Zz]|([+-])(\d\d):(\d\d))$/;

/** RFC 3339 with any number of fractional digits. Undefined for anything else. */
export function parseLogTime(text: string): LogTime | undefined {
  const found = form.exec(text);
  if (!found) return undefined;
  const [, year, month, day, hour, minute, second, fraction = "", sign, offsetHours, offsetMinutes] = found;
  // Date.UTC adds 1900 to years below 100. The calendar repeats every 400 years.
  const ms =
    Date.UTC(
      Number(year) + 400,
      Number(month) - 1,
      Number(day),
      Number(hour),
      Number(minute),
      Number(second),
    ) - msIn400Years;
  // Date.UTC turns 31 February into 3 March.
  if (new Date(ms).getUTCDate() !== Number(day) || Number(month) < 1 || Number(month) > 12) return undefined;
  if (Number(hour) > 23 || Number(minute) > 59 || Number(second) > 59) return undefined;
  if (Number(offsetHours ?? 0) > 23 || Number(offsetMinutes ?? 0) > 59) return undefined;
  const digits = fraction.padEnd(9, "0").slice(0, 9);
  const offset = (Number(offsetHours ?? 0) * 60 + Number(offsetMinutes ?? 0)) * 60_000;
  return {
    ms: ms + Number(digits.slice(0, 3)) - (sign === "-" ? -offset : offset),
    nanos: Number(digits.slice(3)),
  };
}

export function isBefore(a: LogTime, b: LogTime): boolean {
  return a.ms === b.ms ? a.nanos < b.nanos : a.ms < b.ms;
}

/** The time of an entry for output: always nine fractional digits, in the zone that the runtime wrote. */
export function formatLogTime(text: string): string {
  const at = /(?:[.,](\d+))?(?:[Zz]|[+-]\d\d:\d\d)$/.exec(text);
  if (!at) return text;
  const fraction = at[1] ?? "";
  const zone = text.slice(at.index + (fraction ? fraction.length + 1 : 0));
  const digits = fraction.padEnd(9, "0").slice(0, 9);
  return `${text.slice(0, at.index)}.${digits}${zone === "+00:00" || zone === "z" ? "Z" : zone}`;
}

/**
 * Determines which entries are older than a time. For most entries a text comparison is enough: only entries of the same second are parsed.
 */
export class TimeFilter {
  readonly #moment: LogTime;
  /** The second of the time, formatted by zone. */
  #seconds = new Map<string, string>();

  constructor(moment: LogTime) {
    this.#moment = moment;
  }

  /** An entry with an invalid time is not known to be older. */
  isOlder(text: string): boolean {
    const second = this.#secondIn(text.endsWith("Z") ? "Z" : text.slice(-6));
    if (!text.startsWith(second)) return text < second;
    const time = parseLogTime(text);
    return time !== undefined && isBefore(time, this.#moment);
  }

  #secondIn(zone: string): string {
    const known = this.#seconds.get(zone);
    if (known !== undefined) return known;
    const [, sign, hours, minutes] = /^([+-])(\d\d):(\d\d)$/.exec(zone) ?? [];
    const offset = (Number(hours ?? 0) * 60 + Number(minutes ?? 0)) * 60_000;
    const local = this.#moment.ms + (sign === "-" ? -offset : offset);
    // Clamped to the range that can be formatted.
    const date = new Date(Math.min(Math.max(local, 0), Date.UTC(9999, 0, 1)));
    const second = date.toISOString().slice(0, 19);
    // A log has one zone, or two with daylight saving; anything else is invalid.
    if (this.#seconds.size < 8) this.#seconds.set(zone, second);
    return second;
  }
}
