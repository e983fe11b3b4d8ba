import assert from "node:assert/strict";
import { test } from "node:test";
import {
  done,
  exited,
  failed,
  inOldSandbox,
  noChange,
  testPlans,
} from "../../../../../test/builders/plans.ts";
import { aContainer, anObservedContainer, anObservedPod, aPod } from "../../../../../test/builders/pods.ts";
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
const finished = "finished: all containers have exited";

testPlans([
  // running
  ["all runs: nothing to do", two, anObservedPod([anObservedContainer("a"), anObservedContainer("b")]), ""],
  [
    "one is missing: it starts, the other is unchanged",
    two,
    anObservedPod([anObservedContainer("a")]),
    "start regular b#0",
  ],
  // restarts
  ["Always: success is restarted", aPod(), anObservedPod([done("a")]), "start regular a#1"],
  ["Always: failure is restarted", aPod(), anObservedPod([failed("a", { attempt: 4 })]), "start regular a#5"],
  ["OnFailure: success is not restarted", onFailure, anObservedPod([done("a")]), finished],
  ["OnFailure: failure is restarted", onFailure, anObservedPod([failed("a")]), "start regular a#1"],
  ["Never: failure is not restarted", never, anObservedPod([failed("a")]), finished],
  [
    "one has exited and is not restarted, another runs: the pod continues",
    aPod({ restartPolicy: "Never", containers: [aContainer("a"), aContainer("b")] }),
    anObservedPod([failed("a"), anObservedContainer("b")]),
    "",
  ],
  [
    "a container with its own policy Never in a pod with Always is not restarted",
    withA({ restartPolicy: "Never" }),
    anObservedPod([failed("a")]),
    finished,
  ],
  [
    "a container with its own policy Always in a pod with Never is restarted",
    withA({ restartPolicy: "Always" }, "Never"),
    anObservedPod([done("a")]),
    "start regular a#1",
  ],
  [
    "the container's own policy is ignored without its gate",
    withA({ restartPolicy: "Always" }, "Never"),
    anObservedPod([done("a")]),
    finished,
    { gates: { containerRules: false, restartAll: false } },
  ],
  [
    "a rule restarts a container that the policy would not",
    withA(
      {
        restartPolicy: "Never",
        restartPolicyRules: [{ action: "Restart", exitCodes: { operator: "In", values: [42] } }],
      },
      "Never",
    ),
    anObservedPod([exited("a", 42)]),
    "start regular a#1",
  ],
  [
    "a new sandbox starts all again, and the restart count continues",
    aPod(),
    anObservedPod([done("a", { attempt: 2, ...inOldSandbox })]),
    "start regular a#3",
  ],
  [
    "OnFailure: a container that succeeded in an old sandbox has completed",
    aPod({ restartPolicy: "OnFailure", containers: [aContainer("a"), aContainer("b")] }),
    anObservedPod([done("a", inOldSandbox), failed("b", inOldSandbox)]),
    "start regular b#1",
  ],
  [
    "OnFailure: a container that was stopped with an old sandbox has not completed, and has no back-off",
    onFailure,
    anObservedPod([done("a", inOldSandbox)]),
    "start regular a#1",
    { replaced: () => true, restartAt: () => monotonicTime(999_999) },
  ],
  [
    "a container that exited on its own in an old sandbox keeps its back-off",
    aPod(),
    anObservedPod([failed("a", inOldSandbox)]),
    "delay a until 999999",
    { restartAt: () => monotonicTime(999_999) },
  ],
  [
    "OnFailure: a container that was stopped to be replaced starts again, though it exited with 0",
    onFailure,
    anObservedPod([done("a")]),
    "start regular a#1",
    { replaced: (c) => c.id === "a-0" },
  ],
  [
    "a container that was stopped for a failed probe has a back-off as if it had exited itself",
    aPod(),
    anObservedPod([done("a")]),
    "delay a until 999999",
    { replaced: () => true, restartAt: () => monotonicTime(999_999) },
  ],
  // one container per name
  [
    "created and never started: removed, not started",
    aPod(),
    anObservedPod([anObservedContainer("a", { state: "created" })]),
    "remove a-0",
  ],
  [
    "one dead container per name is kept",
    aPod(),
    anObservedPod([
      anObservedContainer("a", { attempt: 3 }),
      done("a", { attempt: 2 }),
      done("a", { attempt: 1 }),
      done("a"),
    ]),
    "remove a-1, remove a-0",
  ],
  [
    "two of a name run: the older one is stopped",
    aPod(),
    anObservedPod([anObservedContainer("a", { attempt: 1 }), anObservedContainer("a")]),
    "kill a-0 (duplicate)",
  ],
  [
    "the newest has exited and an older one runs: that is stopped first",
    aPod(),
    anObservedPod([failed("a", { attempt: 1 }), anObservedContainer("a")]),
    "kill a-0 (duplicate)",
  ],
  [
    "one runs in an old sandbox: that is stopped first",
    two,
    anObservedPod([anObservedContainer("a", inOldSandbox)]),
    "kill a-0 (former-sandbox), start regular b#0",
  ],
  // reasons to stop a running container
  [
    "the spec changed: the container is stopped",
    aPod(),
    anObservedPod([anObservedContainer("a", { hash: "old" })]),
    "kill a-0 (changed)",
  ],
  [
    "the spec changed after the last run: it is not restarted",
    aPod({ restartPolicy: "Never", containers: [aContainer("a"), aContainer("b")] }),
    anObservedPod([done("a", { hash: "old" }), anObservedContainer("b")]),
    "",
  ],
  [
    "state unknown: stopped before anything is started",
    aPod(),
    anObservedPod([anObservedContainer("a", { state: "unknown" })]),
    "kill a-0 (unknown)",
  ],
  [
    "a failed readiness probe stops nothing",
    aPod(),
    anObservedPod([anObservedContainer("a")]),
    "",
    { probe: (kind) => (kind === "readiness" ? "failure" : "success") },
  ],
  [
    "a probe without a result stops nothing",
    aPod(),
    anObservedPod([anObservedContainer("a")]),
    "",
    { probe: () => "unknown" },
  ],
  [
    "a failed probe applies to one container, by its ID",
    two,
    anObservedPod([anObservedContainer("a"), anObservedContainer("b")]),
    "kill b-0 (liveness-probe)",
    { probe: (kind, id) => (kind === "liveness" && id === "b-0" ? "failure" : "success") },
  ],
  // back-off
  [
    "one in back-off waits, the others do not",
    two,
    anObservedPod([failed("a")]),
    "start regular b#0, delay a until 130000",
    { restartAt: () => monotonicTime(130_000) },
  ],
  [
    "the back-off has passed: it starts",
    two,
    anObservedPod([failed("a")]),
    "start regular a#1, start regular b#0",
    { restartAt: () => undefined },
  ],
  [
    "a pod with a container in back-off is not finished",
    aPod({ restartPolicy: "OnFailure", containers: [aContainer("a"), aContainer("b")] }),
    anObservedPod([failed("a"), done("b")]),
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
const sideRuns = anObservedPod([anObservedContainer("a"), anObservedContainer("s", { hash: "h" })]);
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
    "liveness, pod Never, own policy Always",
    withA({ restartPolicy: "Always" }, "Never"),
    { probe: fails("liveness") },
    "Container a failed liveness probe, will be restarted",
    true,
  ],
  [
    "liveness, pod Always, own policy Never: rules do not apply without an exit code",
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
  test(`the kill message has the reason: ${rule}`, () => {
    const observed = pod === side ? sideRuns : anObservedPod([anObservedContainer("a")]);
    const plan = planPod(pod, observed, { ...noChange, ...more });
    assert.deepEqual(
      plan.kill.map((k) => k.message),
      [message],
    );
    assert.deepEqual(plan.replaces, replaced ? plan.kill.map((k) => k.container) : []);
    assert.deepEqual(plan.start, []);
  });

test("the kill message has the reason: unknown state", () => {
  const unknown = anObservedPod([anObservedContainer("a", { state: "unknown" })]);
  const [kill] = planPod(aPod(), unknown, noChange).kill;
  assert.equal(kill?.message, 'Container is in "unknown" state, try killing it before restart');
  const init = planPod(side, anObservedPod([anObservedContainer("s", { state: "unknown" })]), noChange);
  assert.equal(init.kill[0]?.message, 'Init container is in "unknown" state, try killing it before restart');
});

test("a container that is stopped for a new sandbox is replaced, unless the policy is Never", () => {
  const pod = aPod({
    restartPolicy: "Never",
    containers: [aContainer("a", { restartPolicy: "OnFailure" }), aContainer("b")],
  });
  const plan = planPod(
    pod,
    anObservedPod([anObservedContainer("a"), anObservedContainer("b")], []),
    noChange,
  );
  assert.deepEqual(
    plan.replaces.map((c) => c.name),
    ["a"],
  );
});
