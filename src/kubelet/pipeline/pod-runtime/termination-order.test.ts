import assert from "node:assert/strict";
import { test } from "node:test";
import { aContainer, anObservedContainer, aPod } from "../../../../test/builders/pods.ts";
import type { Pod } from "../../../lib/model/pod.ts";
import { terminatedBefore } from "./termination-order.ts";

const pod = aPod({
  initContainers: [
    aContainer("init"),
    aContainer("s1", { restartPolicy: "Always" }),
    aContainer("s2", { restartPolicy: "Always" }),
    aContainer("s3", { restartPolicy: "Always" }),
  ],
  containers: [aContainer("a"), aContainer("b")],
});
const everything = ["init", "s1", "s2", "s3", "a", "b", "debugger"];

const table: [rule: string, pod: Pod | undefined, name: string, running: string[], first: string[]][] = [
  ["regular containers do not wait", pod, "a", everything, []],
  ["init containers do not wait", pod, "init", everything, []],
  ["ephemeral containers do not wait", pod, "debugger", everything, []],
  ["the last sidecar waits for the regular ones", pod, "s3", everything, ["a", "b"]],
  ["a sidecar also waits for later sidecars", pod, "s1", everything, ["s2", "s3", "a", "b"]],
  ["a sidecar waits for running containers only", pod, "s1", ["s1", "s3", "b"], ["s3", "b"]],
  [
    "a sidecar waits for later sidecars only while the pod is initialized",
    pod,
    "s1",
    ["init", "s1", "s2"],
    ["s2"],
  ],
  ["containers of a pod without a spec do not wait", undefined, "s1", everything, []],
];
for (const [rule, of, name, running, first] of table)
  test(`order of stopping: ${rule}`, () => {
    const containers = running.map((one) => anObservedContainer(one));
    assert.deepEqual(
      terminatedBefore(of, name, containers).map((c) => c.name),
      first,
    );
  });
