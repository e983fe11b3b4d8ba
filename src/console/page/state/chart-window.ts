const hour = 3600;
/** With less history the chart covers this time, so that the first samples do not look like a trend. */
const shortest = 300;

/** The time that a chart shows, in seconds: the last hour, or from the first sample on, where the measurement began. */
export function chartWindow(first: number | null, last: number | null, now: number): [number, number] {
  const end = last ?? now;
  const start = Math.max(end - hour, first ?? end);
  return [start, Math.max(end, start + shortest)];
}

/** A chart without values states since when there could be some. */
export function emptyText(times: readonly number[], formatTime: (at: number) => string): string {
  const [since] = times;
  return since === undefined ? "No values yet" : `No values yet, measured since ${formatTime(since)}`;
}
