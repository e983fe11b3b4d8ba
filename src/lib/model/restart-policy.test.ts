import assert from "node:assert/strict";
import { test } from "node:test";
import { aContainer, aPod } from "../../../test/builders/pods.ts";
import type { Container, Pod } from "./pod.ts";
import {
  type ContainerType,
  effectiveExitCode,
  type RestartDecision,
  type RestartGates,
  restartDecision,
  restartsAll,
  restartsWhenKilled,
} from "./restart-policy.ts";

type Policy = Pod["spec"]["restartPolicy"];
const rule = (action: string, operator: "In" | "NotIn", ...values: number[]) => ({
  action,
  exitCodes: { operator, values },
});
const ruled = (...restartPolicyRules: NonNullable<Container["restartPolicyRules"]>) => ({
  restartPolicy: "Never",
  restartPolicyRules,
});
const on42 = ruled(rule("Restart", "In", 42));
const all42 = ruled(rule("RestartAllContainers", "In", 42));
const noRules: RestartGates = { containerRules: false, restartAll: false };
const noRestartAll: RestartGates = { containerRules: true, restartAll: false };

const table: [
  rule: string,
  containerType: ContainerType,
  policy: Policy,
  container: Partial<Container>,
  exitCode: number,
  expected: RestartDecision,
  gates?: RestartGates,
][] = [
  ["Always restarts a success", "regular", "Always", {}, 0, "restart"],
  ["Always restarts a failure", "regular", "Always", {}, 1, "restart"],
  ["no policy is Always", "regular", undefined, {}, 0, "restart"],
  ["OnFailure does not restart a success", "regular", "OnFailure", {}, 0, "no"],
  ["OnFailure restarts a failure", "regular", "OnFailure", {}, 1, "restart"],
  ["Never restarts neither", "regular", "Never", {}, 1, "no"],
  [
    "the container's policy takes precedence over the pod's: Always",
    "regular",
    "Never",
    { restartPolicy: "Always" },
    0,
    "restart",
  ],
  [
    "the container's policy takes precedence over the pod's: Never",
    "regular",
    "Always",
    { restartPolicy: "Never" },
    1,
    "no",
  ],
  [
    "the container's OnFailure does not restart a success",
    "regular",
    "Always",
    { restartPolicy: "OnFailure" },
    0,
    "no",
  ],
  [
    "the container's OnFailure restarts a failure",
    "regular",
    "Never",
    { restartPolicy: "OnFailure" },
    1,
    "restart",
  ],
  [
    "without the gate only the pod's policy applies",
    "regular",
    "Never",
    { restartPolicy: "Always" },
    1,
    "no",
    noRules,
  ],
  ["a rule that matches restarts", "regular", "Never", on42, 42, "restart"],
  ["a rule that does not match leaves it to the policy", "regular", "Always", on42, 41, "no"],
  ["without the gate rules do not count", "regular", "Never", on42, 42, "no", noRules],
  [
    "NotIn matches an exit code that is not listed",
    "regular",
    "Never",
    ruled(rule("Restart", "NotIn", 0, 1)),
    2,
    "restart",
  ],
  [
    "NotIn does not match a listed exit code",
    "regular",
    "Never",
    ruled(rule("Restart", "NotIn", 0, 1)),
    1,
    "no",
  ],
  ["a rule without exit codes matches nothing", "regular", "Never", ruled({ action: "Restart" }), 1, "no"],
  ["an unknown action leaves it to the policy", "regular", "Never", ruled(rule("X", "In", 1)), 1, "no"],
  [
    "the first rule that matches decides",
    "regular",
    "Never",
    ruled(rule("Restart", "In", 42), rule("RestartAllContainers", "In", 42)),
    42,
    "restart",
  ],
  ["RestartAllContainers", "regular", "Never", all42, 42, "restart-all"],
  ["RestartAllContainers without its gate: the policy", "regular", "Always", all42, 42, "no", noRestartAll],
  ["an init container that succeeded is not restarted", "init", "Always", {}, 0, "no"],
  [
    "an init container that succeeded is not restarted by a rule",
    "init",
    "Always",
    ruled(rule("Restart", "In", 0)),
    0,
    "no",
  ],
  [
    "an init container that succeeded can restart all containers",
    "init",
    "Always",
    ruled(rule("RestartAllContainers", "In", 0)),
    0,
    "restart-all",
  ],
  ["a failed init container is retried", "init", "OnFailure", {}, 1, "restart"],
  ["a failed init container, Never", "init", "Never", {}, 1, "no"],
  ["a failed init container, by a rule", "init", "Never", on42, 42, "restart"],
  ["a sidecar is restarted always", "sidecar", "Never", { restartPolicy: "Always" }, 0, "restart"],
  [
    "a sidecar is restarted without the gate, too",
    "sidecar",
    "Never",
    { restartPolicy: "Always" },
    1,
    "restart",
    noRules,
  ],
  ["a sidecar may restart all", "sidecar", "Never", { ...all42, restartPolicy: "Always" }, 42, "restart-all"],
  ["an ephemeral container is never restarted", "ephemeral", "Always", {}, 1, "no"],
];

// parity: gate ContainerRestartRules=true as containerRules, gate ContainerRestartRules=false as containerRules, gate RestartAllContainersOnContainerExits=true as restartAll, gate RestartAllContainersOnContainerExits=false as restartAll
for (const [name, containerType, restartPolicy, container, exitCode, expected, gates] of table)
  test(`restart policy: ${name}`, () =>
    assert.equal(
      restartDecision(aPod({ restartPolicy }), aContainer("a", container), containerType, exitCode, gates),
      expected,
    ));

const killed: [
  rule: string,
  containerType: ContainerType,
  policy: Policy,
  own: Partial<Container>,
  expected: boolean,
][] = [
  ["Always", "regular", "Always", {}, true],
  ["OnFailure", "regular", "OnFailure", {}, true],
  ["Never", "regular", "Never", {}, false],
  ["the container's policy takes precedence", "regular", "Never", { restartPolicy: "OnFailure" }, true],
  ["rules need an exit code, and are not evaluated", "regular", "Never", on42, false],
  ["a sidecar", "sidecar", "Never", { restartPolicy: "Always" }, true],
  ["an ephemeral container", "ephemeral", "Always", {}, false],
];

for (const [name, containerType, restartPolicy, own, expected] of killed)
  test(`runs again when it is killed: ${name}`, () =>
    assert.equal(restartsWhenKilled(aPod({ restartPolicy }), aContainer("a", own), containerType), expected));

test("an init container that was OOM-killed has failed", () => {
  assert.equal(effectiveExitCode("init", { exitCode: 0, reason: "OOMKilled" }), 137);
  assert.equal(effectiveExitCode("init", { exitCode: 0, reason: "Completed" }), 0);
  assert.equal(effectiveExitCode("regular", { exitCode: 0, reason: "OOMKilled" }), 0);
});

test("all containers are restarted while the one that triggered it is the last of its name", () => {
  const pod = aPod({ containers: [aContainer("a", all42), aContainer("b")] });
  const last = (state: string, exitCode: number) => (name: string) =>
    name === "a" ? { state, exitCode } : { state: "running", exitCode: 0 };
  assert.equal(restartsAll(pod, last("exited", 42)), true);
  assert.equal(restartsAll(pod, last("exited", 41)), false);
  assert.equal(restartsAll(pod, last("running", 42)), false);
  assert.equal(restartsAll(pod, last("exited", 42), noRestartAll), false);
});
