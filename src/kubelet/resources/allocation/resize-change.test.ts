import assert from "node:assert/strict";
import { test } from "node:test";
import type { Container, ResourceRequirements } from "../../../lib/model/pod.ts";
import { greaterRequests, resizeAction, resizeOperations } from "./resize-change.ts";

const of = (
  cpu?: string,
  memory?: string,
  cpuLimit?: string,
  memoryLimit?: string,
): ResourceRequirements => ({
  requests: { ...(cpu && { cpu }), ...(memory && { memory }) },
  limits: { ...(cpuLimit && { cpu: cpuLimit }), ...(memoryLimit && { memory: memoryLimit }) },
});
const policy = (cpu: string, memory: string): Container["resizePolicy"] => [
  { resourceName: "cpu", restartPolicy: cpu },
  { resourceName: "memory", restartPolicy: memory },
];
const restartsForMemory = policy("NotRequired", "RestartContainer");

const actions: [
  rule: string,
  resizePolicy: Container["resizePolicy"],
  allocated: ResourceRequirements | undefined,
  actuated: ResourceRequirements | undefined,
  action: string,
][] = [
  ["the same amounts in other units", undefined, of("1", "1Gi"), of("1000m", "1024Mi"), "none"],
  ["no resources", undefined, undefined, {}, "none"],
  ["a zero limit is no limit", undefined, of("1", "1", "0"), of("1", "1"), "none"],
  ["other resources", undefined, { requests: { "example.com/a": "1" } }, {}, "none"],
  ["a CPU request", undefined, of("2"), of("1"), "update"],
  ["a memory request", undefined, of("1", "2"), of("1", "1"), "update"],
  ["a CPU limit", undefined, of("1", "1", "2"), of("1", "1", "1"), "update"],
  ["a new memory limit", undefined, of("1", "1", "1", "1"), of("1", "1", "1"), "update"],
  ["a container without a record", undefined, of("1"), undefined, "update"],
  ["CPU, where only memory restarts", restartsForMemory, of("2", "1"), of("1", "1"), "update"],
  ["memory, where it restarts", restartsForMemory, of("1", "2"), of("1", "1"), "restart"],
  ["both, where memory restarts", restartsForMemory, of("2", "2"), of("1", "1"), "restart"],
  [
    "a memory limit, where it restarts",
    restartsForMemory,
    of("1", "1", "1", "2"),
    of("1", "1", "1"),
    "restart",
  ],
  ["nothing, where all restarts", policy("RestartContainer", "RestartContainer"), of("1"), of("1"), "none"],
];
for (const [rule, resizePolicy, allocated, actuated, action] of actions)
  test(`a running container needs ${action}: ${rule}`, () => {
    assert.equal(resizeAction({ resizePolicy }, allocated, actuated), action);
  });

test("requested resizes are counted for each resource", () => {
  const text = (before: ResourceRequirements | undefined, after: ResourceRequirements | undefined) =>
    resizeOperations(before, after).map((o) => `${o.resource} ${o.requirement} ${o.operation}`);
  assert.deepEqual(text(of("1", "1"), of("1", "1")), []);
  assert.deepEqual(text(of("1", "1", "1"), of("2", undefined, "500m", "1")), [
    "cpu requests increase",
    "cpu limits decrease",
    "memory requests remove",
    "memory limits add",
  ]);
  assert.deepEqual(text(undefined, of("1")), ["cpu requests add"]);
});

test("a pod in the middle of a resize counts with the greater of both requests", () => {
  const both = greaterRequests(of("1", "2Gi", "4"), of("2", "1Gi"));
  assert.deepEqual(both, { requests: { cpu: "2", memory: "2Gi" }, limits: { cpu: "4" } });
  assert.deepEqual(greaterRequests(undefined, of("2")), { requests: { cpu: "2" } });
  assert.deepEqual(greaterRequests(of("1"), undefined).requests, { cpu: "1" });
});
