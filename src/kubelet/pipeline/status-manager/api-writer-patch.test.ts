import assert from "node:assert/strict";
import { test } from "node:test";
import { fakePod } from "../../../lib/model/fake-pod.ts";
import type { PodStatus } from "../../../lib/model/pod.ts";
import { isProgress, statusPatch } from "./api-writer-patch.ts";

const since = "2026-01-01T00:00:00Z";
const ready = (status: "True" | "False", more: object = {}) => ({
  type: "Ready",
  status,
  lastProbeTime: null as unknown as string,
  lastTransitionTime: since,
  ...more,
});

const cases: { rule: string; before: PodStatus; after: PodStatus; patch: object | undefined }[] = [
  {
    rule: "the same status needs no patch",
    before: { phase: "Running" },
    after: { phase: "Running" },
    patch: undefined,
  },
  {
    rule: "null, empty and absent are the same",
    before: { phase: "Running", message: "", podIPs: [], conditions: [ready("True")] },
    after: { phase: "Running", conditions: [{ type: "Ready", status: "True", lastTransitionTime: since }] },
    patch: undefined,
  },
  {
    rule: "empty resources of a pod that never ran are written",
    before: { phase: "Pending" },
    after: { phase: "Pending", resources: {} },
    patch: { resources: {} },
  },
  {
    rule: "the patch has only changes, and removed fields are null",
    before: { phase: "Pending", hostIP: "10.0.0.9", reason: "Slow" },
    after: { phase: "Running", hostIP: "10.0.0.9", podIP: "10.1.0.1", podIPs: [{ ip: "10.1.0.1" }] },
    patch: { phase: "Running", reason: null, podIP: "10.1.0.1", podIPs: [{ ip: "10.1.0.1" }] },
  },
  {
    rule: "the status of a ResourceClaim is merged by its name",
    before: { resourceClaimStatuses: [{ name: "a" }, { name: "b" }] },
    after: { resourceClaimStatuses: [{ name: "a", resourceClaimName: "p-a" }] },
    patch: {
      "$setElementOrder/resourceClaimStatuses": [{ name: "a" }],
      resourceClaimStatuses: [
        { name: "a", resourceClaimName: "p-a" },
        { $patch: "delete", name: "b" },
      ],
    },
  },
  {
    rule: "a condition is merged by its type, with the order of all",
    before: {
      conditions: [
        ready("False", { reason: "ContainersNotReady", message: "m" }),
        { type: "PodScheduled", status: "True" },
      ],
    },
    after: {
      conditions: [
        ready("True", { lastTransitionTime: "2026-01-01T00:00:05Z" }),
        { type: "PodScheduled", status: "True" },
      ],
    },
    patch: {
      "$setElementOrder/conditions": [{ type: "Ready" }, { type: "PodScheduled" }],
      conditions: [
        {
          type: "Ready",
          status: "True",
          lastTransitionTime: "2026-01-01T00:00:05Z",
          reason: null,
          message: null,
        },
      ],
    },
  },
  {
    rule: "a condition that is gone is deleted by its type",
    before: { conditions: [{ type: "PodResizePending", status: "True" }, ready("True")] },
    after: { conditions: [ready("True")] },
    patch: {
      "$setElementOrder/conditions": [{ type: "Ready" }],
      conditions: [{ $patch: "delete", type: "PodResizePending" }],
    },
  },
  {
    rule: "another order of conditions is not a change",
    before: { conditions: [{ type: "A", status: "True" }, ready("True")] },
    after: { conditions: [ready("True"), { type: "A", status: "True" }] },
    patch: undefined,
  },
  {
    rule: "another order of addresses is a change: the first is the primary",
    before: { podIPs: [{ ip: "10.1.0.1" }, { ip: "fd00::1" }] },
    after: { podIPs: [{ ip: "fd00::1" }, { ip: "10.1.0.1" }] },
    patch: { "$setElementOrder/podIPs": [{ ip: "fd00::1" }, { ip: "10.1.0.1" }] },
  },
  {
    rule: "an address that is gone is deleted",
    before: { podIPs: [{ ip: "10.1.0.1" }] },
    after: { podIPs: [{ ip: "10.1.0.2" }] },
    patch: {
      "$setElementOrder/podIPs": [{ ip: "10.1.0.2" }],
      podIPs: [{ ip: "10.1.0.2" }, { $patch: "delete", ip: "10.1.0.1" }],
    },
  },
  {
    rule: "container statuses are sent as a whole list",
    before: { containerStatuses: [container("a", false), container("b", true)] },
    after: { containerStatuses: [container("a", true), container("b", true)] },
    patch: { containerStatuses: [container("a", true), container("b", true)] },
  },
  {
    rule: "only changed entries of a map are sent",
    before: { resources: { requests: { cpu: "1", memory: "1Gi" } } } as PodStatus,
    after: { resources: { requests: { cpu: "2" } } } as PodStatus,
    patch: { resources: { requests: { cpu: "2", memory: null } } },
  },
];

function container(name: string, isReady: boolean) {
  return { name, ready: isReady, restartCount: 0, image: "i", imageID: "", lastState: {} };
}

for (const { rule, before, after, patch } of cases)
  test(`status patch: ${rule}`, () => {
    const pod = fakePod({ metadata: { resourceVersion: "7" }, status: before });
    const expected = patch && { metadata: { uid: pod.metadata.uid, resourceVersion: "7" }, status: patch };
    assert.deepEqual(statusPatch(pod, after), expected);
  });

const sandbox = (status: "True" | "False") => ({ type: "PodReadyToStartContainers", status });
const waiting = (reason: string, more: object = {}) =>
  ({ ...container("a", false), state: { waiting: { reason } }, ...more }) as never;
const starting: PodStatus = {
  phase: "Pending",
  startTime: since,
  hostIP: "10.0.0.1",
  qosClass: "BestEffort",
  conditions: [ready("False", { reason: "ContainersNotReady", message: "m" }), sandbox("False")],
  containerStatuses: [waiting("ContainerCreating")],
};

const progressCases: {
  rule: string;
  before?: PodStatus;
  after: PodStatus;
  progress: boolean;
}[] = [
  { rule: "containers that wait for their turn are a start", after: starting, progress: true },
  {
    rule: "the sandbox may be reported with it",
    after: { ...starting, podIP: "10.1.0.1", conditions: [sandbox("True")] },
    progress: true,
  },
  {
    rule: "the resources of the pod may be reported with it",
    after: { ...starting, allocatedResources: { cpu: "1" }, resources: { requests: { cpu: "1" } } },
    progress: true,
  },
  {
    rule: "containers that wait for init containers are a start",
    after: {
      ...starting,
      initContainerStatuses: [waiting("PodInitializing")],
      containerStatuses: [waiting("PodInitializing")],
    },
    progress: true,
  },
  {
    rule: "an init container that runs is more than a start",
    after: {
      ...starting,
      initContainerStatuses: [{ ...container("i", false), state: { running: {} } }],
      containerStatuses: [waiting("PodInitializing")],
    },
    progress: false,
  },
  {
    rule: "a container that waits for another reason is more than a start",
    after: { ...starting, containerStatuses: [waiting("ImagePullBackOff")] },
    progress: false,
  },
  {
    rule: "a container that restarts is more than a start",
    after: { ...starting, containerStatuses: [waiting("ContainerCreating", { restartCount: 1 })] },
    progress: false,
  },
  {
    rule: "a pod with a reason is more than a start",
    after: { ...starting, reason: "Evicted" },
    progress: false,
  },
  { rule: "a failed pod is more than a start", after: { ...starting, phase: "Failed" }, progress: false },
  {
    rule: "a container that no longer runs is more than a start",
    before: { ...starting, containerStatuses: [container("a", true)] },
    after: starting,
    progress: false,
  },
  {
    rule: "a ready sandbox is one",
    before: starting,
    after: { ...starting, podIP: "10.1.0.1", conditions: [starting.conditions![0]!, sandbox("True")] },
    progress: true,
  },
  {
    rule: "a container that is created in it is part of it",
    before: starting,
    after: {
      ...starting,
      conditions: [starting.conditions![0]!, sandbox("True")],
      containerStatuses: [waiting("ContainerCreating", { containerID: "containerd://1" })],
    },
    progress: true,
  },
  {
    rule: "a sandbox that has stopped with its containers is none",
    before: {
      ...starting,
      conditions: [starting.conditions![0]!, sandbox("True")],
      containerStatuses: [waiting("ContainerCreating", { containerID: "containerd://1" })],
    },
    after: starting,
    progress: false,
  },
  {
    rule: "a container that runs in it is more than a sandbox",
    before: starting,
    after: {
      ...starting,
      conditions: [starting.conditions![0]!, sandbox("True")],
      containerStatuses: [container("a", true)],
    },
    progress: false,
  },
  {
    rule: "another condition is more than a sandbox",
    before: starting,
    after: { ...starting, conditions: [ready("True"), sandbox("True")] },
    progress: false,
  },
  {
    rule: "the sandbox of a pod that runs is more than progress",
    before: { phase: "Running", conditions: [sandbox("False")] },
    after: { phase: "Running", conditions: [sandbox("True")] },
    progress: false,
  },
  {
    rule: "a sandbox that has stopped is one, of a running pod too",
    before: { phase: "Running", containerStatuses: [container("a", true)], conditions: [sandbox("True")] },
    after: { phase: "Running", containerStatuses: [container("a", true)], conditions: [sandbox("False")] },
    progress: true,
  },
];

for (const { rule, before = { phase: "Pending" }, after, progress } of progressCases)
  test(`progress: ${rule}`, () => {
    const pod = fakePod({ status: before });
    assert.equal(isProgress(pod, statusPatch(pod, after)!), progress);
  });

test("progress: a pod that is being deleted is more than a start", () => {
  const pod = fakePod({ metadata: { deletionTimestamp: since }, status: { phase: "Pending" } });
  assert.equal(isProgress(pod, statusPatch(pod, starting)!), false);
});
