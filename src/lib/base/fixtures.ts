import type { Metrics } from "./metrics.ts";

/**
 * The values of a metric by its labels, as { "type=a,code=1": 2 }, without those that are 0. For a histogram,
 * how many there were and their sum, as { count: 1, sum: 2.5 }.
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
