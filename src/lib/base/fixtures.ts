import assert from "node:assert/strict";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import type { Metrics } from "./metrics.ts";

setFlagsFromString("--expose-gc");
const collect = runInNewContext("gc") as () => void;

/** The memory in use, in bytes, without garbage. */
export function usedMemory(): number {
  collect();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

/** How many bytes the result of this work keeps in memory. */
export function memoryOf(work: () => unknown): number {
  const before = usedMemory();
  const kept = work();
  const grown = usedMemory() - before;
  assert.ok(kept);
  return grown;
}

/**
 * The values of a metric by its labels, as { "type=a,code=1": 2 }, without those that are 0. The value of a
 * histogram is the count and the sum of its observations: { count: 1, sum: 2.5 }.
 */
export async function metricValues(metrics: Metrics, name: string): Promise<Record<string, number>> {
  const metric = await metrics.registry.getSingleMetric(name)?.get();
  if (!metric) throw new Error(`there is no metric ${name}`);
  const values: Record<string, number> = {};
  for (const { labels, value, ...more } of metric.values) {
    const part = (more as { metricName?: string }).metricName?.slice(name.length + 1);
    if (part === "bucket" || value === 0) continue;
    const text = Object.entries(labels).map(([label, of]) => `${label}=${of}`);
    values[[...text, ...(part ? [part] : [])].join(",")] = value;
  }
  return values;
}
