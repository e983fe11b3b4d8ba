/** The smallest value that at least `percent` of all values do not exceed. */
export function percentile(values: readonly number[], percent: number): number {
  if (values.length === 0) throw new RangeError("no values");
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.max(0, Math.ceil((percent / 100) * sorted.length) - 1)]!;
}

export function median(values: readonly number[]): number {
  if (values.length === 0) throw new RangeError("no values");
  const sorted = [...values].sort((a, b) => a - b);
  const middle = (sorted.length - 1) / 2;
  return (sorted[Math.floor(middle)]! + sorted[Math.ceil(middle)]!) / 2;
}

/** One figure over all rounds. */
export interface Summary {
  readonly median: number;
  readonly least: number;
  readonly most: number;
  /** In the order of the rounds. */
  readonly values: readonly number[];
}

export function summarize(values: readonly number[]): Summary {
  return { median: median(values), least: Math.min(...values), most: Math.max(...values), values };
}

export function ms(value: number): string {
  return value < 10_000 ? `${Math.round(value)} ms` : `${(value / 1000).toFixed(2)} s`;
}

/** Prints the ratio and whether it is within the limit; returns false if it is over the limit. */
export function checkRatio(what: string, ours: number, baseline: number, limit: number): boolean {
  const ratio = ours / baseline;
  const result = ratio <= limit ? "ok" : "OVER";
  console.log(
    `${what}: kubelet ${ms(ours)}, baseline ${ms(baseline)}: ${ratio.toFixed(2)} times (limit ${limit}) ${result}`,
  );
  return ratio <= limit;
}

/** Milliseconds since the epoch with fractions: comparable with the runtime's own times of the same machine. */
export function preciseNow(): number {
  return performance.timeOrigin + performance.now();
}
