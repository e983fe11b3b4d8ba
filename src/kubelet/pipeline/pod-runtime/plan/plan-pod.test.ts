import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { PlanModel } from "../../../../../test/builders/plan-model.ts";
import { summary } from "../../../../../test/builders/plans.ts";
import { aContainer, aPod } from "../../../../../test/builders/pods.ts";
import type { SandboxId } from "../../../../lib/clients/cri/cri.ts";
import type { Container, Pod } from "../../../../lib/model/pod.ts";
import { restartDecision } from "../../../../lib/model/restart-policy.ts";
import { isEmpty } from "./pod-plan.ts";
import { isLive } from "./view.ts";

const exitCodes = fc.constantFrom(0, 1, 42, 137);
const rules = fc
  .constantFrom("Restart", "RestartAllContainers")
  .map((action) => [{ action, exitCodes: { operator: "In" as const, values: [42] } }]);

/** Some containers have their own policies and rules. */
const own: fc.Arbitrary<Partial<Container>> = fc.oneof(
  { weight: 3, arbitrary: fc.constant({}) },
  fc.record({ restartPolicy: fc.constantFrom("OnFailure", "Never"), restartPolicyRules: rules }),
);
const sidecar: fc.Arbitrary<Partial<Container>> = fc.constantFrom(
  { restartPolicy: "Always" },
  { restartPolicy: "Always", startupProbe: { exec: { command: ["true"] } } },
);
const named = (prefix: string, all: Partial<Container>[]) =>
  all.map((more, index) => aContainer(`${prefix}${index}`, more));

const pods: fc.Arbitrary<Pod> = fc
  .record({
    restartPolicy: fc.constantFrom("Always" as const, "OnFailure" as const, "Never" as const),
    inits: fc.array(fc.oneof(own, sidecar), { maxLength: 3 }),
    regular: fc.array(own, { minLength: 1, maxLength: 2 }),
    debug: fc.boolean(),
  })
  .map(({ restartPolicy, inits, regular, debug }) =>
    aPod({
      restartPolicy,
      initContainers: named("i", inits),
      containers: named("c", regular),
      ephemeralContainers: debug ? [{ ...aContainer("e") }] : [],
    }),
  );

/** An event at a random container of the pod. */
type PodIncident = { what: string; at: number; code: number };
const incidents: fc.Arbitrary<PodIncident[]> = fc.array(
  fc.record({
    what: fc.oneof(
      { weight: 4, arbitrary: fc.constantFrom("act", "settle") },
      fc.constantFrom(
        "fail the plan",
        "exit",
        "unknown",
        "probe",
        "image",
        "sandbox dies",
        "no address",
        "lose",
        "agent",
      ),
    ),
    at: fc.nat(20),
    code: exitCodes,
  }),
  { maxLength: 40 },
);

function applyIncident(model: PlanModel, { what, at, code }: PodIncident): void {
  const live = model.containers.filter(isLive);
  const one = live[at % (live.length || 1)];
  const [newest, ...older] = model.sandboxes;
  switch (what) {
    case "act":
      return model.act(model.plan(), code);
    case "fail the plan":
      return model.act(model.plan(), "keeps running");
    case "settle":
      return model.settle();
    case "exit":
      return one && model.exit(one.id, code);
    case "unknown":
      model.containers = model.containers.map((c) => (c === one ? { ...c, state: "unknown" } : c));
      return;
    case "probe":
      return one && model.probe(at % 2 ? "liveness" : "startup", one.id, "failure");
    case "image": {
      const { spec } = model.pod;
      const containers = spec.containers.map((c) => ({ ...c, image: `busybox:${at}` }));
      model.pod = { ...model.pod, spec: { ...spec, containers } };
      return;
    }
    case "sandbox dies":
      if (newest) model.sandboxes = [{ ...newest, state: "notready" }, ...older];
      for (const c of live) if (at % 2) model.exit(c.id, code);
      return;
    case "no address":
      if (newest) model.sandboxes = [{ ...newest, ips: [] }, ...older];
      return;
    case "lose":
      return model.loseRecord();
    case "agent":
      return model.restartAgent();
  }
}

/** Applies plans until nothing is left to do; fails if that does not happen. */
function converge(model: PlanModel): void {
  for (let stage = 0; stage < 60; stage++) {
    model.settle();
    const plan = model.plan();
    if (isEmpty(plan) && !plan.waitingFor) return;
    model.act(plan, 143);
  }
  assert.fail(`does not converge: ${summary(model.plan())}`);
}

function assertConverged(model: PlanModel): void {
  const plan = model.plan();
  const names = model.containers.filter(isLive).map((c) => c.name);
  // The worker then stops everything that is still running.
  if (plan.finished) return;
  assert.equal(new Set(names).size, names.length, "one container per name");
  for (const container of model.pod.spec.containers) {
    const all = model.containers.filter((c) => c.name === container.name);
    // An exit in the newest sandbox takes precedence over a later one in an old sandbox.
    const inNewest = all.find((c) => c.sandboxId === model.sandboxes[0]?.id);
    const last = all.find(isLive) ?? inNewest ?? all[0];
    const runs = last?.state === "running" && last.hash === container.image;
    const exited =
      last?.state === "exited" && restartDecision(model.pod, container, "regular", last.exitCode) === "no";
    assert.ok(runs || exited, `${container.name} runs, or is done`);
  }
  for (const { name, restartPolicy } of model.pod.spec.initContainers ?? [])
    if (restartPolicy === "Always") assert.ok(names.includes(name), `sidecar ${name} runs`);
}

test("in any order of events: init order is kept, no two of a name run, and the plan converges", () => {
  fc.assert(
    fc.property(pods, incidents, (pod, history) => {
      const model = new PlanModel(pod);
      for (const incident of history) applyIncident(model, incident);
      converge(model);
      assert.deepEqual(model.violations, []);
      assertConverged(model);
    }),
    { numRuns: 5000 },
  );
});

const anyContainers = fc.array(
  fc.record({
    name: fc.constantFrom("i0", "i1", "c0", "c1", "e"),
    state: fc.constantFrom("created" as const, "running" as const, "exited" as const, "unknown" as const),
    sandboxId: fc.constantFrom("s0", "s1", "nowhere") as fc.Arbitrary<SandboxId>,
    exitCode: exitCodes,
    hash: fc.constantFrom("busybox:1", "busybox:0"),
  }),
  { maxLength: 8 },
);
const sandboxes = fc.array(
  fc.record({
    state: fc.constantFrom("ready" as const, "notready" as const),
    ips: fc.constantFrom(["10.0.0.1"], []),
  }),
  { maxLength: 3 },
);

test("from any observed state: no two of a name are started, and the plan converges", () => {
  fc.assert(
    fc.property(pods, sandboxes, anyContainers, fc.nat(2), (pod, found, containers, failedStages) => {
      const model = new PlanModel(pod);
      for (const [attempt, sandbox] of found.entries()) model.addSandbox({ ...sandbox, attempt });
      for (const [attempt, container] of containers.entries())
        model.addContainer(container.name, { ...container, attempt });
      for (let stage = 0; stage < failedStages; stage++) model.act(model.plan(), "keeps running");
      converge(model);
      // What ran before is unknown in such a state: the order can only be checked from the start.
      assert.deepEqual(
        model.violations.filter((v) => !v.startsWith("order:")),
        [],
      );
      assertConverged(model);
    }),
    { numRuns: 5000 },
  );
});
