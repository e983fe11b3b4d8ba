import assert from "node:assert/strict";
import { test } from "node:test";
import { fakePod } from "../../../lib/model/fake-pod.ts";
import type { PodStatus } from "../../../lib/model/pod.ts";
import { statusPatch } from "./api-writer-patch.ts";

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
    rule: "the patch has only changes, and removed fields are null",
    before: { phase: "Pending", hostIP: "10.0.0.9", reason: "Slow" },
    after: { phase: "Running", hostIP: "10.0.0.9", podIP: "10.1.0.1", podIPs: [{ ip: "10.1.0.1" }] },
    patch: { phase: "Running", reason: null, podIP: "10.1.0.1", podIPs: [{ ip: "10.1.0.1" }] },
  },
  {
    rule: "the status of a claim is merged by its name",
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
