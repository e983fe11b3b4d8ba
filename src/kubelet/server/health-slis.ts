import { createMetrics, type Metrics } from "../../lib/base/metrics.ts";

/** The results of health checks, as SLI metrics. */
export interface HealthSlis {
  /** A separate registry: it has its own path, and is reset on request. */
  readonly metrics: Metrics;
  observe(check: string, ok: boolean): void;
}

/** Each health request updates these metrics. The metrics alone run no checks. */
export function healthSlis(): HealthSlis {
  const metrics = createMetrics();
  const last = metrics.gauge({
    name: "kubernetes_healthcheck",
    help: "This metric records the result of a single healthcheck.",
    labels: ["name", "type"],
  });
  const total = metrics.counter({
    name: "kubernetes_healthchecks_total",
    help: "This metric records the results of all healthcheck.",
    labels: ["name", "type", "status"],
  });
  return {
    metrics,
    observe(name, ok) {
      const labels = { name, type: "healthz" };
      last.set(labels, ok ? 1 : 0);
      total.inc({ ...labels, status: ok ? "success" : "error" });
    },
  };
}
