import assert from "node:assert/strict";
import { test } from "node:test";
import { planPod } from "../../src/kubelet/pipeline/pod-runtime/plan/plan-pod.ts";
import type { PlanContext, PodPlan } from "../../src/kubelet/pipeline/pod-runtime/plan/pod-plan.ts";
import type { ObservedContainer, ObservedPod } from "../../src/kubelet/state/observed-pods.ts";
import { wallTime } from "../../src/lib/base/time.ts";
import type { SandboxId } from "../../src/lib/clients/cri/cri.ts";
import type { Pod } from "../../src/lib/model/pod.ts";
import { anObservedContainer, aSandbox } from "./pods.ts";

/** There is no back-off, no probe result and no change. */
export const noChange: PlanContext = {
  wall: wallTime(100_000),
  hashOf: () => "h",
  restartAt: () => undefined,
  probe: () => undefined,
  replaced: () => false,
};

/** The plan in one line, for the expectations of a table. */
export function summary(plan: PodPlan): string {
  return [
    plan.killAll && "kill all",
    plan.createSandbox && `sandbox ${plan.createSandbox.attempt}`,
    ...plan.kill.map((k) => `kill ${k.container.id} (${k.cause})`),
    ...plan.removeContainers.map((c) => `remove ${c.id}`),
    ...plan.removeSandboxes.map((s) => `remove ${s.id}`),
    plan.resize && `resize ${["the pod", ...plan.resize.containers.map((c) => c.name)].join(" and ")}`,
    ...plan.start.map((s) => `start ${s.containerType} ${s.container.name}#${s.attempt}`),
    ...plan.delays.map((d) => `delay ${d.container} until ${d.until}`),
    plan.waitingFor,
    plan.finished && `finished: ${plan.finished}`,
  ]
    .filter(Boolean)
    .join(", ");
}

export type PlanRow = [
  rule: string,
  pod: Pod,
  observed: ObservedPod | undefined,
  expected: string,
  more?: Partial<PlanContext>,
];

export function testPlans(table: PlanRow[]): void {
  for (const [rule, pod, observed, expected, more] of table)
    test(rule, () => assert.equal(summary(planPod(pod, observed, { ...noChange, ...more })), expected));
}

type Observed = Partial<ObservedContainer>;

export const done = (name: string, more: Observed = {}) =>
  anObservedContainer(name, { state: "exited", ...more });
export const failed = (name: string, more: Observed = {}) =>
  anObservedContainer(name, { state: "exited", exitCode: 1, ...more });
export const exited = (name: string, exitCode: number, more: Observed = {}) =>
  anObservedContainer(name, { state: "exited", exitCode, ...more });

export const deadSandbox = aSandbox({ state: "notready" });
export const sandboxOf = (attempt: number, more: Parameters<typeof aSandbox>[0] = {}) =>
  aSandbox({ id: `s${attempt}` as SandboxId, attempt, ...more });
/** Fields of a container whose sandbox no longer exists. */
export const inOldSandbox = { sandboxId: "old" as SandboxId };
