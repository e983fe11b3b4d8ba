import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { wallTime } from "../../lib/base/time.ts";
import { type ConditionInfo, planConditions } from "./conditions.ts";
import type { NodeCondition } from "./node-types.ts";

const info: ConditionInfo = {
  pressure: [],
  notReady: [],
  required: ["cpu"],
};
const capacity = { cpu: "1" };
const then = Date.UTC(2026, 0, 1, 12, 0, 0, 999);
const later = then + 10_000;
const plan = (
  conditions: NodeCondition[],
  changes: Partial<ConditionInfo>,
  now = later,
  has = capacity as object,
) =>
  planConditions(
    { name: "n", conditions, capacity: has as Record<string, string> },
    { ...info, ...changes },
    wallTime(now),
  );
const start = plan([], {}, then);
const byType = (conditions: NodeCondition[], type: string) => conditions.find((c) => c.type === type)!;

describe("conditions of a node", () => {
  // parity: event NodeHasSufficientMemory as HasSufficientMemory, event NodeHasNoDiskPressure as HasNoDiskPressure, event NodeHasSufficientPID as HasSufficientPID
  it("start with four, Ready last, and events for all but Ready", () => {
    assert.deepEqual(
      start.conditions.map(({ type, status }) => `${type}=${status}`),
      ["MemoryPressure=False", "DiskPressure=False", "PIDPressure=False", "Ready=True"],
    );
    assert.deepEqual(
      start.events.map(({ reason }) => reason),
      ["NodeHasSufficientMemory", "NodeHasNoDiskPressure", "NodeHasSufficientPID"],
    );
    assert.equal(start.events[0]?.message, "Node n status is now: NodeHasSufficientMemory");
  });

  it("update only their heartbeat, without an event, if they do not change", () => {
    const { conditions, events } = plan(start.conditions, {});
    assert.deepEqual(events, []);
    assert.deepEqual(
      conditions,
      start.conditions.map((c) => ({ ...c, lastHeartbeatTime: "2026-01-01T12:00:10Z" })),
    );
  });

  const changes: [Partial<ConditionInfo>, string, string, string, string][] = [
    [
      { pressure: ["MemoryPressure"] },
      "MemoryPressure",
      "True",
      "KubeletHasInsufficientMemory",
      "NodeHasInsufficientMemory",
    ],
    [{ pressure: ["DiskPressure"] }, "DiskPressure", "True", "KubeletHasDiskPressure", "NodeHasDiskPressure"],
    [
      { pressure: ["PIDPressure"] },
      "PIDPressure",
      "True",
      "KubeletHasInsufficientPID",
      "NodeHasInsufficientPID",
    ],
    [{ notReady: ["network"] }, "Ready", "False", "KubeletNotReady", "NodeNotReady"],
  ];
  // parity: event NodeNotReady, event NodeHasInsufficientMemory as HasInsufficientMemory, event NodeHasDiskPressure as HasDiskPressure, event NodeHasInsufficientPID as HasInsufficientPID
  for (const [change, type, status, reason, event] of changes)
    it(`${event} is sent with ${type}=${status}, and for the reverse`, () => {
      const changed = plan(start.conditions, change);
      const { message: _, ...condition } = byType(changed.conditions, type);
      assert.deepEqual(condition, {
        type,
        status,
        reason,
        lastHeartbeatTime: "2026-01-01T12:00:10Z",
        lastTransitionTime: "2026-01-01T12:00:10Z",
      });
      assert.deepEqual(
        changed.events.map((e) => e.reason),
        [event],
      );
      const back = plan(changed.conditions, {}, later + 10_000);
      assert.equal(back.events.length, 1);
      assert.equal(byType(back.conditions, type).lastTransitionTime, "2026-01-01T12:00:20Z");
    });

  it("keep those of other writers in their order", () => {
    const other: NodeCondition = {
      ...start.conditions[0]!,
      type: "NetworkUnavailable",
      reason: "FlannelIsUp",
    };
    const { conditions } = plan([other, ...start.conditions], { notReady: ["x"] });
    assert.deepEqual(conditions[0], other);
    assert.equal(conditions.length, 5);
  });

  // parity: event NodeReady
  it("are updated after a controller set them to Unknown", () => {
    const lost = start.conditions.map(
      (c): NodeCondition => ({ ...c, status: "Unknown", reason: "NodeStatusUnknown" }),
    );
    const found = plan(lost, {});
    assert.deepEqual(
      found.conditions.map(({ status }) => status),
      ["False", "False", "False", "True"],
    );
    assert.equal(found.events.at(-1)?.reason, "NodeReady");
  });
});

describe("the message of Ready", () => {
  const message = (change: Partial<ConditionInfo>, has?: object) =>
    byType(plan([], change, then, has).conditions, "Ready").message;
  const messages: [Partial<ConditionInfo>, string][] = [
    [{}, "kubelet is posting ready status"],
    [{ notReady: ["a"] }, "a"],
    [{ notReady: ["a", "b", "a"] }, "[a, b]"],
    [{ warning: "w" }, "kubelet is posting ready status. WARNING: w"],
    [{ notReady: ["a"], warning: "w" }, "a. WARNING: w"],
  ];
  for (const [change, text] of messages) it(text, () => assert.equal(message(change), text));
  it("names missing capacity", () => {
    const text = message({ notReady: ["a"], required: ["cpu", "memory"] }, {});
    assert.equal(text, "[a, missing node capacity for resources: cpu, memory]");
  });
});
