import type { Metrics } from "../../../lib/base/metrics.ts";

export interface DeviceMetrics {
  registered(resource: string): void;
  allocated(resource: string, seconds: number): void;
}

const maxNames = 1000;

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
  /** Registrations that fail count too: their names must not become ever more series. */
  const names = new Set<string>();
  return {
    registered: (resource) => {
      if (names.size < maxNames) names.add(resource);
      if (names.has(resource)) registrations.inc({ resource_name: resource });
    },
    allocated: (resource, seconds) => durations.observe({ resource_name: resource }, seconds),
  };
}
