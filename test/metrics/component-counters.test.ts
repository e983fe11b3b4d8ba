import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createOrphanMetrics } from "../../src/kubelet/pipeline/sync-loop/orphan-metrics.ts";
import { imageVolumeMetrics } from "../../src/kubelet/pods/volumes/image/image-metrics.ts";
import { volumeMetrics } from "../../src/kubelet/pods/volumes/manager/volume-metrics.ts";
import { topologyMetrics } from "../../src/kubelet/resources/topology/topology-metrics.ts";
import { metricValues } from "../../src/lib/base/fixtures.ts";
import { createMetrics, type Metrics } from "../../src/lib/base/metrics.ts";

/** Events on a node, and the values of the metrics after them. */
const rows: [what: string, act: (metrics: Metrics) => void, expected: Record<string, number>][] = [
  [
    "a container with two image volumes is created, and one with three is not because of them",
    (metrics) => {
      const volumes = imageVolumeMetrics(metrics);
      volumes.created(2, false);
      volumes.created(3, true);
    },
    {
      kubelet_image_volume_requested_total: 5,
      kubelet_image_volume_mounted_succeed_total: 2,
      kubelet_image_volume_mounted_errors_total: 3,
    },
  ],
  [
    "a cleanup finds three orphaned pods and fails for one, after another one",
    (metrics) => {
      const orphans = createOrphanMetrics(metrics);
      orphans.cleanedUp(9, 8);
      orphans.cleanedUp(3, 1);
    },
    { kubelet_orphan_pod_cleaned_volumes: 3, kubelet_orphan_pod_cleaned_volumes_errors: 1 },
  ],
  [
    "three volumes are reconstructed, one in vain, and two are cleaned up, one in vain",
    (metrics) => {
      const volumes = volumeMetrics(metrics, () => new Map() as never);
      for (const ok of [true, true, false]) volumes.reconstructed(ok);
      for (const ok of [true, false]) volumes.forceCleaned(ok);
    },
    {
      reconstruct_volume_operations_total: 3,
      reconstruct_volume_operations_errors_total: 1,
      force_cleaned_failed_volume_operations_total: 2,
      force_cleaned_failed_volume_operation_errors_total: 1,
    },
  ],
  [
    "two pods are admitted by the topology manager, one is rejected",
    (metrics) => {
      const topology = topologyMetrics(metrics);
      for (const ms of [1, 2, 4]) {
        topology.requested();
        topology.took(ms);
      }
      topology.failed();
    },
    {
      kubelet_topology_manager_admission_requests_total: 3,
      kubelet_topology_manager_admission_errors_total: 1,
      kubelet_topology_manager_admission_duration_ms: 7,
    },
  ],
];

// parity: metric /metrics kubelet_image_volume_requested_total, metric /metrics kubelet_image_volume_mounted_succeed_total
// parity: metric /metrics kubelet_image_volume_mounted_errors_total, metric /metrics kubelet_orphan_pod_cleaned_volumes
// parity: metric /metrics kubelet_orphan_pod_cleaned_volumes_errors, metric /metrics reconstruct_volume_operations_total
// parity: metric /metrics reconstruct_volume_operations_errors_total
// parity: metric /metrics force_cleaned_failed_volume_operations_total
// parity: metric /metrics force_cleaned_failed_volume_operation_errors_total
// parity: metric /metrics kubelet_topology_manager_admission_requests_total
// parity: metric /metrics kubelet_topology_manager_admission_errors_total
// parity: metric /metrics kubelet_topology_manager_admission_duration_ms
describe("metrics that count what components did", () => {
  for (const [what, act, expected] of rows)
    it(what, async () => {
      const metrics = createMetrics();
      act(metrics);
      for (const [name, value] of Object.entries(expected)) {
        const found = await metricValues(metrics, name);
        assert.equal(found.sum ?? found[""], value, name);
      }
    });
});
