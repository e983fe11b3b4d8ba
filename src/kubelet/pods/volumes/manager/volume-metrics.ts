import type { Metrics } from "../../../../lib/base/metrics.ts";
import type { VolumeSpec } from "../volume-plugin.ts";

const buckets = [0.1, 0.25, 0.5, 1, 2.5, 5, 10, 15, 25, 50, 120, 300, 600];

export type VolumeCounts = Iterable<{
  plugin: string;
  state: "desired_state_of_world" | "actual_state_of_world";
}>;

export interface VolumeMetrics {
  operation(what: { plugin: string; migrated: boolean; name: string; ok: boolean }, seconds: number): void;
  /** From the registration of the pod to the completed mount. */
  mounted(plugin: string, seconds: number): void;
  reconstructed(ok: boolean): void;
  forceCleaned(ok: boolean): void;
}

export function volumeMetrics(metrics: Metrics, counts: () => VolumeCounts): VolumeMetrics {
  const operation = operationMetric(metrics);
  const totals = metrics.histogram({
    name: "volume_operation_total_seconds",
    help: "Storage operation end to end duration in seconds",
    labels: ["operation_name", "plugin_name"],
    buckets,
  });
  metrics.gauge({
    name: "volume_manager_total_volumes",
    help: "Number of volumes in Volume Manager",
    labels: ["plugin_name", "state"],
    collect(gauge) {
      gauge.reset();
      for (const { plugin, state } of counts()) gauge.inc({ plugin_name: plugin, state });
    },
  });
  const reconstructions = metrics.counter({
    name: "reconstruct_volume_operations_total",
    help: "The number of volumes that were attempted to be reconstructed from the operating system during kubelet startup. This includes both successful and failed reconstruction.",
  });
  const reconstructionErrors = metrics.counter({
    name: "reconstruct_volume_operations_errors_total",
    help: "The number of volumes that failed reconstruction from the operating system during kubelet startup.",
  });
  const cleanings = metrics.counter({
    name: "force_cleaned_failed_volume_operations_total",
    help: "The number of volumes that were cleaned up after their reconstruction failed during kubelet startup. This includes both successful and failed cleanups.",
  });
  const cleaningErrors = metrics.counter({
    name: "force_cleaned_failed_volume_operation_errors_total",
    help: "The number of volumes that failed force cleanup after their reconstruction failed during kubelet startup.",
  });
  return {
    operation,
    mounted: (plugin, seconds) =>
      totals.observe({ operation_name: "overall_volume_mount", plugin_name: plugin }, seconds),
    reconstructed(ok) {
      reconstructions.inc();
      if (!ok) reconstructionErrors.inc();
    },
    forceCleaned(ok) {
      cleanings.inc();
      if (!ok) cleaningErrors.inc();
    },
  };
}

function operationMetric(metrics: Metrics): VolumeMetrics["operation"] {
  const operations = metrics.histogram({
    name: "storage_operation_duration_seconds",
    help: "Storage operation duration",
    labels: ["migrated", "operation_name", "status", "volume_plugin"],
    buckets,
  });
  return ({ plugin, migrated, name, ok }, seconds) => {
    const status = ok ? "success" : "fail-unknown";
    const labels = { migrated: String(migrated), operation_name: name, status, volume_plugin: plugin };
    operations.observe(labels, seconds);
  };
}

/** The duration of setting the group of a volume's files. */
export function ownershipMetric(
  metrics: Metrics,
): (plugin: string, spec: VolumeSpec | undefined, ok: boolean, seconds: number) => void {
  const operation = operationMetric(metrics);
  return (plugin, spec, ok, seconds) =>
    operation(
      { plugin: metricName(plugin, spec), migrated: false, name: "volume_apply_access_control", ok },
      seconds,
    );
}

/** CSI volumes are counted by their driver. */
export function metricName(plugin: string, spec: VolumeSpec | undefined): string {
  const driver = driverOf(spec);
  return driver && plugin === "kubernetes.io/csi" ? `${plugin}:${driver}` : plugin;
}

/** The duration of measuring volume usage. */
export function measurementMetric(metrics: Metrics): (source: string, seconds: number) => void {
  const durations = metrics.histogram({
    name: "kubelet_volume_metric_collection_duration_seconds",
    help: "Duration in seconds to calculate volume stats",
    labels: ["metric_source"],
  });
  return (source, seconds) => durations.observe({ metric_source: source }, seconds);
}

/** The CSI driver of a volume, if it has one. */
export function driverOf(spec: VolumeSpec | undefined): string | undefined {
  return spec?.persistent?.spec.csi?.driver ?? spec?.volume.csi?.driver;
}
