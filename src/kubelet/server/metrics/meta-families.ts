import type { Family } from "./exposition.ts";

type Level = "ALPHA" | "BETA" | "STABLE" | "INTERNAL";

/** Metrics whose stability level is not ALPHA, as in the reference kubelet. */
const levels: Readonly<Record<string, Level>> = {
  kubelet_first_network_pod_start_sli_duration_seconds: "INTERNAL",
  kubelet_image_volume_mounted_errors_total: "BETA",
  kubelet_image_volume_mounted_succeed_total: "BETA",
  kubelet_image_volume_requested_total: "BETA",
  kubernetes_build_info: "BETA",
  kubernetes_feature_enabled: "BETA",
  kubernetes_healthcheck: "STABLE",
  kubernetes_healthchecks_total: "STABLE",
  prober_probe_total: "BETA",
  registered_metrics_total: "BETA",
  disabled_metrics_total: "BETA",
  hidden_metrics_total: "BETA",
};

const meta = ["registered_metrics_total", "disabled_metrics_total", "hidden_metrics_total"];

/** How many metrics are registered. None is deprecated, disabled or hidden here. */
export function metaFamilies(registered: readonly string[]): Family[] {
  const counts = new Map<Level, number>();
  for (const name of [...registered, ...meta]) {
    const level = levels[name] ?? "ALPHA";
    counts.set(level, (counts.get(level) ?? 0) + 1);
  }
  const none = [{ labels: {}, value: 0 }];
  return [
    {
      name: "registered_metrics_total",
      help: "Number of registered metrics by stability level and deprecation version",
      type: "counter",
      samples: [...counts].map(([stability_level, value]) => ({
        labels: { deprecated_version: "", stability_level },
        value,
      })),
    },
    {
      name: "disabled_metrics_total",
      help: "Number of disabled metrics",
      type: "counter",
      samples: none,
    },
    { name: "hidden_metrics_total", help: "Number of hidden metrics", type: "counter", samples: none },
  ];
}
