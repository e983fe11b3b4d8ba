import type { Metrics } from "../../../../lib/base/metrics.ts";

export interface ProviderMetrics {
  ran(plugin: string, seconds: number, failed: boolean): void;
}

/** Registered only on nodes with credential provider plugins. */
export function providerMetrics(metrics: Metrics, configHash: string): ProviderMetrics {
  const errors = metrics.counter({
    name: "kubelet_credential_provider_plugin_errors_total",
    help: "Number of errors from credential provider plugin.",
    labels: ["plugin_name"],
  });
  const duration = metrics.histogram({
    name: "kubelet_credential_provider_plugin_duration",
    help: "Duration of execution in seconds for credential provider plugin.",
    labels: ["plugin_name"],
    buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
  });
  metrics
    .gauge({
      name: "kubelet_credential_provider_config_info",
      help: "Information about the last applied credential provider configuration with hash as label.",
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
