import type { Metrics } from "../../../lib/base/metrics.ts";

export interface OrphanMetrics {
  /** One look for what pods that are gone have left: how many had left something, and of how many it could not be removed. */
  swept(found: number, failed: number): void;
}

export function createOrphanMetrics(metrics: Metrics): OrphanMetrics {
  const found = metrics.gauge({
    name: "kubelet_orphan_pod_cleaned_volumes",
    help: "Pods that were gone and whose folders and volumes were removed in the last round",
  });
  const failed = metrics.gauge({
    name: "kubelet_orphan_pod_cleaned_volumes_errors",
    help: "Those of them whose folders and volumes could not be removed",
  });
  found.set(0);
  failed.set(0);
  return {
    swept(foundNow, failedNow) {
      found.set(foundNow);
      failed.set(failedNow);
    },
  };
}
