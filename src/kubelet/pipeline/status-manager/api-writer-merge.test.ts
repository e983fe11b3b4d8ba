import assert from "node:assert/strict";
import { test } from "node:test";
import { wallTime } from "../../../lib/base/time.ts";
import type { PodStatus } from "../../../lib/model/pod.ts";
import { mergeStatus } from "./api-writer-merge.ts";

const now = Date.UTC(2026, 0, 1, 12);
const nowText = "2026-01-01T12:00:00Z";
const old = "2026-01-01T00:00:00Z";
const is = (type: string, status = "True", more: object = {}) => ({
  type,
  status,
  lastTransitionTime: old,
  ...more,
});

interface Case {
  rule: string;
  api: PodStatus;
  own: PodStatus;
  couldHaveRunningContainers?: boolean;
  isMirror?: boolean;
  merged: object;
}

const cases: Case[] = [
  {
    rule: "fields of a newer API server are kept",
    api: { phase: "Pending", fromTheFuture: [{ name: "a" }] } as PodStatus,
    own: { phase: "Running", conditions: [] },
    merged: { phase: "Running", conditions: [], fromTheFuture: [{ name: "a" }] },
  },
  {
    rule: "conditions of other clients are kept as they are in the API",
    api: { phase: "Running", conditions: [is("example.com/gate"), is("Ready", "False")] },
    own: {
      phase: "Running",
      conditions: [is("example.com/gate", "False"), is("example.com/gone"), is("Ready")],
    },
    merged: { phase: "Running", conditions: [is("example.com/gate"), is("Ready")] },
  },
  {
    rule: "a kubelet condition that is no longer set is removed",
    api: { conditions: [is("PodResizePending"), is("Ready")] },
    own: { conditions: [is("Ready")] },
    merged: { conditions: [is("Ready")] },
  },
  {
    rule: "a terminal phase is written only when no container can be running",
    api: { phase: "Running", conditions: [] },
    own: { phase: "Failed", reason: "Evicted", message: "m", conditions: [is("DisruptionTarget")] },
    couldHaveRunningContainers: true,
    merged: { phase: "Running", conditions: [] },
  },
  {
    rule: "DisruptionTarget is written with the terminal phase, with the current time",
    api: { phase: "Running", conditions: [] },
    own: { phase: "Failed", reason: "Evicted", message: "m", conditions: [is("DisruptionTarget")] },
    merged: {
      phase: "Failed",
      reason: "Evicted",
      message: "m",
      conditions: [is("DisruptionTarget", "True", { lastTransitionTime: nowText })],
    },
  },
  {
    rule: "DisruptionTarget of another client is kept while the pod runs",
    api: {
      phase: "Running",
      conditions: [is("DisruptionTarget", "True", { reason: "EvictionByEvictionAPI" })],
    },
    own: { phase: "Running", conditions: [] },
    merged: {
      phase: "Running",
      conditions: [is("DisruptionTarget", "True", { reason: "EvictionByEvictionAPI" })],
    },
  },
  {
    rule: "a terminal phase of another client is kept, and the pod is not ready",
    api: { phase: "Failed", reason: "NodeLost", conditions: [is("Ready")] },
    own: { phase: "Running", conditions: [is("Ready"), is("ContainersReady"), is("Initialized")] },
    couldHaveRunningContainers: true,
    merged: {
      phase: "Failed",
      reason: "NodeLost",
      conditions: [
        is("Ready", "False", { reason: "PodFailed", lastTransitionTime: nowText }),
        is("ContainersReady", "False", { reason: "PodFailed", lastTransitionTime: nowText }),
        is("Initialized"),
      ],
    },
  },
  {
    rule: "a static pod that runs again after its node was shut down is running in its mirror, too",
    api: { phase: "Failed", reason: "Terminated", message: "m", conditions: [is("Ready", "False")] },
    own: { phase: "Running", conditions: [is("Ready")] },
    couldHaveRunningContainers: true,
    isMirror: true,
    merged: { phase: "Running", conditions: [is("Ready")] },
  },
  {
    rule: "Succeeded does not become Failed",
    api: { phase: "Succeeded", conditions: [] },
    own: { phase: "Failed", reason: "Evicted", conditions: [] },
    merged: { phase: "Succeeded", conditions: [] },
  },
  {
    rule: "resource claims are kept, and the observed generation never decreases",
    api: {
      resourceClaimStatuses: [{ name: "gpu", resourceClaimName: "x" }],
      observedGeneration: 3,
      conditions: [],
    },
    own: { observedGeneration: 2, conditions: [] },
    merged: {
      resourceClaimStatuses: [{ name: "gpu", resourceClaimName: "x" }],
      observedGeneration: 3,
      conditions: [],
    },
  },
];

for (const { rule, api, own, couldHaveRunningContainers = false, isMirror = false, merged } of cases)
  test(`merged status: ${rule}`, () => {
    assert.deepEqual(
      mergeStatus(api, own, { couldHaveRunningContainers, isMirror, now: wallTime(now) }),
      merged,
    );
  });
