import assert from "node:assert/strict";
import { test } from "node:test";
import { type FakePodParts, fakePod } from "../lib/model/fake-pod.ts";
import type { Pod } from "../lib/model/pod.ts";
import { explainUnscheduled, type SchedulerNode, unscheduledPods } from "./unscheduled-pods.ts";

const node: SchedulerNode = {
  metadata: { name: "n1", labels: { zone: "a" } },
  status: { allocatable: { cpu: "2", memory: "4Gi", pods: "110" } },
};
const tainted = { ...node, spec: { taints: [{ key: "k", value: "v", effect: "NoSchedule" }] } };
const message = "0/1 nodes are available: 1 reason.";
const unschedulable = "Unschedulable: 0/1 nodes are available: 1 reason";

function waiting(parts: FakePodParts, condition: object = {}): Pod {
  const pod = fakePod(parts);
  const conditions = [
    { type: "PodScheduled", status: "False", reason: "Unschedulable", message, ...condition },
  ];
  return {
    ...pod,
    metadata: { ...pod.metadata, creationTimestamp: "2026-01-01T00:00:00Z" },
    status: { phase: "Pending", conditions },
  } as Pod;
}

const table: [rule: string, pod: Pod, cause: string, on?: SchedulerNode][] = [
  [
    "the label",
    waiting({ spec: { nodeSelector: { disk: "ssd" } } }),
    `${unschedulable}: nodeSelector disk=ssd: the node has no label disk`,
  ],
  ["the taint, including NoSchedule", waiting({}), `${unschedulable}: taint k=v:NoSchedule`, tainted],
  [
    "the amount",
    waiting({ spec: { containers: [{ resources: { requests: { cpu: "3" } } }] } }),
    `${unschedulable}: Node didn't have enough resource: cpu, requested: 3000, used: 0, capacity: 2000`,
  ],
  ["the scheduler's message, if nothing else is known", waiting({}), unschedulable],
  [
    "scheduling gates",
    waiting({ spec: { schedulingGates: [{ name: "example.com/a" }, { name: "example.com/b" }] } }),
    "SchedulingGated: example.com/a, example.com/b",
  ],
  [
    "a scheduler that has not reported",
    waiting({ spec: { schedulerName: "mine" } }, { type: "Other" }),
    "waiting for scheduler mine",
  ],
];
for (const [rule, pod, cause, on] of table)
  test(`why a pod is not scheduled: ${rule}`, () => {
    const { seenAt, ...explained } = explainUnscheduled(pod, on ?? node);
    assert.equal(explained.cause, cause);
    assert.deepEqual([explained.phase, seenAt], ["Pending", "2026-01-01T00:00:00.000Z"]);
  });

test("a kubelet without an embedded API has no such pods", async () => {
  assert.deepEqual(await unscheduledPods("/no/such/kubelet/kubelet.sock"), []);
});
