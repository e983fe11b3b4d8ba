import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { NodeCondition, Taint } from "../../../lib/gen/kubernetes/core.d.ts";
import { observed } from "./lifecycle.ts";
import { deadline, type NodeState, plannedTaints, unknownConditions } from "./node-lifecycle-plan.ts";

const now = Date.UTC(2026, 0, 1);
const stamp = "2026-01-01T00:00:00Z";

function state(conditions: NodeCondition[], taints: Taint[] = [], unschedulable = false): NodeState {
  return { created: "2025-12-31T00:00:00Z", conditions, taints, unschedulable };
}
const ready = (status: string): NodeCondition => ({ type: "Ready", status });
const taint = (key: string, effect: string, more: object = {}): Taint => ({
  key: `node.kubernetes.io/${key}`,
  effect,
  ...more,
});

describe("the taints of a node", () => {
  const own = { key: "mine", effect: "NoSchedule" };
  const cases: [string, NodeState, Taint[]][] = [
    ["none if it is ready", state([ready("True")]), []],
    [
      "registration taints are removed when it is ready",
      state([ready("True")], [taint("not-ready", "NoSchedule"), own]),
      [own],
    ],
    [
      "registration taints are kept until its first report",
      state([], [taint("not-ready", "NoSchedule")]),
      [taint("not-ready", "NoSchedule")],
    ],
    [
      "not ready",
      state([ready("False")]),
      [taint("not-ready", "NoSchedule"), taint("not-ready", "NoExecute", { timeAdded: stamp })],
    ],
    [
      "unreachable after not ready",
      state(
        [ready("Unknown")],
        [taint("not-ready", "NoSchedule"), taint("not-ready", "NoExecute", { timeAdded: "x" })],
      ),
      [taint("unreachable", "NoSchedule"), taint("unreachable", "NoExecute", { timeAdded: stamp })],
    ],
    [
      "an existing taint keeps its timeAdded",
      state(
        [ready("False")],
        [taint("not-ready", "NoSchedule"), taint("not-ready", "NoExecute", { timeAdded: "x" })],
      ),
      [taint("not-ready", "NoSchedule"), taint("not-ready", "NoExecute", { timeAdded: "x" })],
    ],
    [
      "pressure",
      state([ready("True"), { type: "DiskPressure", status: "True" }]),
      [taint("disk-pressure", "NoSchedule")],
    ],
    ["cordoned", state([ready("True")], [], true), [taint("unschedulable", "NoSchedule")]],
    ["cordoned before its first report", state([], [], true), [taint("unschedulable", "NoSchedule")]],
    ["no longer cordoned", state([ready("True")], [taint("unschedulable", "NoSchedule")]), []],
  ];
  for (const [rule, node, expected] of cases)
    test(rule, () => assert.deepEqual(plannedTaints(node, now), expected));

  test("are not written again if they are unchanged", () => {
    const node = state([ready("True")], [own]);
    assert.equal(plannedTaints(node, now), node.taints);
  });
});

describe("a node that does not report", () => {
  test("becomes Unknown after its grace period", () => {
    const gracePeriods = { startupMs: 60_000, monitorMs: 50_000 };
    assert.equal(deadline(state([]), 0, gracePeriods), 60_000);
    assert.equal(deadline(state([ready("True")]), 0, gracePeriods), 50_000);
  });

  test("has conditions that are Unknown", () => {
    const conditions = unknownConditions(state([ready("True"), { type: "Mine", status: "True" }]), now) ?? [];
    assert.deepEqual(
      conditions.map(({ type, status, reason }) => [type, status, reason]),
      [
        ["Ready", "Unknown", "NodeStatusUnknown"],
        ["Mine", "True", undefined],
        ["MemoryPressure", "Unknown", "NodeStatusNeverUpdated"],
        ["DiskPressure", "Unknown", "NodeStatusNeverUpdated"],
        ["PIDPressure", "Unknown", "NodeStatusNeverUpdated"],
      ],
    );
    assert.equal(conditions[0]?.message, "Kubelet stopped posting node status.");
    assert.equal(conditions[2]?.message, "Kubelet never posted node status.");
    assert.equal(unknownConditions(state(conditions), now + 1000), undefined);
  });
});

describe("heartbeats", () => {
  const first = observed(undefined, { heartbeat: "h1", renewed: stamp }, 100);
  test("are recorded when they are new", () => {
    assert.equal(first.at, 100);
    assert.equal(observed(first, { heartbeat: "h1", renewed: stamp }, 200).at, 100);
    assert.equal(observed(first, { heartbeat: "h2", renewed: stamp }, 200).at, 200);
    assert.equal(observed(first, { heartbeat: "h1", renewed: "2026-01-01T00:00:10Z" }, 200).at, 200);
  });
  test("are ignored when they go back in time", () =>
    assert.equal(observed(first, { heartbeat: "h1", renewed: "2025-01-01T00:00:00Z" }, 200).at, 100));
});
