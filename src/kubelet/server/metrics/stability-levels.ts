import type { Family } from "./exposition.ts";

export type StabilityLevel = "ALPHA" | "BETA" | "STABLE" | "INTERNAL";

/** Metrics whose stability level is not ALPHA, as in the reference kubelet. */
const levels: Readonly<Record<string, StabilityLevel>> = {
  apiserver_validation_declarative_validation_mismatch_total: "BETA",
  apiserver_validation_declarative_validation_panic_total: "BETA",
  apiserver_validation_duplicate_validation_error_total: "INTERNAL",
  container_cpu_usage_seconds_total: "STABLE",
  container_memory_working_set_bytes: "STABLE",
  container_start_time_seconds: "STABLE",
  disabled_metrics_total: "BETA",
  hidden_metrics_total: "BETA",
  kubelet_first_network_pod_start_sli_duration_seconds: "INTERNAL",
  kubelet_image_volume_mounted_errors_total: "BETA",
  kubelet_image_volume_mounted_succeed_total: "BETA",
  kubelet_image_volume_requested_total: "BETA",
  kubernetes_build_info: "BETA",
  kubernetes_feature_enabled: "BETA",
  kubernetes_healthcheck: "STABLE",
  kubernetes_healthchecks_total: "STABLE",
  node_cpu_usage_seconds_total: "STABLE",
  node_memory_working_set_bytes: "STABLE",
  pod_cpu_usage_seconds_total: "STABLE",
  pod_memory_working_set_bytes: "STABLE",
  prober_probe_total: "BETA",
  registered_metrics_total: "BETA",
  resource_scrape_error: "STABLE",
  workqueue_adds_total: "BETA",
  workqueue_depth: "BETA",
  workqueue_longest_running_processor_seconds: "BETA",
  workqueue_queue_duration_seconds: "BETA",
  workqueue_retries_total: "BETA",
  workqueue_unfinished_work_seconds: "BETA",
  workqueue_work_duration_seconds: "BETA",
};

export function levelOf(name: string): StabilityLevel {
  return levels[name] ?? "ALPHA";
}

/** Help texts start with the stability level, as in Kubernetes components. */
export function withLevels(families: readonly Family[]): Family[] {
  return families.map((family) => ({ ...family, help: `[${levelOf(family.name)}] ${family.help}` }));
}
