/** How long tasks have waited for a resource (PSI): some of them, or all of them at once. */
export interface Pressure {
  readonly some: PressureLine;
  readonly full: PressureLine;
}

export interface PressureLine {
  readonly avg10: number;
  readonly avg60: number;
  readonly avg300: number;
  /** Microseconds. */
  readonly total: number;
}

const none: PressureLine = { avg10: 0, avg60: 0, avg300: 0, total: 0 };

export const noPressure: Pressure = { some: none, full: none };

/** Reads "some avg10=0.00 avg60=0.00 avg300=0.00 total=0" and similar lines. */
export function parsePressure(text: string): Pressure {
  const line = (name: string): PressureLine => {
    const found = new RegExp(`^${name} (.*)$`, "m").exec(text)?.[1];
    if (found === undefined) return none;
    const values = new Map(found.split(" ").map((pair) => pair.split("=") as [string, string]));
    const number = (key: string) => Number(values.get(key) ?? 0) || 0;
    return {
      avg10: number("avg10"),
      avg60: number("avg60"),
      avg300: number("avg300"),
      total: number("total"),
    };
  };
  return { some: line("some"), full: line("full") };
}
