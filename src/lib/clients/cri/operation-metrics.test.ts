import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createMetrics } from "../../base/metrics.ts";
import { createOperationMetrics, operationType } from "./operation-metrics.ts";

describe("operationType", () => {
  const rows: [method: string, operation: string][] = [
    ["Version", "version"],
    ["RunPodSandbox", "run_podsandbox"],
    ["PodSandboxStatus", "podsandbox_status"],
    ["ListPodSandbox", "list_podsandbox"],
    ["CreateContainer", "create_container"],
    ["ListContainers", "list_containers"],
    ["UpdateContainerResources", "update_container"],
    ["ExecSync", "exec_sync"],
    ["UpdateRuntimeConfig", "update_runtime_config"],
    ["PullImage", "pull_image"],
    ["ImageFsInfo", "image_fs_info"],
  ];
  for (const [method, operation] of rows) {
    it(`maps ${method} to ${operation}`, () => assert.equal(operationType(method), operation));
  }
});

// parity: metric /metrics kubelet_runtime_operations_total, metric /metrics kubelet_runtime_operations_duration_seconds
describe("operations", () => {
  /** For calls that failed after 2 seconds: the count, the failures and the seconds of each operation. */
  const recorded = async (methods: readonly string[], o?: { countsImageFs: boolean }) => {
    const metrics = createMetrics();
    const operations = createOperationMetrics(metrics, o);
    for (const method of methods) operations.record(method, 2, true);
    const text = await metrics.registry.metrics();
    const found = (name: string) =>
      [...text.matchAll(new RegExp(`^${name}{operation_type="(.*)"} (.*)$`, "gm"))].map(
        ([, operation, value]) => `${operation} ${value}`,
      );
    return [
      found("kubelet_runtime_operations_total"),
      found("kubelet_runtime_operations_errors_total"),
      found("kubelet_runtime_operations_duration_seconds_sum"),
    ];
  };

  it("are counted as often as they are called", async () => {
    const once = "pull_image 1";
    assert.deepEqual(await recorded(["Version", "Version", "PullImage"]), [
      ["version 2", once],
      ["version 2", once],
      ["version 4", "pull_image 2"],
    ]);
  });

  for (const method of ["RuntimeConfig", "ReopenContainerLog", "ListContainerStats", "ListPodSandboxStats"])
    it(`that the reference kubelet does not count are not counted: ${method}`, async () => {
      assert.deepEqual(await recorded([method]), [[], [], []]);
    });

  for (const countsImageFs of [false, true])
    it(`include ImageFsInfo only for CRI-O: ${countsImageFs}`, async () => {
      const [counted] = await recorded(["ImageFsInfo"], { countsImageFs });
      assert.deepEqual(counted, countsImageFs ? ["image_fs_info 1"] : []);
    });
});
