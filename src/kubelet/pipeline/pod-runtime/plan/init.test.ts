import { done, exited, failed, inOldSandbox, testPlans } from "../../../../../test/builders/plans.ts";
import { aContainer, anObservedContainer, anObservedPod, aPod } from "../../../../../test/builders/pods.ts";
import { monotonicTime } from "../../../../lib/base/fake-clock.ts";
import type { Container, Pod } from "../../../../lib/model/pod.ts";
import type { PlanContext } from "./pod-plan.ts";

const twoInits = aPod({ initContainers: [aContainer("i"), aContainer("j")] });
const oneInit = (restartPolicy: Pod["spec"]["restartPolicy"], more: Partial<Container> = {}) =>
  aPod({ restartPolicy, initContainers: [aContainer("i", more)] });
const notRestarted = "finished: init container i failed and is not restarted";
const oomKilled = { state: "exited", reason: "OOMKilled" } as const;

// init containers
testPlans([
  ["init containers start one by one", twoInits, anObservedPod([]), "start init i#0"],
  [
    "an init container waits until the previous one completes",
    twoInits,
    anObservedPod([anObservedContainer("i")]),
    "waiting for init container i to complete",
  ],
  [
    "an init container starts when the previous one has completed",
    twoInits,
    anObservedPod([done("i")]),
    "start init j#0",
  ],
  [
    "regular containers start when all init containers have completed",
    twoInits,
    anObservedPod([done("j"), done("i")]),
    "start regular a#0",
  ],
  ["a failed init container is restarted", twoInits, anObservedPod([failed("i")]), "start init i#1"],
  [
    "a failed init container waits for its back-off, and the other containers wait too",
    twoInits,
    anObservedPod([failed("i")]),
    "delay i until 130000",
    { restartAt: () => monotonicTime(130_000) },
  ],
  [
    "with OnFailure, a failed init container is restarted",
    oneInit("OnFailure"),
    anObservedPod([failed("i")]),
    "start init i#1",
  ],
  [
    "with Never, a failed init container fails the pod",
    oneInit("Never"),
    anObservedPod([failed("i")]),
    notRestarted,
  ],
  [
    "with Never, regular containers start when the init container has completed",
    oneInit("Never"),
    anObservedPod([done("i")]),
    "start regular a#0",
  ],
  [
    "a container policy of OnFailure overrides the pod policy Never",
    oneInit("Never", { restartPolicy: "OnFailure" }),
    anObservedPod([failed("i")]),
    "start init i#1",
  ],
  [
    "a container policy of Never overrides the pod policy Always: a failure fails the pod",
    oneInit("Always", { restartPolicy: "Never" }),
    anObservedPod([failed("i")]),
    notRestarted,
  ],
  [
    "a restart rule takes precedence over the policy Never",
    oneInit("Never", {
      restartPolicy: "Never",
      restartPolicyRules: [{ action: "Restart", exitCodes: { operator: "In", values: [7] } }],
    }),
    anObservedPod([exited("i", 7)]),
    "start init i#1",
  ],
  [
    "an OOM kill is a failure, even with exit code 0",
    oneInit("OnFailure"),
    anObservedPod([anObservedContainer("i", oomKilled)]),
    "start init i#1",
  ],
  [
    "with Never, an OOM kill fails the pod, even with exit code 0",
    oneInit("Never"),
    anObservedPod([anObservedContainer("i", oomKilled)]),
    notRestarted,
  ],
  [
    "an init container in an unknown state is stopped first",
    twoInits,
    anObservedPod([anObservedContainer("i", { state: "unknown" })]),
    "kill i-0 (unknown)",
  ],
  [
    "an init container that was never started is recreated",
    twoInits,
    anObservedPod([anObservedContainer("j", { state: "created" }), done("i")]),
    "remove j-0",
  ],
  [
    "a change to the spec does not stop a running init container",
    twoInits,
    anObservedPod([anObservedContainer("i", { hash: "old" })]),
    "waiting for init container i to complete",
  ],
  [
    "once regular containers run, init containers are ignored",
    twoInits,
    anObservedPod([anObservedContainer("a"), failed("j"), done("i")]),
    "",
  ],
  [
    "once a regular container has run, init containers that the runtime lost do not run again",
    twoInits,
    anObservedPod([failed("a")]),
    "start regular a#1",
  ],
  [
    "an init container that has run implies that lost ones before it have completed",
    aPod({ initContainers: [aContainer("i"), aContainer("j"), aContainer("k")] }),
    anObservedPod([done("j")]),
    "start init k#0",
  ],
  [
    "in a new sandbox init containers run again",
    twoInits,
    anObservedPod([done("i", inOldSandbox)]),
    "start init i#1",
  ],
  [
    "in a new sandbox init containers run again, even if regular containers ran before",
    twoInits,
    anObservedPod([failed("a", inOldSandbox), done("j", inOldSandbox), done("i", inOldSandbox)]),
    "start init i#1",
  ],
  [
    "in a new sandbox an init container has no back-off",
    twoInits,
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
    "the next container starts once a sidecar runs",
    sidecar,
    anObservedPod([anObservedContainer("s"), done("i")]),
    "start regular a#0",
  ],
  [
    "a sidecar with a startup probe blocks the next container while the probe has no result",
    gated,
    anObservedPod([anObservedContainer("s")]),
    "waiting for startup probe of sidecar s",
  ],
  [
    "a sidecar with a startup probe blocks the next container while the result is unknown",
    gated,
    anObservedPod([anObservedContainer("s")]),
    "waiting for startup probe of sidecar s",
    startup("unknown"),
  ],
  [
    "the next container starts once the startup probe of a sidecar has passed",
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
    "a sidecar in back-off does not block the container after a completed init container",
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
    "a sidecar is restarted while regular containers run, regardless of the pod policy",
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
    "a changed sidecar is stopped while regular containers run",
    sidecar,
    anObservedPod([anObservedContainer("a"), anObservedContainer("s", { hash: "old" }), done("i")]),
    "kill s-0 (changed)",
  ],
  [
    "a sidecar is not restarted when the regular containers have completed",
    aPod({ ...sidecar.spec, restartPolicy: "OnFailure" }),
    anObservedPod([done("a"), failed("s"), done("i")]),
    "finished: all containers have exited",
  ],
  [
    "a sidecar is not restarted when an init container has failed and is not restarted",
    aPod({ ...sideFirst.spec, restartPolicy: "Never" }),
    anObservedPod([failed("i"), failed("s")]),
    notRestarted,
  ],
]);

const debug = aPod({ ...twoInits.spec, ephemeralContainers: [{ ...aContainer("e") }] });

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
    "an ephemeral container that was never started is recreated",
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
