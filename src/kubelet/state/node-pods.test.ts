import assert from "node:assert/strict";
import { test } from "node:test";
import { aPod } from "../../../test/builders/pods.ts";
import type { Pod, PodStatus } from "../../lib/model/pod.ts";
import { NodePods } from "./node-pods.ts";
import type { PodSyncStatus, WorkerPhase } from "./pod-sync-status.ts";

const { uid } = aPod().metadata;

function willRelease(
  pod: { phase: WorkerPhase | undefined; status: PodStatus | undefined },
  desired: Pod | undefined = aPod(),
) {
  const { phase, status } = pod;
  const worker = phase && ({ phase } as PodSyncStatus);
  return new NodePods({
    desired: { get: () => desired },
    workers: { get: () => worker },
    statuses: { get: () => status },
  }).willReleaseResources(uid);
}

for (const [rule, pod, expected] of [
  ["runs", { phase: "syncing", status: { phase: "Running" } }, false],
  ["has no worker yet", { phase: undefined, status: undefined }, false],
  ["is being terminated", { phase: "terminating", status: { phase: "Running" } }, true],
  ["has just terminated", { phase: "terminated", status: { phase: "Running" } }, true],
  ["has completed, before its worker acts on it", { phase: "syncing", status: { phase: "Succeeded" } }, true],
] as const)
  test(`a pod that ${rule} ${expected ? "will release" : "keeps"} its resources`, () => {
    assert.equal(willRelease(pod), expected);
  });

test("a pod that no source has will release its resources", () => {
  const pods = new NodePods({
    desired: { get: () => undefined },
    workers: { get: () => undefined },
    statuses: { get: () => undefined },
  });
  assert.equal(pods.willReleaseResources(uid), true);
  assert.equal(pods.isKnown(uid), false);
});
