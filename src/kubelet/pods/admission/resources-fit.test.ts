import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { type FakePodParts, fakePod } from "../../../lib/model/fake-pod.ts";
import { type FitContext, insufficientMessage, insufficientResources } from "./resources-fit.ts";

const allocatable = {
  cpu: "4",
  memory: "8Gi",
  "ephemeral-storage": "10Gi",
  pods: "3",
  "example.com/gpu": "2",
};
const asks = (requests: Record<string, string>, spec: FakePodParts["spec"] = {}) =>
  fakePod({ spec: { ...spec, containers: [{ resources: { requests } }] } });
const missing = (pod: ReturnType<typeof fakePod>, over: Partial<FitContext> = {}) =>
  insufficientResources(pod, { allocatable, others: [], podLevelResources: true, ...over }).map(
    (m) => `${m.resource} ${m.requested} ${m.used} ${m.capacity}`,
  );

describe("insufficientResources", () => {
  const rows: [rule: string, pod: ReturnType<typeof fakePod>, want: string[], over?: Partial<FitContext>][] =
    [
      ["a pod that asks for nothing fits", asks({}), []],
      ["one that asks for all there is fits", asks({ cpu: "4", memory: "8Gi" }), []],
      ["CPU is counted in thousandths", asks({ cpu: "4001m" }), ["cpu 4001 0 4000"]],
      [
        "what others requested is used",
        asks({ cpu: "200m" }),
        ["cpu 200 3900 4000"],
        { others: [asks({ cpu: "3900m" })] },
      ],
      [
        "all that is missing is told, in a fixed order",
        asks({ "example.com/gpu": "3", memory: "9Gi", "ephemeral-storage": "11Gi", cpu: "5" }),
        [
          "cpu 5000 0 4000",
          `memory ${9n << 30n} 0 ${8n << 30n}`,
          `ephemeral-storage ${11n << 30n} 0 ${10n << 30n}`,
          "example.com/gpu 3 0 2",
        ],
      ],
      [
        "one more pod than there are places",
        asks({}),
        ["pods 1 3 3"],
        { others: [asks({}), asks({}), asks({})] },
      ],
      ["a resource that the node does not name is not limited", asks({ "example.com/other": "9" }), []],
      [
        "a pod that asks for nothing fits beside pods that ask for too much",
        asks({}),
        [],
        { others: [asks({ cpu: "9" })] },
      ],
      ["overhead counts", asks({ cpu: "4" }, { overhead: { cpu: "1m" } }), ["cpu 4001 0 4000"]],
      [
        "an init container counts when it needs more than the others",
        asks({ cpu: "1" }, { initContainers: [{ name: "i", resources: { requests: { cpu: "5" } } }] }),
        ["cpu 5000 0 4000"],
      ],
      [
        "a pod's own request counts",
        asks({ cpu: "1" }, { resources: { requests: { cpu: "6" } } }),
        ["cpu 6000 0 4000"],
      ],
      [
        "but not with pod-level resources turned off",
        asks({ cpu: "1" }, { resources: { requests: { cpu: "6" } } }),
        [],
        { podLevelResources: false },
      ],
    ];
  for (const [rule, pod, want, over] of rows) it(rule, () => assert.deepEqual(missing(pod, over), want));
});

describe("insufficientMessage", () => {
  it("says what is asked for, used and there", () =>
    assert.equal(
      insufficientMessage({ resource: "cpu", requested: 100n, used: 3900n, capacity: 4000n }),
      "Node didn't have enough resource: cpu, requested: 100, used: 3900, capacity: 4000",
    ));
});
