import assert from "node:assert/strict";
import { test } from "node:test";
import { before, done, exited, failed, quiet, testPlans } from "../../../../../test/builders/plans.ts";
import { aContainer, aPod, seen, seenContainer } from "../../../../../test/builders/pods.ts";
import { monotonicTime } from "../../../../lib/base/fake-clock.ts";
import type { ContainerId } from "../../../../lib/clients/cri/cri.ts";
import type { Container, Pod } from "../../../../lib/model/pod.ts";
import { planPod } from "./plan-pod.ts";
import type { PlanContext } from "./pod-plan.ts";

const two = aPod({ containers: [aContainer("a"), aContainer("b")] });
const never = aPod({ restartPolicy: "Never" });
const onFailure = aPod({ restartPolicy: "OnFailure" });
const withA = (more: Partial<Container>, restartPolicy = "Always") =>
  aPod({ restartPolicy: restartPolicy as "Always", containers: [aContainer("a", more)] });
const ended = "finished: all containers have ended";

testPlans([
  // running
  ["all runs: nothing to do", two, seen([seenContainer("a"), seenContainer("b")]), ""],
  [
    "one is missing: it starts, the other is left alone",
    two,
    seen([seenContainer("a")]),
    "start regular b#0",
  ],
  // restarts
  ["Always: success is started again", aPod(), seen([done("a")]), "start regular a#1"],
  ["Always: failure is started again", aPod(), seen([failed("a", { attempt: 4 })]), "start regular a#5"],
  ["OnFailure: success is not", onFailure, seen([done("a")]), ended],
  ["OnFailure: failure is", onFailure, seen([failed("a")]), "start regular a#1"],
  ["Never: neither is", never, seen([failed("a")]), ended],
  [
    "one has ended for good and another runs: the pod goes on",
    aPod({ restartPolicy: "Never", containers: [aContainer("a"), aContainer("b")] }),
    seen([failed("a"), seenContainer("b")]),
    "",
  ],
  ["own policy Never in a pod with Always", withA({ restartPolicy: "Never" }), seen([failed("a")]), ended],
  [
    "own policy Always in a pod with Never",
    withA({ restartPolicy: "Always" }, "Never"),
    seen([done("a")]),
    "start regular a#1",
  ],
  [
    "own policy does not count without its gate",
    withA({ restartPolicy: "Always" }, "Never"),
    seen([done("a")]),
    ended,
    { gates: { containerRules: false, restartAll: false } },
  ],
  [
    "a rule restarts what the policy would not",
    withA(
      {
        restartPolicy: "Never",
        restartPolicyRules: [{ action: "Restart", exitCodes: { operator: "In", values: [42] } }],
      },
      "Never",
    ),
    seen([exited("a", 42)]),
    "start regular a#1",
  ],
  [
    "a new sandbox starts all again, and the count goes on",
    aPod(),
    seen([done("a", { attempt: 2, ...before })]),
    "start regular a#3",
  ],
  [
    "OnFailure: what succeeded in a former sandbox is done",
    aPod({ restartPolicy: "OnFailure", containers: [aContainer("a"), aContainer("b")] }),
    seen([done("a", before), failed("b", before)]),
    "start regular b#1",
  ],
  [
    "OnFailure: what we ended in a former sandbox is not done, and does not wait",
    onFailure,
    seen([done("a", before)]),
    "start regular a#1",
    { replaced: () => true, restartAt: () => monotonicTime(999_999) },
  ],
  [
    "what ended in a former sandbox by itself goes on waiting",
    aPod(),
    seen([failed("a", before)]),
    "delay a until 999999",
    { restartAt: () => monotonicTime(999_999) },
  ],
  [
    "OnFailure: what we ended to be replaced starts again, though it ended with 0",
    onFailure,
    seen([done("a")]),
    "start regular a#1",
    { replaced: (c) => c.id === "a-0" },
  ],
  [
    "what we ended in this sandbox for a failed probe waits as if it had failed itself",
    aPod(),
    seen([done("a")]),
    "delay a until 999999",
    { replaced: () => true, restartAt: () => monotonicTime(999_999) },
  ],
  // one of a name
  [
    "created and never started: removed, not started",
    aPod(),
    seen([seenContainer("a", { state: "created" })]),
    "remove a-0",
  ],
  [
    "one dead container a name is kept",
    aPod(),
    seen([
      seenContainer("a", { attempt: 3 }),
      done("a", { attempt: 2 }),
      done("a", { attempt: 1 }),
      done("a"),
    ]),
    "remove a-1, remove a-0",
  ],
  [
    "two run under one name: the older one is ended",
    aPod(),
    seen([seenContainer("a", { attempt: 1 }), seenContainer("a")]),
    "kill a-0 (duplicate)",
  ],
  [
    "the newest has ended and an older one runs: none is started before that is ended",
    aPod(),
    seen([failed("a", { attempt: 1 }), seenContainer("a")]),
    "kill a-0 (duplicate)",
  ],
  [
    "one runs in a former sandbox: none is started here before that is ended",
    two,
    seen([seenContainer("a", before)]),
    "kill a-0 (former-sandbox), start regular b#0",
  ],
  // what ends a running container
  [
    "the spec changed: the container is ended",
    aPod(),
    seen([seenContainer("a", { hash: "old" })]),
    "kill a-0 (changed)",
  ],
  [
    "the spec changed after it ended for good: it stays ended",
    aPod({ restartPolicy: "Never", containers: [aContainer("a"), aContainer("b")] }),
    seen([done("a", { hash: "old" }), seenContainer("b")]),
    "",
  ],
  [
    "state unknown: ended before anything is started",
    aPod(),
    seen([seenContainer("a", { state: "unknown" })]),
    "kill a-0 (unknown)",
  ],
  [
    "a failed readiness probe ends nothing",
    aPod(),
    seen([seenContainer("a")]),
    "",
    { probe: (kind) => (kind === "readiness" ? "failure" : "success") },
  ],
  [
    "a probe that has not come to a result ends nothing",
    aPod(),
    seen([seenContainer("a")]),
    "",
    { probe: () => "unknown" },
  ],
  [
    "a failed probe is that of one container, by its ID",
    two,
    seen([seenContainer("a"), seenContainer("b")]),
    "kill b-0 (liveness-probe)",
    { probe: (kind, id) => (kind === "liveness" && id === "b-0" ? "failure" : "success") },
  ],
  // back-off
  [
    "one that ended too soon waits, the others do not",
    two,
    seen([failed("a")]),
    "start regular b#0, delay a until 130000",
    { restartAt: () => monotonicTime(130_000) },
  ],
  [
    "the wait is over: it starts",
    two,
    seen([failed("a")]),
    "start regular a#1, start regular b#0",
    { restartAt: () => undefined },
  ],
  [
    "one that waits keeps the pod from being finished",
    aPod({ restartPolicy: "OnFailure", containers: [aContainer("a"), aContainer("b")] }),
    seen([failed("a"), done("b")]),
    "delay a until 130000",
    { restartAt: () => monotonicTime(130_000) },
  ],
]);

type Probed = (kind: string, id: ContainerId) => "failure" | undefined;
const fails =
  (which: string): Probed =>
  (kind) =>
    kind === which ? "failure" : undefined;
const side = aPod({ initContainers: [aContainer("s", { restartPolicy: "Always" })] });
const sideRuns = seen([seenContainer("a"), seenContainer("s", { hash: "h" })]);
const changed = (name: string) => ({ hashOf: (c: Container) => (c.name === name ? "new" : "h") });

const messages: [rule: string, pod: Pod, more: Partial<PlanContext>, message: string, replaced: boolean][] = [
  ["changed", aPod(), changed("a"), "Container a definition changed, will be restarted", true],
  ["changed, Never", never, changed("a"), "Container a definition changed, will be restarted", true],
  [
    "liveness",
    aPod(),
    { probe: fails("liveness") },
    "Container a failed liveness probe, will be restarted",
    true,
  ],
  [
    "liveness, OnFailure",
    onFailure,
    { probe: fails("liveness") },
    "Container a failed liveness probe, will be restarted",
    true,
  ],
  ["liveness, Never", never, { probe: fails("liveness") }, "Container a failed liveness probe", false],
  [
    "liveness, Never but of its own Always",
    withA({ restartPolicy: "Always" }, "Never"),
    { probe: fails("liveness") },
    "Container a failed liveness probe, will be restarted",
    true,
  ],
  [
    "liveness, Always but of its own Never: rules are not asked, it has no exit code",
    withA({
      restartPolicy: "Never",
      restartPolicyRules: [{ action: "Restart", exitCodes: { operator: "NotIn", values: [0] } }],
    }),
    { probe: fails("liveness") },
    "Container a failed liveness probe",
    false,
  ],
  [
    "startup",
    aPod(),
    { probe: fails("startup") },
    "Container a failed startup probe, will be restarted",
    true,
  ],
  [
    "liveness before startup",
    aPod(),
    { probe: () => "failure" },
    "Container a failed liveness probe, will be restarted",
    true,
  ],
  [
    "changed before probes",
    aPod(),
    { ...changed("a"), probe: () => "failure" },
    "Container a definition changed, will be restarted",
    true,
  ],
  ["changed sidecar", side, changed("s"), "Init container s definition changed", true],
  [
    "liveness of a sidecar",
    side,
    { probe: (kind, id) => (kind === "liveness" && id === "s-0" ? "failure" : undefined) },
    "Init container s failed liveness probe",
    true,
  ],
  [
    "startup of a sidecar",
    side,
    { probe: (kind, id) => (kind === "startup" && id === "s-0" ? "failure" : undefined) },
    "Init container s failed startup probe",
    true,
  ],
];

for (const [rule, pod, more, message, replaced] of messages)
  test(`users are told why a container is ended: ${rule}`, () => {
    const observed = pod === side ? sideRuns : seen([seenContainer("a")]);
    const plan = planPod(pod, observed, { ...quiet, ...more });
    assert.deepEqual(
      plan.kill.map((k) => k.message),
      [message],
    );
    assert.deepEqual(plan.replaces, replaced ? plan.kill.map((k) => k.container) : []);
    assert.deepEqual(plan.start, []);
  });

test("users are told why a container is ended: unknown state", () => {
  const unknown = seen([seenContainer("a", { state: "unknown" })]);
  const [kill] = planPod(aPod(), unknown, quiet).kill;
  assert.equal(kill?.message, 'Container is in "unknown" state, try killing it before restart');
  const init = planPod(side, seen([seenContainer("s", { state: "unknown" })]), quiet);
  assert.equal(init.kill[0]?.message, 'Init container is in "unknown" state, try killing it before restart');
});

test("what a new sandbox cuts short is replaced, unless the policy is Never", () => {
  const pod = aPod({
    restartPolicy: "Never",
    containers: [aContainer("a", { restartPolicy: "OnFailure" }), aContainer("b")],
  });
  const plan = planPod(pod, seen([seenContainer("a"), seenContainer("b")], []), quiet);
  assert.deepEqual(
    plan.replaces.map((c) => c.name),
    ["a"],
  );
});
