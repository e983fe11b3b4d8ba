import assert from "node:assert/strict";
import { it } from "node:test";
import fc from "fast-check";
import { FakeClock, settle } from "../../lib/base/fake-clock.ts";
import { silentLogger } from "../../lib/base/logger.ts";
import { isReady } from "./conditions.ts";
import { fakeInputs, fakeSettings } from "./fake-info.ts";
import { FakeApiError, FakeNodeApi } from "./fake-node-api.ts";
import { changedFields } from "./node-patch.ts";
import { planStatus } from "./node-status.ts";
import { NodeStatusManager } from "./node-status-manager.ts";

type Step =
  | { do: "wait"; seconds: number }
  | { do: "ready" | "cordon" | "restart" | "wake" | "delete" | "recreate" | "strip" }
  | { do: "fault"; status: number; of: string };

const steps = fc.array(
  fc.oneof(
    fc.record({ do: fc.constant("wait" as const), seconds: fc.integer({ min: 0, max: 30 }) }),
    fc.record({
      do: fc.constantFrom("ready", "cordon", "restart", "wake", "delete", "recreate", "strip"),
    }),
    fc.record({
      do: fc.constant("fault" as const),
      status: fc.constantFrom(0, 403, 404, 409, 500),
      of: fc.constantFrom("GET", "POST", "PATCH"),
    }),
  ),
  { maxLength: 12 },
) as fc.Arbitrary<Step[]>;

it("after any sequence of changes and faults, the API server soon has the current status, has received no invalid request, and has received every transition", async () => {
  await fc.assert(fc.asyncProperty(steps, runPlan), { numRuns: 60 });
});

async function runPlan(plan: Step[]): Promise<void> {
  const clock = new FakeClock();
  const api = new FakeNodeApi("bench-node");
  const transitions: string[] = [];
  let notReady = ["not yet"];
  let stop = new AbortController();
  const info = () => fakeInputs({ conditions: { pressure: [], notReady } });
  const make = () =>
    new NodeStatusManager({
      api,
      settings: fakeSettings(),
      info: async () => info(),
      notReady: () => notReady,
      registerNode: true,
      getOnExistsOnly: false,
      devices: { isNewNode: () => false },
      updateFrequencyMs: 10_000,
      reportFrequencyMs: 300_000,
      clock,
      random: () => 0.5,
      events: {
        normal: (reason) => /^Node(Not)?Ready$/.test(reason) && transitions.push(reason),
        warning: () => {},
      },
      logger: silentLogger,
    });
  let manager = make();
  const start = async () => {
    await manager.start(stop.signal);
    await settle();
  };
  const end = async () => {
    stop.abort();
    await manager.done;
  };
  await start();
  let deleted = false;
  for (const step of plan) {
    switch (step.do) {
      case "wait":
        await clock.advance(step.seconds * 1000);
        break;
      case "ready":
        notReady = notReady.length > 0 ? [] : ["down"];
        break;
      case "cordon":
        if (api.node) api.put({ ...api.node, spec: { unschedulable: !api.node.spec.unschedulable } });
        break;
      case "strip":
        if (api.node) api.put({ ...api.node, metadata: { ...api.node.metadata, labels: {} } });
        break;
      case "wake":
        manager.wake();
        await settle();
        break;
      case "delete":
        deleted ||= api.node !== undefined;
        api.node = undefined;
        break;
      case "recreate":
        if (!api.node)
          api.put({ apiVersion: "v1", kind: "Node", metadata: { name: "bench-node" }, spec: {}, status: {} });
        deleted = true;
        break;
      case "restart":
        await end();
        stop = new AbortController();
        manager = make();
        await start();
        break;
      case "fault":
        api.fault = (call) => {
          if (call !== step.of) return;
          throw step.status ? new FakeApiError(step.status, "fault") : new Error("no response");
        };
        break;
      default:
        step satisfies never;
    }
  }
  api.fault = undefined;
  if (!api.node && deleted)
    api.put({ apiVersion: "v1", kind: "Node", metadata: { name: "bench-node" }, spec: {}, status: {} });
  await clock.advance(15_000);
  await end();
  assert.deepEqual(api.forbidden, []);
  const node = api.node!;
  assert.equal(isReady(node.status.conditions), notReady.length === 0);
  assert.deepEqual(changedFields(node.status, planStatus(node, info(), clock.wall()).node.status), {});
  assert.equal(node.metadata.labels?.["kubernetes.io/os"], "linux");
  // A node that was recreated starts without a transition: transitions alternate only on the same node.
  if (!deleted)
    for (const [i, transition] of transitions.entries()) assert.notEqual(transition, transitions[i + 1]);
}
