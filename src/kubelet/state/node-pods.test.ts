import assert from "node:assert/strict";
import { test } from "node:test";
import { aPod } from "../../../test/builders/pods.ts";
import type { Pod, PodStatus } from "../../lib/model/pod.ts";
import { NodePods } from "./node-pods.ts";
import type { PodSyncStatus } from "./pod-sync-status.ts";

const { uid } = aPod().metadata;

interface Given {
  readonly desired: Pod | undefined;
  readonly worker?: Partial<PodSyncStatus> | undefined;
  readonly status?: PodStatus | undefined;
}

function nodePods({ desired, worker, status }: Given): NodePods {
  return new NodePods({
    desired: { get: () => desired },
    workers: { get: () => worker as PodSyncStatus | undefined },
    statuses: { get: () => status },
  });
}

for (const [rule, phase, statusPhase, expected] of [
  ["runs", "syncing", "Running", false],
  ["has no worker yet", undefined, undefined, false],
  ["is being terminated", "terminating", "Running", true],
  ["has just terminated", "terminated", "Running", true],
  ["has completed, before its worker acts on it", "syncing", "Succeeded", true],
] as const)
  test(`a pod that ${rule} ${expected ? "will release" : "keeps"} its resources`, () => {
    const pod = { worker: phase && { phase }, status: statusPhase && { phase: statusPhase } };
    assert.equal(nodePods({ ...pod, desired: aPod() }).willReleaseResources(uid), expected);
    assert.equal(
      nodePods({ ...pod, desired: undefined }).willReleaseResources(uid),
      true,
      "no source has it",
    );
  });

const id = { uid, namespace: "ns", name: "old" };
for (const [rule, given, isKnown, phase, name] of [
  ["that a source has", { desired: aPod() }, true, "syncing", "default/p"],
  [
    "that was removed and is being terminated",
    { desired: undefined, worker: { id, pod: aPod(), phase: "terminating" } },
    true,
    "terminating",
    "ns/old",
  ],
  ["that is an orphan", { desired: undefined, worker: { id, phase: "syncing" } }, false, "syncing", "ns/old"],
  ["that is gone", { desired: undefined }, false, undefined, `pod ${uid}`],
] as const)
  test(`name and phase of a pod ${rule}`, () => {
    const pods = nodePods(given);
    assert.deepEqual([pods.isKnown(uid), pods.phaseOf(uid), pods.nameOf(uid)], [isKnown, phase, name]);
  });
