import { done, exited, failed, inOldSandbox, testPlans } from "../../../../../test/builders/plans.ts";
import { aContainer, anObservedContainer, anObservedPod, aPod } from "../../../../../test/builders/pods.ts";
import { monotonicTime } from "../../../../lib/base/fake-clock.ts";
import type { Container, Pod } from "../../../../lib/model/pod.ts";
import type { PlanContext } from "./pod-plan.ts";

const inits = aPod({ initContainers: [aContainer("i"), aContainer("j")] });
const once = (restartPolicy: Pod["spec"]["restartPolicy"], more: Partial<Container> = {}) =>
  aPod({ restartPolicy, initContainers: [aContainer("i", more)] });
const failedForGood = "finished: init container i failed and is not restarted";
const inMemory = { state: "exited", reason: "OOMKilled" } as const;

// init containers
testPlans([
  ["init containers start one by one", inits, anObservedPod([]), "start init i#0"],
  [
    "the next waits for the running one",
    inits,
    anObservedPod([anObservedContainer("i")]),
    "waiting for init container i to complete",
  ],
  ["the next starts when one is done", inits, anObservedPod([done("i")]), "start init j#0"],
  ["all done: the regular ones start", inits, anObservedPod([done("j"), done("i")]), "start regular a#0"],
  ["a failed one is restarted", inits, anObservedPod([failed("i")]), "start init i#1"],
  [
    "a failed one waits for its back-off, and the others wait with it",
    inits,
    anObservedPod([failed("i")]),
    "delay i until 130000",
    { restartAt: () => monotonicTime(130_000) },
  ],
  ["OnFailure: a failed one is restarted", once("OnFailure"), anObservedPod([failed("i")]), "start init i#1"],
  ["Never: a failed one fails the pod", once("Never"), anObservedPod([failed("i")]), failedForGood],
  [
    "Never: the pod continues after one that is done",
    once("Never"),
    anObservedPod([done("i")]),
    "start regular a#0",
  ],
  [
    "own policy OnFailure in a pod with Never: restarted",
    once("Never", { restartPolicy: "OnFailure" }),
    anObservedPod([failed("i")]),
    "start init i#1",
  ],
  [
    "own policy Never in a pod with Always: a failure fails the pod",
    once("Always", { restartPolicy: "Never" }),
    anObservedPod([failed("i")]),
    failedForGood,
  ],
  [
    "a rule restarts a container that the policy would not",
    once("Never", {
      restartPolicy: "Never",
      restartPolicyRules: [{ action: "Restart", exitCodes: { operator: "In", values: [7] } }],
    }),
    anObservedPod([exited("i", 7)]),
    "start init i#1",
  ],
  [
    "an OOM kill is a failure, even with exit code 0",
    once("OnFailure"),
    anObservedPod([anObservedContainer("i", inMemory)]),
    "start init i#1",
  ],
  [
    "an OOM kill is a failure, even with exit code 0: Never fails the pod",
    once("Never"),
    anObservedPod([anObservedContainer("i", inMemory)]),
    failedForGood,
  ],
  [
    "an init container in an unknown state is stopped first",
    inits,
    anObservedPod([anObservedContainer("i", { state: "unknown" })]),
    "kill i-0 (unknown)",
  ],
  [
    "an init container that was never started is created again",
    inits,
    anObservedPod([anObservedContainer("j", { state: "created" }), done("i")]),
    "remove j-0",
  ],
  [
    "a change of the spec does not stop a running one",
    inits,
    anObservedPod([anObservedContainer("i", { hash: "old" })]),
    "waiting for init container i to complete",
  ],
  [
    "once regular ones run, init containers are ignored",
    inits,
    anObservedPod([anObservedContainer("a"), failed("j"), done("i")]),
    "",
  ],
  [
    "once a regular one has run, init containers that the runtime lost do not run again",
    inits,
    anObservedPod([failed("a")]),
    "start regular a#1",
  ],
  [
    "before that, a later one implies that lost ones before it are done",
    aPod({ initContainers: [aContainer("i"), aContainer("j"), aContainer("k")] }),
    anObservedPod([done("j")]),
    "start init k#0",
  ],
  [
    "in a new sandbox init containers run again",
    inits,
    anObservedPod([done("i", inOldSandbox)]),
    "start init i#1",
  ],
  [
    "in a new sandbox init containers run again, though regular ones ran before",
    inits,
    anObservedPod([failed("a", inOldSandbox), done("j", inOldSandbox), done("i", inOldSandbox)]),
    "start init i#1",
  ],
  [
    "in a new sandbox an init container has no back-off",
    inits,
    anObservedPod([failed("i", inOldSandbox)]),
    "start init i#1",
    { restartAt: () => monotonicTime(999_999) },
  ],
]);

const always = { restartPolicy: "Always" };
const probed = { ...always, startupProbe: { exec: { command: ["true"] } } };
const sidecar = aPod({ initContainers: [aContainer("i"), aContainer("s", always)] });
const gated = aPod({ initContainers: [aContainer("s", probed), aContainer("i")] });
const startup = (outcome: "success" | "failure" | "unknown"): Partial<PlanContext> => ({
  probe: (kind, id) => (kind === "startup" && id === "s-0" ? outcome : undefined),
});
const sideFirst = aPod({ initContainers: [aContainer("s", always), aContainer("i"), aContainer("j")] });

// sidecars
testPlans([
  ["a sidecar starts in order", sidecar, anObservedPod([done("i")]), "start sidecar s#0"],
  [
    "a running sidecar lets the next start",
    sidecar,
    anObservedPod([anObservedContainer("s"), done("i")]),
    "start regular a#0",
  ],
  [
    "a sidecar with a startup probe blocks the next until it passes: no result yet",
    gated,
    anObservedPod([anObservedContainer("s")]),
    "waiting for startup probe of sidecar s",
  ],
  [
    "a sidecar with a startup probe blocks the next until it passes: unknown",
    gated,
    anObservedPod([anObservedContainer("s")]),
    "waiting for startup probe of sidecar s",
    startup("unknown"),
  ],
  [
    "a sidecar with a startup probe that passed lets the next start",
    gated,
    anObservedPod([anObservedContainer("s")]),
    "start init i#0",
    startup("success"),
  ],
  [
    "a sidecar whose startup probe failed is stopped",
    gated,
    anObservedPod([anObservedContainer("s")]),
    "kill s-0 (startup-probe), waiting for startup probe of sidecar s",
    startup("failure"),
  ],
  [
    "a sidecar that exited before the next started is restarted, and the next waits",
    sideFirst,
    anObservedPod([failed("s")]),
    "start sidecar s#1",
  ],
  [
    "a sidecar that exited while the next runs is restarted, and blocks nothing",
    sideFirst,
    anObservedPod([anObservedContainer("i"), failed("s")]),
    "start sidecar s#1, waiting for init container i to complete",
  ],
  [
    "a sidecar in back-off does not block the containers after the one that is done",
    sideFirst,
    anObservedPod([done("i"), failed("s")]),
    "start init j#0, delay s until 130000",
    { restartAt: () => monotonicTime(130_000) },
  ],
  [
    "a sidecar that the runtime lost is restarted",
    sideFirst,
    anObservedPod([anObservedContainer("i")]),
    "start sidecar s#0, waiting for init container i to complete",
  ],
  [
    "a sidecar is restarted while regular ones run, whatever the policy of the pod",
    aPod({ ...sidecar.spec, restartPolicy: "Never" }),
    anObservedPod([anObservedContainer("a"), done("s"), done("i")]),
    "start sidecar s#1",
  ],
  [
    "sidecars that exited with the regular containers start before them",
    sidecar,
    anObservedPod([failed("a"), failed("s"), done("i")]),
    "start sidecar s#1, start regular a#1",
  ],
  [
    "a changed sidecar is stopped while regular ones run",
    sidecar,
    anObservedPod([anObservedContainer("a"), anObservedContainer("s", { hash: "old" }), done("i")]),
    "kill s-0 (changed)",
  ],
  [
    "a sidecar is not restarted when the regular containers are done",
    aPod({ ...sidecar.spec, restartPolicy: "OnFailure" }),
    anObservedPod([done("a"), failed("s"), done("i")]),
    "finished: all containers have exited",
  ],
  [
    "a sidecar is not restarted when an init container has failed and is not restarted",
    aPod({ ...sideFirst.spec, restartPolicy: "Never" }),
    anObservedPod([failed("i"), failed("s")]),
    failedForGood,
  ],
]);

const debug = aPod({ ...inits.spec, ephemeralContainers: [{ ...aContainer("e") }] });

// ephemeral containers
testPlans([
  ["an ephemeral container needs a sandbox first", debug, undefined, "sandbox 0"],
  [
    "an ephemeral container starts while init containers run",
    debug,
    anObservedPod([anObservedContainer("i")]),
    "start ephemeral e#0, waiting for init container i to complete",
  ],
  [
    "an ephemeral container is not restarted",
    debug,
    anObservedPod([anObservedContainer("a"), failed("e")]),
    "",
  ],
  [
    "an ephemeral container is not restarted in a new sandbox",
    debug,
    anObservedPod([anObservedContainer("a"), failed("e", inOldSandbox)]),
    "",
  ],
  [
    "an ephemeral container is not stopped for a change",
    debug,
    anObservedPod([anObservedContainer("a"), anObservedContainer("e", { hash: "old" })]),
    "",
  ],
  [
    "an ephemeral container that was never started is created again",
    debug,
    anObservedPod([anObservedContainer("a"), anObservedContainer("e", { state: "created" })]),
    "remove e-0",
  ],
  [
    "a finished pod starts no ephemeral container",
    aPod({ restartPolicy: "Never", ephemeralContainers: [{ ...aContainer("e") }] }),
    anObservedPod([done("a")]),
    "finished: all containers have exited",
  ],
]);
