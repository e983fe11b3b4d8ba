import type { Metrics } from "../../../../lib/base/metrics.ts";

export interface CsiMetrics {
  called(driver: string, method: string, code: string, seconds: number): void;
}

export function createCsiMetrics(metrics: Metrics): CsiMetrics {
  const operations = metrics.histogram({
    name: "csi_operations_seconds",
    help: "Container Storage Interface operation duration with gRPC error code status total",
    labels: ["driver_name", "method_name", "grpc_status_code", "migrated"] as const,
    buckets: [0.1, 0.25, 0.5, 1, 2.5, 5, 10, 15, 25, 50, 120, 300, 600],
  });
  return {
    called: (driver_name, method_name, grpc_status_code, seconds) =>
      operations.observe({ driver_name, method_name, grpc_status_code, migrated: "false" }, seconds),
  };
}
