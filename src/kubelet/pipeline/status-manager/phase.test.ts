import assert from "node:assert/strict";
import { test } from "node:test";
import { aContainer, anObservedContainer, anObservedPod, aPod } from "../../../../test/builders/pods.ts";
import type { SandboxId } from "../../../lib/clients/cri/cri.ts";
import type { Pod } from "../../../lib/model/pod.ts";
import type { PodPhase } from "../../../lib/model/pod-phase.ts";
import type { ObservedContainer, ObservedPod } from "../../state/observed-pods.ts";
import { at, probed, statusOf } from "./fake-input.ts";
import type { StatusInput } from "./status-input.ts";

const policies = ["Always", "OnFailure", "Never"] as const;
type Policy = (typeof policies)[number];
const two = (restartPolicy: Policy) =>
  aPod({ restartPolicy, containers: [aContainer("a"), aContainer("b")] });
const withInit = (restartPolicy: Policy) => aPod({ restartPolicy, initContainers: [aContainer("i")] });
const withSidecar = (restartPolicy: Policy) =>
  aPod({ restartPolicy, initContainers: [aContainer("s", { restartPolicy: "Always" })] });
const withEphemeral = (restartPolicy: Policy): Pod => ({
  ...aPod({ restartPolicy, ephemeralContainers: [{ name: "e", image: "busybox:1" }] }),
});
const withRule = (action: string) =>
  aContainer("a", {
    restartPolicy: "Never",
    restartPolicyRules: [{ action, exitCodes: { operator: "In", values: [42] } }],
  });
const run = (name: string, more = {}) => anObservedContainer(name, more);
const done = (name: string, more = {}) => anObservedContainer(name, { state: "exited", ...more });
const failed = (name: string, more = {}) =>
  anObservedContainer(name, { state: "exited", exitCode: 1, ...more });
const created = (name: string, more = {}) => anObservedContainer(name, { state: "created", ...more });

type Row = [
  rule: string,
  pod: (policy: Policy) => Pod,
  containers: ObservedContainer[] | undefined,
  phases: [always: PodPhase, onFailure: PodPhase, never: PodPhase],
];
const all = (phase: PodPhase): [PodPhase, PodPhase, PodPhase] => [phase, phase, phase];
const table: Row[] = [
  ["nothing was observed", two, undefined, all("Pending")],
  ["there is only a sandbox", two, [], all("Pending")],
  ["all run", two, [run("a"), run("b")], all("Running")],
  ["one is missing", two, [run("a")], all("Pending")],
  ["one was created and not started", two, [run("a"), created("b")], all("Pending")],
  ["one exited and one is missing", two, [failed("a")], all("Pending")],
  ["one runs and one succeeded", two, [run("a"), done("b")], all("Running")],
  ["one runs and one failed", two, [run("a"), failed("b")], all("Running")],
  ["all succeeded", two, [done("a"), done("b")], ["Running", "Succeeded", "Succeeded"]],
  ["all failed", two, [failed("a"), failed("b")], ["Running", "Running", "Failed"]],
  ["one failed and one succeeded", two, [failed("a"), done("b")], ["Running", "Running", "Failed"]],
  [
    "a container failed and then succeeded",
    two,
    [done("a", { attempt: 1 }), failed("a"), done("b")],
    ["Running", "Succeeded", "Succeeded"],
  ],
  [
    "a container is being restarted",
    two,
    [created("a", { attempt: 1 }), failed("a"), run("b")],
    all("Running"),
  ],
  [
    "the state of a container is unknown and it had not run before",
    two,
    [run("a", { state: "unknown" }), run("b")],
    all("Pending"),
  ],
  // init containers
  ["the init container is missing", withInit, [], all("Pending")],
  ["the init container runs", withInit, [run("i")], all("Pending")],
  ["the init container is done and the rest has not started", withInit, [done("i")], all("Pending")],
  ["the init container failed", withInit, [failed("i")], ["Pending", "Pending", "Failed"]],
  [
    "the init container was recreated after a failure",
    withInit,
    [created("i", { attempt: 1 }), failed("i")],
    ["Pending", "Pending", "Failed"],
  ],
  ["the init container is done and the rest runs", withInit, [done("i"), run("a")], all("Running")],
  [
    "the init container and the rest are done",
    withInit,
    [done("i"), done("a")],
    ["Running", "Succeeded", "Succeeded"],
  ],
  ["the init container is lost and the rest runs", withInit, [run("a")], all("Running")],
  [
    "the init container runs again in a new sandbox",
    withInit,
    [run("i", { attempt: 1, sandboxId: "s1" as SandboxId }), failed("a"), done("i")],
    all("Pending"),
  ],
  // sidecars
  ["the sidecar is missing", withSidecar, [], all("Pending")],
  ["the sidecar runs and the rest has not started", withSidecar, [run("s")], all("Pending")],
  ["the sidecar and the rest run", withSidecar, [run("s"), run("a")], all("Running")],
  ["the sidecar exited and the rest runs", withSidecar, [failed("s"), run("a")], all("Running")],
  ["the sidecar is still running and the rest succeeded", withSidecar, [run("s"), done("a")], all("Running")],
  ["the sidecar is still running and the rest failed", withSidecar, [run("s"), failed("a")], all("Running")],
  [
    "the sidecar failed and the rest succeeded",
    withSidecar,
    [failed("s"), done("a")],
    ["Running", "Succeeded", "Succeeded"],
  ],
  [
    "the sidecar exited and the rest failed",
    withSidecar,
    [done("s"), failed("a")],
    ["Running", "Running", "Failed"],
  ],
];
table.push(
  [
    "the sidecar has not passed its startup probe",
    (restartPolicy) =>
      aPod({
        restartPolicy,
        initContainers: [aContainer("s", { restartPolicy: "Always", startupProbe: {} })],
      }),
    [run("s")],
    all("Pending"),
  ],
  [
    "the sidecar was restarted and the rest runs",
    (restartPolicy) =>
      aPod({
        restartPolicy,
        initContainers: [aContainer("s", { restartPolicy: "Always", startupProbe: {} })],
      }),
    [run("s", { attempt: 1 }), failed("s"), run("a")],
    all("Running"),
  ],
  // containers with their own policy
  [
    "a container with its own policy Never failed",
    (restartPolicy) => aPod({ restartPolicy, containers: [aContainer("a", { restartPolicy: "Never" })] }),
    [failed("a")],
    all("Failed"),
  ],
  [
    "a container with its own policy Never succeeded",
    (restartPolicy) => aPod({ restartPolicy, containers: [aContainer("a", { restartPolicy: "Never" })] }),
    [done("a")],
    all("Succeeded"),
  ],
  [
    "a container with its own policy Always succeeded",
    (restartPolicy) => aPod({ restartPolicy, containers: [aContainer("a", { restartPolicy: "Always" })] }),
    [done("a")],
    all("Running"),
  ],
  [
    "a rule restarts the container after this exit code",
    (restartPolicy) => aPod({ restartPolicy, containers: [withRule("Restart")] }),
    [failed("a", { exitCode: 42 })],
    all("Running"),
  ],
  [
    "a rule restarts the container after another exit code",
    (restartPolicy) => aPod({ restartPolicy, containers: [withRule("Restart")] }),
    [failed("a")],
    all("Failed"),
  ],
  [
    "a rule restarts all containers",
    (restartPolicy) =>
      aPod({ restartPolicy: restartPolicy, containers: [withRule("RestartAllContainers"), aContainer("b")] }),
    [failed("a", { exitCode: 42 }), done("b")],
    all("Running"),
  ],
  [
    "an init container with its own policy OnFailure failed",
    (restartPolicy) =>
      aPod({ restartPolicy, initContainers: [aContainer("i", { restartPolicy: "OnFailure" })] }),
    [failed("i")],
    all("Pending"),
  ],
  // ephemeral containers
  ["an ephemeral container runs and the rest is missing", withEphemeral, [run("e")], all("Pending")],
  [
    "an ephemeral container runs and the rest succeeded",
    withEphemeral,
    [run("e"), done("a")],
    ["Running", "Succeeded", "Succeeded"],
  ],
  ["an ephemeral container failed and the rest runs", withEphemeral, [failed("e"), run("a")], all("Running")],
);
for (const [rule, pod, containers, phases] of table)
  policies.forEach((policy, i) => {
    const observed: ObservedPod | undefined = containers && anObservedPod(containers);
    test(`the phase is ${phases[i]} with restartPolicy ${policy} if ${rule}`, () =>
      assert.equal(statusOf(pod(policy), observed).phase, phases[i]));
  });

/** A pod from the API server: only such a pod gets a terminal phase when its containers were stopped by the kubelet. */
const fromApi = (restartPolicy: Policy) => {
  const pod = two(restartPolicy);
  return { ...pod, metadata: { ...pod.metadata, annotations: {} } };
};
const both = (a: ObservedContainer, b: ObservedContainer) => anObservedPod([a, b]);
const failure = { phase: "Failed", reason: "Evicted", message: "The node was low on resource" } as const;
const sidecarTriggers = aPod({
  restartPolicy: "Never",
  initContainers: [
    { ...withRule("RestartAllContainers"), name: "s", restartPolicy: "Always" as const },
    aContainer("i"),
  ],
});
const historyTable: [
  rule: string,
  pod: Pod,
  observed: ObservedPod | undefined,
  more: Partial<StatusInput>,
  phase: PodPhase,
][] = [
  [
    "all containers of a stopped pod succeeded",
    fromApi("Always"),
    both(done("a"), done("b")),
    { workerPhase: "terminating" },
    "Succeeded",
  ],
  [
    "one container of a stopped pod failed",
    fromApi("Always"),
    both(done("a"), failed("b")),
    { workerPhase: "terminating" },
    "Failed",
  ],
  [
    "one container of a pod that is being stopped is still running",
    fromApi("Always"),
    both(done("a"), run("b")),
    { workerPhase: "terminating" },
    "Running",
  ],
  [
    "a static pod was stopped, which does not make its phase terminal",
    two("Always"),
    both(done("a"), done("b")),
    { workerPhase: "terminated" },
    "Running",
  ],
  [
    "the pod terminated before it started",
    fromApi("Always"),
    undefined,
    { workerPhase: "terminated" },
    "Failed",
  ],
  [
    "a failure takes precedence over running containers",
    two("Always"),
    both(run("a"), run("b")),
    { failure },
    "Failed",
  ],
  [
    "a failure does not change a succeeded pod",
    two("Never"),
    both(done("a"), done("b")),
    { failure, previous: { phase: "Succeeded" } },
    "Succeeded",
  ],
  [
    "Succeeded is terminal",
    two("Never"),
    both(run("a"), run("b")),
    { previous: { phase: "Succeeded" } },
    "Succeeded",
  ],
  ["Failed is terminal", two("Never"), undefined, { previous: { phase: "Failed" } }, "Failed"],
  [
    "a terminal phase in the API is kept",
    { ...fromApi("Always"), status: { phase: "Failed" } },
    both(run("a"), run("b")),
    {},
    "Failed",
  ],
  [
    "a startup probe of a sidecar has passed",
    aPod({ initContainers: [aContainer("s", { restartPolicy: "Always", startupProbe: {} })] }),
    anObservedPod([run("s"), run("a", { startedAt: at })]),
    probed({ "startup s-0": "success" }),
    "Running",
  ],
  [
    "a container waits for its restart",
    two("Always"),
    both(failed("a"), run("b")),
    { waiting: new Map([["a", { reason: "CrashLoopBackOff", message: "" }]]) },
    "Running",
  ],
  [
    "nothing runs and one container waits for its restart after a success",
    two("Always"),
    both(done("a"), done("b")),
    { waiting: new Map([["a", { reason: "CrashLoopBackOff", message: "" }]]) },
    "Running",
  ],
  ...(["done", "killed"] as const).map((how): (typeof historyTable)[number] => [
    `a sidecar restarts all: the regular container, ${how}, runs again`,
    sidecarTriggers,
    anObservedPod([
      how === "done" ? done("a") : failed("a", { exitCode: 137 }),
      failed("s", { exitCode: 42 }),
      done("i"),
    ]),
    { previous: { phase: "Running" } },
    "Running",
  ]),
  [
    "a sidecar restarts all: an init container that was killed for it runs again",
    sidecarTriggers,
    anObservedPod([failed("i", { exitCode: 137 }), failed("s", { exitCode: 42 })]),
    { previous: { phase: "Pending" } },
    "Pending",
  ],
  [
    "a sidecar with a restart rule restarts nothing in a terminating pod",
    { ...sidecarTriggers, metadata: { ...sidecarTriggers.metadata, annotations: {} } },
    anObservedPod([failed("a"), failed("s", { exitCode: 42 }), done("i")]),
    { previous: { phase: "Running" }, workerPhase: "terminating" },
    "Failed",
  ],
  [
    "a lost container is restarted",
    aPod({ restartPolicy: "Always" }),
    undefined,
    { previous: statusOf(aPod(), anObservedPod([run("a")])) },
    "Running",
  ],
  [
    "a lost container is not restarted",
    aPod({ restartPolicy: "Never" }),
    undefined,
    { previous: statusOf(aPod({ restartPolicy: "Never" }), anObservedPod([run("a")])) },
    "Failed",
  ],
];
for (const [rule, pod, observed, more, phase] of historyTable)
  test(`the phase is ${phase}: ${rule}`, () => assert.equal(statusOf(pod, observed, more).phase, phase));
