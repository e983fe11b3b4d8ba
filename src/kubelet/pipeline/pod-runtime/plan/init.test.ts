import { before, done, exited, failed, testPlans } from "../../../../../test/builders/plans.ts";
import { aContainer, aPod, seen, seenContainer } from "../../../../../test/builders/pods.ts";
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
  ["init containers start one by one", inits, seen([]), "start init i#0"],
  [
    "the next waits for the running one",
    inits,
    seen([seenContainer("i")]),
    "waiting for init container i to complete",
  ],
  ["the next starts when one is done", inits, seen([done("i")]), "start init j#0"],
  ["all done: the regular ones start", inits, seen([done("j"), done("i")]), "start regular a#0"],
  ["a failed one is restarted", inits, seen([failed("i")]), "start init i#1"],
  [
    "a failed one waits for its back-off, and the others wait with it",
    inits,
    seen([failed("i")]),
    "delay i until 130000",
    { restartAt: () => monotonicTime(130_000) },
  ],
  ["OnFailure: a failed one is restarted", once("OnFailure"), seen([failed("i")]), "start init i#1"],
  ["Never: a failed one fails the pod", once("Never"), seen([failed("i")]), failedForGood],
  ["Never: the pod continues after one that is done", once("Never"), seen([done("i")]), "start regular a#0"],
  [
    "own policy OnFailure in a pod with Never: restarted",
    once("Never", { restartPolicy: "OnFailure" }),
    seen([failed("i")]),
    "start init i#1",
  ],
  [
    "own policy Never in a pod with Always: a failure fails the pod",
    once("Always", { restartPolicy: "Never" }),
    seen([failed("i")]),
    failedForGood,
  ],
  [
    "a rule restarts a container that the policy would not",
    once("Never", {
      restartPolicy: "Never",
      restartPolicyRules: [{ action: "Restart", exitCodes: { operator: "In", values: [7] } }],
    }),
    seen([exited("i", 7)]),
    "start init i#1",
  ],
  [
    "an OOM kill is a failure, even with exit code 0",
    once("OnFailure"),
    seen([seenContainer("i", inMemory)]),
    "start init i#1",
  ],
  [
    "an OOM kill is a failure, even with exit code 0: Never fails the pod",
    once("Never"),
    seen([seenContainer("i", inMemory)]),
    failedForGood,
  ],
  [
    "state unknown: stopped first",
    inits,
    seen([seenContainer("i", { state: "unknown" })]),
    "kill i-0 (unknown)",
  ],
  [
    "created and never started: created again",
    inits,
    seen([seenContainer("j", { state: "created" }), done("i")]),
    "remove j-0",
  ],
  [
    "a change of the spec does not stop a running one",
    inits,
    seen([seenContainer("i", { hash: "old" })]),
    "waiting for init container i to complete",
  ],
  [
    "once regular ones run, init containers are ignored",
    inits,
    seen([seenContainer("a"), failed("j"), done("i")]),
    "",
  ],
  [
    "once a regular one has run, init containers that the runtime lost do not run again",
    inits,
    seen([failed("a")]),
    "start regular a#1",
  ],
  [
    "before that, a later one implies that lost ones before it are done",
    aPod({ initContainers: [aContainer("i"), aContainer("j"), aContainer("k")] }),
    seen([done("j")]),
    "start init k#0",
  ],
  ["in a new sandbox init containers run again", inits, seen([done("i", before)]), "start init i#1"],
  [
    "in a new sandbox init containers run again, though regular ones ran before",
    inits,
    seen([failed("a", before), done("j", before), done("i", before)]),
    "start init i#1",
  ],
  [
    "in a new sandbox an init container has no back-off",
    inits,
    seen([failed("i", before)]),
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
  ["a sidecar starts in order", sidecar, seen([done("i")]), "start sidecar s#0"],
  [
    "a running sidecar lets the next start",
    sidecar,
    seen([seenContainer("s"), done("i")]),
    "start regular a#0",
  ],
  [
    "a sidecar with a startup probe blocks the next until it passes: no result yet",
    gated,
    seen([seenContainer("s")]),
    "waiting for startup probe of sidecar s",
  ],
  [
    "a sidecar with a startup probe blocks the next until it passes: unknown",
    gated,
    seen([seenContainer("s")]),
    "waiting for startup probe of sidecar s",
    startup("unknown"),
  ],
  [
    "a sidecar with a startup probe that passed lets the next start",
    gated,
    seen([seenContainer("s")]),
    "start init i#0",
    startup("success"),
  ],
  [
    "a sidecar whose startup probe failed is stopped",
    gated,
    seen([seenContainer("s")]),
    "kill s-0 (startup-probe), waiting for startup probe of sidecar s",
    startup("failure"),
  ],
  [
    "a sidecar that exited before the next started is restarted, and the next waits",
    sideFirst,
    seen([failed("s")]),
    "start sidecar s#1",
  ],
  [
    "a sidecar that exited while the next runs is restarted, and blocks nothing",
    sideFirst,
    seen([seenContainer("i"), failed("s")]),
    "start sidecar s#1, waiting for init container i to complete",
  ],
  [
    "a sidecar in back-off does not block the containers after the one that is done",
    sideFirst,
    seen([done("i"), failed("s")]),
    "start init j#0, delay s until 130000",
    { restartAt: () => monotonicTime(130_000) },
  ],
  [
    "a sidecar that the runtime lost is restarted",
    sideFirst,
    seen([seenContainer("i")]),
    "start sidecar s#0, waiting for init container i to complete",
  ],
  [
    "a sidecar is restarted while regular ones run, whatever the policy of the pod",
    aPod({ ...sidecar.spec, restartPolicy: "Never" }),
    seen([seenContainer("a"), done("s"), done("i")]),
    "start sidecar s#1",
  ],
  [
    "sidecars that exited with the regular containers start before them",
    sidecar,
    seen([failed("a"), failed("s"), done("i")]),
    "start sidecar s#1, start regular a#1",
  ],
  [
    "a changed sidecar is stopped while regular ones run",
    sidecar,
    seen([seenContainer("a"), seenContainer("s", { hash: "old" }), done("i")]),
    "kill s-0 (changed)",
  ],
  [
    "a sidecar is not restarted when the regular containers are done",
    aPod({ ...sidecar.spec, restartPolicy: "OnFailure" }),
    seen([done("a"), failed("s"), done("i")]),
    "finished: all containers have exited",
  ],
  [
    "a sidecar is not restarted when an init container has failed and is not restarted",
    aPod({ ...sideFirst.spec, restartPolicy: "Never" }),
    seen([failed("i"), failed("s")]),
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
    seen([seenContainer("i")]),
    "start ephemeral e#0, waiting for init container i to complete",
  ],
  ["an ephemeral container is not restarted", debug, seen([seenContainer("a"), failed("e")]), ""],
  ["nor in a new sandbox", debug, seen([seenContainer("a"), failed("e", before)]), ""],
  [
    "nor is it stopped for a change",
    debug,
    seen([seenContainer("a"), seenContainer("e", { hash: "old" })]),
    "",
  ],
  [
    "one that was created and never started is created again",
    debug,
    seen([seenContainer("a"), seenContainer("e", { state: "created" })]),
    "remove e-0",
  ],
  [
    "a finished pod starts no ephemeral container",
    aPod({ restartPolicy: "Never", ephemeralContainers: [{ ...aContainer("e") }] }),
    seen([done("a")]),
    "finished: all containers have exited",
  ],
]);
