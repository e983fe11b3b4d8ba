import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { operationType } from "./operation-metrics.ts";

describe("operationType", () => {
  const rows: [method: string, operation: string][] = [
    ["Version", "version"],
    ["RunPodSandbox", "run_podsandbox"],
    ["PodSandboxStatus", "podsandbox_status"],
    ["ListPodSandbox", "list_podsandbox"],
    ["CreateContainer", "create_container"],
    ["ListContainers", "list_containers"],
    ["UpdateContainerResources", "update_container"],
    ["ReopenContainerLog", "reopen_container_log"],
    ["ExecSync", "exec_sync"],
    ["GetContainerEvents", "get_container_events"],
    ["RuntimeConfig", "runtime_config"],
    ["UpdateRuntimeConfig", "update_runtime_config"],
    ["PullImage", "pull_image"],
    ["ImageFsInfo", "image_fs_info"],
  ];
  for (const [method, operation] of rows) {
    it(`maps ${method} to ${operation}`, () => assert.equal(operationType(method), operation));
  }
});
