import assert from "node:assert/strict";
import { test } from "node:test";
import type { ContainerId } from "../../../lib/clients/cri/cri.ts";
import type { ContainerStatus, PodStatus } from "../../../lib/model/pod.ts";
import type { ProbeKind } from "../../state/probe-results.ts";
import { outcomeInStatus } from "./outcome-in-status.ts";

const container = (more: Partial<ContainerStatus> = {}): ContainerStatus => ({
  name: "c",
  image: "",
  imageID: "",
  restartCount: 0,
  containerID: "containerd://1",
  state: { running: {} },
  started: true,
  ready: true,
  ...more,
});

const table: [rule: string, status: PodStatus | undefined, passed: ProbeKind[], failed?: ProbeKind[]][] = [
  ["a container that is started and ready", { containerStatuses: [container()] }, ["startup", "readiness"]],
  ["a sidecar", { initContainerStatuses: [container()] }, ["startup", "readiness"]],
  [
    "a container that is started only",
    { containerStatuses: [container({ ready: false })] },
    ["startup"],
    ["readiness"],
  ],
  [
    "a container that is not started",
    { containerStatuses: [container({ started: false, ready: false })] },
    [],
    ["readiness"],
  ],
  [
    "another container of the same name",
    { containerStatuses: [container({ containerID: "containerd://11" })] },
    [],
  ],
  [
    "a container that does not run",
    { containerStatuses: [container({ state: { terminated: { exitCode: 0 } } })] },
    [],
  ],
  ["no status", undefined, []],
];

for (const [rule, status, passed, failed = []] of table)
  test(`a status of ${rule} implies the outcomes of its probes`, () => {
    const kinds: ProbeKind[] = ["startup", "readiness", "liveness"];
    const kindsThat = (outcome: string) =>
      kinds.filter((kind) => outcomeInStatus(status, kind, "1" as ContainerId) === outcome);
    assert.deepEqual([kindsThat("success"), kindsThat("failure")], [passed, failed]);
  });
