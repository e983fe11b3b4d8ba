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
    "the next waits for the one that runs",
    inits,
    seen([seenContainer("i")]),
    "waiting for init container i to complete",
  ],
  ["the next starts when one is done", inits, seen([done("i")]), "start init j#0"],
  ["all done: the regular ones start", inits, seen([done("j"), done("i")]), "start regular a#0"],
  ["a failed one is tried again", inits, seen([failed("i")]), "start init i#1"],
  [
    "a failed one waits for its back-off, and all others with it",
    inits,
    seen([failed("i")]),
    "delay i until 130000",
    { restartAt: () => monotonicTime(130_000) },
  ],
  ["OnFailure: a failed one is tried again", once("OnFailure"), seen([failed("i")]), "start init i#1"],
  ["Never: a failed one ends the pod", once("Never"), seen([failed("i")]), failedForGood],
  ["Never: one that is done goes on", once("Never"), seen([done("i")]), "start regular a#0"],
  [
    "own policy OnFailure in a pod with Never: tried again",
    once("Never", { restartPolicy: "OnFailure" }),
    seen([failed("i")]),
    "start init i#1",
  ],
  [
    "own policy Never in a pod with Always: a failure ends the pod",
    once("Always", { restartPolicy: "Never" }),
    seen([failed("i")]),
    failedForGood,
  ],
  [
    "a rule restarts what the policy would not",
    once("Never", {
      restartPolicy: "Never",
      restartPolicyRules: [{ action: "Restart", exitCodes: { operator: "In", values: [7] } }],
    }),
    seen([exited("i", 7)]),
    "start init i#1",
  ],
  [
    "out of memory is a failure, also with exit code 0",
    once("OnFailure"),
    seen([seenContainer("i", inMemory)]),
    "start init i#1",
  ],
  [
    "out of memory is a failure, also with exit code 0: Never ends the pod",
    once("Never"),
    seen([seenContainer("i", inMemory)]),
    failedForGood,
  ],
  [
    "state unknown: ended first",
    inits,
    seen([seenContainer("i", { state: "unknown" })]),
    "kill i-0 (unknown)",
  ],
  [
    "created and never started: made anew",
    inits,
    seen([seenContainer("j", { state: "created" }), done("i")]),
    "remove j-0",
  ],
  [
    "a change of the spec does not end one that runs",
    inits,
    seen([seenContainer("i", { hash: "old" })]),
    "waiting for init container i to complete",
  ],
  [
    "once regular ones run, inits are not looked at",
    inits,
    seen([seenContainer("a"), failed("j"), done("i")]),
    "",
  ],
  [
    "once a regular one has run, inits that the runtime lost do not run again",
    inits,
    seen([failed("a")]),
    "start regular a#1",
  ],
  [
    "before that, a later one stands for those before it that the runtime lost",
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
    "in a new sandbox an init container does not wait for the end of a back-off",
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
  ["a sidecar starts in its turn", sidecar, seen([done("i")]), "start sidecar s#0"],
  [
    "a running sidecar lets the next start",
    sidecar,
    seen([seenContainer("s"), done("i")]),
    "start regular a#0",
  ],
  [
    "a sidecar with a startup probe holds up the next until it passes: no result yet",
    gated,
    seen([seenContainer("s")]),
    "waiting for startup probe of sidecar s",
  ],
  [
    "a sidecar with a startup probe holds up the next until it passes: unknown",
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
    "a sidecar whose startup probe failed is ended",
    gated,
    seen([seenContainer("s")]),
    "kill s-0 (startup-probe), waiting for startup probe of sidecar s",
    startup("failure"),
  ],
  [
    "a sidecar that ended before the next began is started again, and the next waits",
    sideFirst,
    seen([failed("s")]),
    "start sidecar s#1",
  ],
  [
    "a sidecar that ended while the next runs is started again, and holds up nothing",
    sideFirst,
    seen([seenContainer("i"), failed("s")]),
    "start sidecar s#1, waiting for init container i to complete",
  ],
  [
    "a sidecar in back-off does not hold up what comes after one that is done",
    sideFirst,
    seen([done("i"), failed("s")]),
    "start init j#0, delay s until 130000",
    { restartAt: () => monotonicTime(130_000) },
  ],
  [
    "a sidecar that the runtime lost is started again",
    sideFirst,
    seen([seenContainer("i")]),
    "start sidecar s#0, waiting for init container i to complete",
  ],
  [
    "a sidecar starts again while regular ones run, whatever the policy of the pod",
    aPod({ ...sidecar.spec, restartPolicy: "Never" }),
    seen([seenContainer("a"), done("s"), done("i")]),
    "start sidecar s#1",
  ],
  [
    "sidecars that ended with the regular containers start before them",
    sidecar,
    seen([failed("a"), failed("s"), done("i")]),
    "start sidecar s#1, start regular a#1",
  ],
  [
    "a changed sidecar is ended while regular ones run",
    sidecar,
    seen([seenContainer("a"), seenContainer("s", { hash: "old" }), done("i")]),
    "kill s-0 (changed)",
  ],
  [
    "a sidecar does not start again when the regular containers have ended for good",
    aPod({ ...sidecar.spec, restartPolicy: "OnFailure" }),
    seen([done("a"), failed("s"), done("i")]),
    "finished: all containers have ended",
  ],
  [
    "a sidecar does not start again when an init container has failed for good",
    aPod({ ...sideFirst.spec, restartPolicy: "Never" }),
    seen([failed("i"), failed("s")]),
    failedForGood,
  ],
]);

const debug = aPod({ ...inits.spec, ephemeralContainers: [{ ...aContainer("e") }] });

// ephemeral containers
testPlans([
  ["an ephemeral container starts with the sandbox that is there", debug, undefined, "sandbox 0"],
  [
    "an ephemeral container starts while init containers run",
    debug,
    seen([seenContainer("i")]),
    "start ephemeral e#0, waiting for init container i to complete",
  ],
  ["an ephemeral container is not started again", debug, seen([seenContainer("a"), failed("e")]), ""],
  ["nor in a new sandbox", debug, seen([seenContainer("a"), failed("e", before)]), ""],
  [
    "nor is it ended for a change",
    debug,
    seen([seenContainer("a"), seenContainer("e", { hash: "old" })]),
    "",
  ],
  [
    "one that was created and never started is made anew",
    debug,
    seen([seenContainer("a"), seenContainer("e", { state: "created" })]),
    "remove e-0",
  ],
  [
    "a pod that has ended starts no ephemeral container",
    aPod({ restartPolicy: "Never", ephemeralContainers: [{ ...aContainer("e") }] }),
    seen([done("a")]),
    "finished: all containers have ended",
  ],
]);
