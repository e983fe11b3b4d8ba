import type { Metrics } from "../../../../lib/base/metrics.ts";

export interface ImageVolumeMetrics {
  /** A container with this many image volumes was created, or failed because of their mounts. */
  created(volumes: number, mountFailed: boolean): void;
}

export function imageVolumeMetrics(metrics: Metrics): ImageVolumeMetrics {
  const requested = metrics.counter({
    name: "kubelet_image_volume_requested_total",
    help: "Number of requested image volumes.",
  });
  const succeeded = metrics.counter({
    name: "kubelet_image_volume_mounted_succeed_total",
    help: "Number of successful image volume mounts.",
  });
  const failed = metrics.counter({
    name: "kubelet_image_volume_mounted_errors_total",
    help: "Number of failed image volume mounts.",
  });
  return {
    created(volumes, mountFailed) {
      requested.inc(volumes);
      (mountFailed ? failed : succeeded).inc(volumes);
    },
  };
}
