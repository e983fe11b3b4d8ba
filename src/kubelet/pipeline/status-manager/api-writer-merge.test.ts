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
  merged: object;
}

const cases: Case[] = [
  {
    rule: "conditions of others stay as the API has them, whatever we remember of them",
    api: { phase: "Running", conditions: [is("example.com/gate"), is("Ready", "False")] },
    own: {
      phase: "Running",
      conditions: [is("example.com/gate", "False"), is("example.com/gone"), is("Ready")],
    },
    merged: { phase: "Running", conditions: [is("example.com/gate"), is("Ready")] },
  },
  {
    rule: "a condition of ours that we no longer have goes",
    api: { conditions: [is("PodResizePending"), is("Ready")] },
    own: { conditions: [is("Ready")] },
    merged: { conditions: [is("Ready")] },
  },
  {
    rule: "an end is told only when no container can run any more",
    api: { phase: "Running", conditions: [] },
    own: { phase: "Failed", reason: "Evicted", message: "m", conditions: [is("DisruptionTarget")] },
    couldHaveRunningContainers: true,
    merged: { phase: "Running", conditions: [] },
  },
  {
    rule: "then with DisruptionTarget, as of now",
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
    rule: "DisruptionTarget of others is kept while the pod runs",
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
    rule: "an end that others wrote is not taken back, and what has ended is not ready",
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
    rule: "Succeeded does not become Failed",
    api: { phase: "Succeeded", conditions: [] },
    own: { phase: "Failed", reason: "Evicted", conditions: [] },
    merged: { phase: "Succeeded", conditions: [] },
  },
  {
    rule: "resource claims are not ours, and a generation does not go back",
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

for (const { rule, api, own, couldHaveRunningContainers = false, merged } of cases)
  test(`merged status: ${rule}`, () => {
    assert.deepEqual(mergeStatus(api, own, { couldHaveRunningContainers, now: wallTime(now) }), merged);
  });
