import type { Registry } from "prom-client";
import type { Family, MetricType } from "./exposition.ts";

const types: readonly string[] = ["counter", "gauge", "histogram", "summary"] satisfies MetricType[];

/** The metrics of a registry. */
export async function registryFamilies(registry: Registry): Promise<Family[]> {
  const metrics = await registry.getMetricsAsJSON();
  return metrics.map(({ name, help, type, values }) => ({
    name,
    help,
    type: (types.includes(String(type)) ? String(type) : "untyped") as MetricType,
    samples: (values ?? []).map(({ labels, value, ...more }) => {
      const full = (more as { metricName?: string }).metricName ?? name;
      return {
        labels: Object.fromEntries(Object.entries(labels).map(([key, of]) => [key, String(of)])),
        value,
        ...(full !== name && { suffix: full.slice(name.length) }),
      };
    }),
  }));
}
