import type { Metrics } from "../../../lib/base/metrics.ts";

export interface DeviceMetrics {
  registered(resource: string): void;
  allocated(resource: string, seconds: number): void;
}

export function deviceMetrics(metrics: Metrics): DeviceMetrics {
  const registrations = metrics.counter({
    name: "kubelet_device_plugin_registration_total",
    help: "Cumulative number of device plugin registrations. Broken down by resource name.",
    labels: ["resource_name"],
  });
  const durations = metrics.histogram({
    name: "kubelet_device_plugin_alloc_duration_seconds",
    help: "Duration in seconds to serve a device plugin Allocation request. Broken down by resource name.",
    labels: ["resource_name"],
  });
  return {
    registered: (resource) => registrations.inc({ resource_name: resource }),
    allocated: (resource, seconds) => durations.observe({ resource_name: resource }, seconds),
  };
}
