/** A moment to the nanosecond: log rows have that much, and a Date does not. */
export interface LogTime {
  /** Milliseconds since the epoch. */
  readonly ms: number;
  /** Nanoseconds within the millisecond. */
  readonly nanos: number;
}

const form = /^(\d{4})-(\d\d)-(\d\d)[Tt](\d\d):(\d\d):(\d\d)(?:[.,](\d+))?(?:[Zz]|([+-])(\d\d):(\d\d))$/;

/** RFC 3339 with any number of digits behind the second. Undefined for anything else. */
export function parseLogTime(text: string): LogTime | undefined {
  const found = form.exec(text);
  if (!found) return undefined;
  const [, year, month, day, hour, minute, second, fraction = "", sign, offsetHours, offsetMinutes] = found;
  const ms = Date.UTC(
    Number(year),
    Number(month) - 1,
    Number(day),
    Number(hour),
    Number(minute),
    Number(second),
  );
  // Date.UTC takes the 31st of February for the 3rd of March.
  if (new Date(ms).getUTCDate() !== Number(day) || Number(month) > 12) return undefined;
  if (Number(hour) > 23 || Number(minute) > 59 || Number(second) > 59) return undefined;
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

/** The time of a row as it is shown: always nine digits behind the second, in the zone that the runtime wrote. */
export function formatLogTime(text: string): string {
  const at = /(?:[.,](\d+))?(?:[Zz]|[+-]\d\d:\d\d)$/.exec(text);
  if (!at) return text;
  const fraction = at[1] ?? "";
  const zone = text.slice(at.index + (fraction ? fraction.length + 1 : 0));
  const digits = fraction.padEnd(9, "0").slice(0, 9);
  return `${text.slice(0, at.index)}.${digits}${zone === "+00:00" || zone === "z" ? "Z" : zone}`;
}

/**
 * Determines which rows are older than a moment. For most rows the date and time of day in their text decide: only
 * those of the same second are parsed.
 */
export class TimeFilter {
  readonly #moment: LogTime;
  /** The second of the moment, as it is written in a zone. */
  #seconds = new Map<string, string>();

  constructor(moment: LogTime) {
    this.#moment = moment;
  }

  /** A row whose time makes no sense is not known to be older. */
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
    // What cannot be written is before or after all that can.
    const date = new Date(Math.min(Math.max(local, 0), Date.UTC(9999, 0, 1)));
    const second = date.toISOString().slice(0, 19);
    // A log has one zone, or two when the clocks change; anything else is garbage.
    if (this.#seconds.size < 8) this.#seconds.set(zone, second);
    return second;
  }
}
