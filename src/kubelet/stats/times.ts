/** As the API writes times: RFC 3339, in whole seconds. */
export function rfc3339(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, 19)}Z`;
}

/** The runtime counts in nanoseconds since the epoch. */
export function msOfNs(ns: bigint): number {
  return Number(ns / 1_000_000n);
}
