import type { Metrics } from "../../../../lib/base/metrics.ts";

export interface ProviderMetrics {
  ran(plugin: string, seconds: number, failed: boolean): void;
}

/** Made when there are credential programs: a node without them does not speak of them. */
export function providerMetrics(metrics: Metrics, configHash: string): ProviderMetrics {
  const errors = metrics.counter({
    name: "kubelet_credential_provider_plugin_errors_total",
    help: "Runs of credential programs that failed.",
    labels: ["plugin_name"],
  });
  const duration = metrics.histogram({
    name: "kubelet_credential_provider_plugin_duration",
    help: "Time that runs of credential programs took, in seconds.",
    labels: ["plugin_name"],
    buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
  });
  metrics
    .gauge({
      name: "kubelet_credential_provider_config_info",
      help: "The configuration of credential programs that is in use, by its hash.",
      labels: ["hash"],
    })
    .set({ hash: configHash }, 1);
  return {
    ran: (plugin, seconds, failed) => {
      duration.observe({ plugin_name: plugin }, seconds);
      if (failed) errors.inc({ plugin_name: plugin });
    },
  };
}
