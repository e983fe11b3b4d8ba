import type { Metrics } from "../../../lib/base/metrics.ts";

export interface OrphanMetrics {
  /** A cleanup round has run: how many orphaned pods had files, and how many of those could not be removed. */
  cleanedUp(found: number, failed: number): void;
}

export function createOrphanMetrics(metrics: Metrics): OrphanMetrics {
  const found = metrics.gauge({
    name: "kubelet_orphan_pod_cleaned_volumes",
    help: "Orphaned pods whose directories and volumes were removed in the last cleanup",
  });
  const failed = metrics.gauge({
    name: "kubelet_orphan_pod_cleaned_volumes_errors",
    help: "Orphaned pods whose directories and volumes could not be removed in the last cleanup",
  });
  found.set(0);
  failed.set(0);
  return {
    cleanedUp(foundNow, failedNow) {
      found.set(foundNow);
      failed.set(failedNow);
    },
  };
}
