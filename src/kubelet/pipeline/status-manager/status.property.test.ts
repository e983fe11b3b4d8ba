import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import {
  aContainer,
  anObservedContainer,
  anObservedPod,
  aPod,
  aSandbox,
} from "../../../../test/builders/pods.ts";
import { wallTime } from "../../../lib/base/time.ts";
import { isTerminalPhase } from "../../../lib/model/pod-phase.ts";
import type { ObservedContainer } from "../../state/observed-pods.ts";
import type { ProbeOutcome } from "../../state/probe-results.ts";
import type { ApiPodStatus } from "./api-types.ts";
import { at, statusOf } from "./fake-input.ts";
import type { StatusInput } from "./status-input.ts";

/** The containers of one name in the runtime: none, or one in some state and perhaps an older one. */
const containers = (name: string): fc.Arbitrary<ObservedContainer[]> =>
  fc
    .option(
      fc.record({
        state: fc.constantFrom<ObservedContainer["state"][]>("created", "running", "exited", "unknown"),
        attempt: fc.nat(3),
        exitCode: fc.constantFrom(0, 1, 42),
        hasPrevious: fc.boolean(),
      }),
      { nil: undefined },
    )
    .map((c) =>
      c
        ? [
            anObservedContainer(name, { state: c.state, attempt: c.attempt, exitCode: c.exitCode }),
            ...(c.hasPrevious && c.attempt > 0
              ? [anObservedContainer(name, { state: "exited", attempt: c.attempt - 1, exitCode: 1 })]
              : []),
          ]
        : [],
    );

const moment = fc.record({
  i: containers("i"),
  s: containers("s"),
  a: containers("a"),
  b: containers("b"),
  sandbox: fc.constantFrom("ready", "notready", undefined),
  probe: fc.constantFrom<(ProbeOutcome | undefined)[]>("success", "failure", "unknown", undefined),
  waiting: fc.boolean(),
  evicted: fc.nat(9).map((n) => n === 0),
});

const pods = fc.record({
  restartPolicy: fc.constantFrom("Always", "OnFailure", "Never"),
  isStatic: fc.boolean(),
  probed: fc.boolean(),
  rules: fc.boolean(),
});

const workerPhases = ["syncing", "terminating", "terminated"] as const;

test("in any history, terminal phases are kept, restart counts never decrease, lastTransitionTime changes only with its condition, and the same input results in the same status", () => {
  fc.assert(
    fc.property(
      pods,
      fc.array(moment, { minLength: 1, maxLength: 8 }),
      fc.nat(16),
      (options, moments, endsAt) => {
        const probes = options.probed ? { startupProbe: {}, readinessProbe: {} } : {};
        const exitCodes = { operator: "In" as const, values: [42] };
        const rules = options.rules
          ? { restartPolicy: "Never", restartPolicyRules: [{ action: "RestartAllContainers", exitCodes }] }
          : {};
        const pod = aPod(
          {
            restartPolicy: options.restartPolicy,
            initContainers: [aContainer("i"), aContainer("s", { restartPolicy: "Always", ...probes })],
            containers: [aContainer("a", { ...probes, ...rules }), aContainer("b")],
          },
          options.isStatic ? {} : { annotations: {} },
        );
        let previous: ApiPodStatus | undefined;
        moments.forEach((m, step) => {
          const workerPhase = workerPhases[Math.max(0, Math.min(2, step - endsAt + 1))] ?? "syncing";
          const input: Partial<StatusInput> = {
            previous,
            now: wallTime(at + step * 1000),
            workerPhase,
            probe: () => m.probe,
            waiting: new Map(m.waiting ? [["a", { reason: "CrashLoopBackOff", message: "" }]] : []),
            ...(m.evicted ? { failure: { phase: "Failed", reason: "Evicted", message: "" } } : {}),
          };
          const observed = anObservedPod(
            [...m.i, ...m.s, ...m.a, ...m.b],
            m.sandbox ? [aSandbox({ state: m.sandbox })] : [],
          );
          const now = statusOf(pod, observed, input);
          check(previous, now);
          if (workerPhase === "terminated" && !options.isStatic) assert.ok(isTerminalPhase(now.phase));
          assert.deepEqual(
            statusOf(pod, observed, { ...input, previous: now, now: wallTime(at + 99_000) }),
            now,
          );
          previous = now;
        });
      },
    ),
    { numRuns: 2000 },
  );
});

function check(previous: ApiPodStatus | undefined, now: ApiPodStatus): void {
  if (isTerminalPhase(previous?.phase)) assert.equal(now.phase, previous?.phase);
  for (const status of [...(now.initContainerStatuses ?? []), ...(now.containerStatuses ?? [])]) {
    assert.equal(Object.keys(status.state ?? {}).length, 1, "a container is in one state");
    if (status.ready && status.name !== "i")
      assert.ok(status.state?.running, "only running containers are ready");
    const old = [...(previous?.initContainerStatuses ?? []), ...(previous?.containerStatuses ?? [])].find(
      (s) => s.name === status.name,
    );
    assert.ok(status.restartCount >= (old?.restartCount ?? 0), "the restart count never decreases");
  }
  const isReady = now.conditions?.find((c) => c.type === "Ready")?.status === "True";
  if (isReady) assert.ok(!isTerminalPhase(now.phase) && now.containerStatuses?.every((c) => c.ready));
  for (const condition of now.conditions ?? []) {
    const old = previous?.conditions?.find((c) => c.type === condition.type);
    if (old?.status === condition.status) assert.equal(condition.lastTransitionTime, old.lastTransitionTime);
  }
}
