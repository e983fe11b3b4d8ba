import assert from "node:assert/strict";
import { test } from "node:test";
import {
  deadSandbox,
  done,
  exited,
  failed,
  noChange,
  testPlans,
} from "../../../../../test/builders/plans.ts";
import { aContainer, anObservedContainer, anObservedPod, aPod } from "../../../../../test/builders/pods.ts";
import { planPod } from "./plan-pod.ts";

const all = {
  restartPolicy: "Never",
  restartPolicyRules: [
    { action: "RestartAllContainers", exitCodes: { operator: "In" as const, values: [42] } },
  ],
};
const pod = aPod({
  restartPolicy: "Never",
  initContainers: [aContainer("i"), aContainer("s", { restartPolicy: "Always" })],
  containers: [aContainer("a", all), aContainer("b")],
  ephemeralContainers: [{ ...aContainer("e") }],
});
const runs = anObservedContainer;

testPlans([
  [
    "the regular containers are stopped first; ephemeral ones are not",
    pod,
    anObservedPod([exited("a", 42), runs("b"), runs("e"), runs("s"), done("i")]),
    "kill b-0 (restart-all)",
  ],
  [
    "the sidecars are stopped after the regular containers",
    pod,
    anObservedPod([exited("a", 42), exited("b", 137), runs("e"), runs("s"), done("i")]),
    "kill s-0 (restart-all)",
  ],
  [
    "then all are removed except the container that triggered it",
    pod,
    anObservedPod([
      exited("a", 42, { attempt: 1 }),
      failed("a"),
      exited("b", 137),
      exited("s", 137),
      done("i"),
    ]),
    "remove a-0, remove b-0, remove s-0, remove i-0",
  ],
  [
    "the container that triggered it is removed last",
    pod,
    anObservedPod([exited("a", 42), runs("e")]),
    "remove a-0",
  ],
  ["the pod is restarted in the same sandbox", pod, anObservedPod([runs("e")]), "start init i#0"],
  [
    "another exit code does not trigger it",
    pod,
    anObservedPod([exited("a", 41), runs("b"), runs("e"), runs("s"), done("i")]),
    "",
  ],
  [
    "the exit code of a container that was restarted does not trigger it",
    pod,
    anObservedPod([runs("a", { attempt: 1 }), exited("a", 42), runs("b"), runs("e"), runs("s"), done("i")]),
    "",
  ],
  [
    "without its gate the policy of the container decides",
    pod,
    anObservedPod([exited("a", 42), runs("b"), runs("e"), runs("s"), done("i")]),
    "",
    { gates: { containerRules: true, restartAll: false } },
  ],
  [
    "an init container may trigger it, even if it succeeds",
    aPod({
      initContainers: [
        aContainer("s", { restartPolicy: "Always" }),
        aContainer("i", {
          ...all,
          restartPolicyRules: [
            { action: "RestartAllContainers", exitCodes: { operator: "In", values: [0] } },
          ],
        }),
      ],
    }),
    anObservedPod([done("i"), runs("s")]),
    "kill s-0 (restart-all)",
  ],
  [
    "a sidecar may trigger it",
    aPod({ initContainers: [aContainer("s", { ...all, restartPolicy: "Always" })] }),
    anObservedPod([runs("a"), exited("s", 42)]),
    "kill a-0 (restart-all)",
  ],
  [
    "it takes precedence over a dead sandbox: succeeded containers are restarted too",
    pod,
    anObservedPod([exited("a", 42), done("b")], [deadSandbox]),
    "remove b-0",
  ],
  [
    "then a dead sandbox is replaced, as for a pod that never ran",
    pod,
    anObservedPod([], [deadSandbox]),
    "kill all, sandbox 1",
  ],
]);

test("the logs of removed containers are kept, so that restart counts continue", () => {
  assert.equal(planPod(pod, anObservedPod([exited("a", 42)]), noChange).restartsAll, true);
  assert.equal(planPod(pod, anObservedPod([exited("a", 41)]), noChange).restartsAll, undefined);
});
