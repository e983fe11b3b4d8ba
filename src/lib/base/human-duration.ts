/** A duration in two or three digits, as kubectl prints it: `5m10s`, `3h`, `2d`. */
export function humanDuration(ms: number): string {
  const seconds = Math.trunc(ms / 1000);
  // Clocks of two machines differ a little: one second ahead is still "now".
  if (seconds < -1) return "<invalid>";
  if (seconds < 0) return "0s";
  if (seconds < 120) return `${seconds}s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 10) return two(minutes, "m", seconds % 60, "s");
  if (minutes < 180) return `${minutes}m`;
  const hours = Math.floor(minutes / 60);
  if (hours < 8) return two(hours, "h", minutes % 60, "m");
  if (hours < 48) return `${hours}h`;
  const days = Math.floor(hours / 24);
  if (days < 8) return two(days, "d", hours % 24, "h");
  if (days < 2 * 365) return `${days}d`;
  const years = Math.floor(days / 365);
  return years < 8 ? two(years, "y", days % 365, "d") : `${years}y`;
}

function two(large: number, largeUnit: string, small: number, smallUnit: string): string {
  return small === 0 ? `${large}${largeUnit}` : `${large}${largeUnit}${small}${smallUnit}`;
}

/** The time from a timestamp until now. */
export function since(timestamp: string | null | undefined, now: number): string {
  const startedAt = timestamp ? Date.parse(timestamp) : Number.NaN;
  return Number.isNaN(startedAt) ? "<unknown>" : humanDuration(now - startedAt);
}
