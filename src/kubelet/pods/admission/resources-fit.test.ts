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
const requesting = (requests: Record<string, string>, spec: FakePodParts["spec"] = {}) =>
  fakePod({ spec: { ...spec, containers: [{ resources: { requests } }] } });
const missing = (pod: ReturnType<typeof fakePod>, over: Partial<FitContext> = {}) =>
  insufficientResources(pod, { allocatable, others: [], podLevelResources: true, ...over }).map(
    (m) => `${m.resource} ${m.requested} ${m.used} ${m.capacity}`,
  );

describe("insufficientResources", () => {
  type Row = [rule: string, pod: ReturnType<typeof fakePod>, expected: string[], over?: Partial<FitContext>];
  const rows: Row[] = [
    ["a pod without requests fits", requesting({}), []],
    ["a pod that requests all of the node fits", requesting({ cpu: "4", memory: "8Gi" }), []],
    ["CPU is counted in millicores", requesting({ cpu: "4001m" }), ["cpu 4001 0 4000"]],
    [
      "requests of others count as used",
      requesting({ cpu: "200m" }),
      ["cpu 200 3900 4000"],
      { others: [requesting({ cpu: "3900m" })] },
    ],
    [
      "all missing resources are listed, in a fixed order",
      requesting({ "example.com/gpu": "3", memory: "9Gi", "ephemeral-storage": "11Gi", cpu: "5" }),
      [
        "cpu 5000 0 4000",
        `memory ${9n << 30n} 0 ${8n << 30n}`,
        `ephemeral-storage ${11n << 30n} 0 ${10n << 30n}`,
        "example.com/gpu 3 0 2",
      ],
    ],
    [
      "one pod more than the maximum",
      requesting({}),
      ["pods 1 3 3"],
      { others: [requesting({}), requesting({}), requesting({})] },
    ],
    ...(
      [
        ["is not limited by the node", true, []],
        ["is limited by the node without the gate DRAExtendedResource", false, ["example.com/gpu 3 0 2"]],
      ] as const
    ).map(
      ([what, extendedResourcesByDra, expected]): Row => [
        `an extended resource that DRA has allocated ${what}`,
        fakePod({
          spec: { containers: [{ name: "c", resources: { requests: { "example.com/gpu": "3" } } }] },
          status: {
            extendedResourceClaimStatus: {
              resourceClaimName: "claim",
              requestMappings: [
                { containerName: "c", resourceName: "example.com/gpu", requestName: "container-0-request-0" },
              ],
            },
          },
        }),
        [...expected],
        { extendedResourcesByDra },
      ],
    ),
    [
      "an extended resource that the node does not name is not limited",
      requesting({ "example.com/other": "9" }),
      [],
    ],
    [
      "huge pages of a size that the node does not have are missing",
      requesting({ "hugepages-2Mi": "4Mi" }),
      [`hugepages-2Mi ${4 << 20} 0 0`],
    ],
    [
      "ephemeral storage is missing on a node that does not count it",
      requesting({ "ephemeral-storage": "1Gi" }),
      [`ephemeral-storage ${1 << 30} 0 0`],
      { allocatable: { cpu: "4", memory: "8Gi", pods: "3" } },
    ],
    [
      "a pod without requests is admitted even if other pods request more than the node has",
      requesting({}),
      [],
      { others: [requesting({ cpu: "9" })] },
    ],
    ["overhead is included", requesting({ cpu: "4" }, { overhead: { cpu: "1m" } }), ["cpu 4001 0 4000"]],
    [
      "an init container determines the request if it needs more than the others",
      requesting({ cpu: "1" }, { initContainers: [{ name: "i", resources: { requests: { cpu: "5" } } }] }),
      ["cpu 5000 0 4000"],
    ],
    [
      "pod-level requests count",
      requesting({ cpu: "1" }, { resources: { requests: { cpu: "6" } } }),
      ["cpu 6000 0 4000"],
    ],
    [
      "but not with pod-level resources disabled",
      requesting({ cpu: "1" }, { resources: { requests: { cpu: "6" } } }),
      [],
      { podLevelResources: false },
    ],
  ];
  for (const [rule, pod, expected, over] of rows)
    it(rule, () => assert.deepEqual(missing(pod, over), expected));
});

describe("insufficientMessage", () => {
  it("names what is requested, used and available", () =>
    assert.equal(
      insufficientMessage({ resource: "cpu", requested: 100n, used: 3900n, capacity: 4000n }),
      "Node didn't have enough resource: cpu, requested: 100, used: 3900, capacity: 4000",
    ));
});
