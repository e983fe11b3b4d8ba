import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { NodeSelectorTerm, Taint, Toleration } from "../../../lib/gen/kubernetes/core.d.ts";
import { matchesTerms } from "../../../lib/model/node-selector.ts";
import type { ApiObject } from "../../storage/object.ts";
import { fitMessage, noNodes, planScheduling } from "./binding-plan.ts";
import { untolerated } from "./filter.ts";

const noVolumes = { claim: () => undefined, volume: () => undefined };

function node(spec: object = {}, allocatable: object = { cpu: "2", memory: "1Gi", pods: "10" }): ApiObject {
  return {
    metadata: { name: "n", uid: "un", labels: { zone: "a", rank: "5" } },
    spec,
    status: { allocatable },
  };
}

let serial = 0;
function pod(spec: object = {}, more: { name?: string; status?: object; metadata?: object } = {}): ApiObject {
  const name = more.name ?? `p${++serial}`;
  return {
    metadata: { name, namespace: "default", uid: `u-${name}`, ...more.metadata },
    spec: { containers: [{ name: "c" }], ...spec },
    status: more.status ?? {},
  };
}

const requesting = (cpu: string) => ({ containers: [{ name: "c", resources: { requests: { cpu } } }] });

function outcome(pods: readonly ApiObject[], nodes: readonly ApiObject[], volumes = noVolumes): string[] {
  return planScheduling(pods, nodes, volumes).map((step) =>
    step.do === "bind" ? `${step.pod.metadata.name} to ${step.node}` : step.message,
  );
}

const unhelpful = "preemption: 0/1 nodes are available: 1 Preemption is not helpful for scheduling.";
const noVictims = "preemption: 0/1 nodes are available: 1 No preemption victims found for incoming pod.";

describe("scheduling", () => {
  const taint = { key: "a", value: "b", effect: "NoSchedule" };
  const affinity = (values: string[]) => ({
    affinity: {
      nodeAffinity: {
        requiredDuringSchedulingIgnoredDuringExecution: {
          nodeSelectorTerms: [{ matchExpressions: [{ key: "zone", operator: "In", values }] }],
        },
      },
    },
  });
  const port = (hostPort: number) => ({
    containers: [{ name: "c", ports: [{ containerPort: 1, hostPort }] }],
  });
  const onNode = (spec: object, status?: object) => pod({ nodeName: "n", ...spec }, status ? { status } : {});
  const cases: [string, object, ApiObject[], ApiObject[], string[]][] = [
    ["a pod is bound to the only node", {}, [], [node()], ["p to n"]],
    ["a pod waits if there is no node", {}, [], [], [noNodes]],
    [
      "a pod is not bound to a tainted node",
      {},
      [],
      [node({ taints: [taint] })],
      [`0/1 nodes are available: 1 node(s) had untolerated taint {a: b}. ${unhelpful}`],
    ],
    [
      "a pod is bound to a node whose taint it tolerates",
      { tolerations: [{ key: "a", operator: "Exists" }] },
      [],
      [node({ taints: [taint] })],
      ["p to n"],
    ],
    [
      "a pod is bound to a node with a PreferNoSchedule taint",
      {},
      [],
      [node({ taints: [{ ...taint, effect: "PreferNoSchedule" }] })],
      ["p to n"],
    ],
    [
      "a pod is not bound to a cordoned node",
      {},
      [],
      [node({ unschedulable: true })],
      [`0/1 nodes are available: 1 node(s) were unschedulable. ${unhelpful}`],
    ],
    [
      "a pod is bound to a node that its nodeSelector matches",
      { nodeSelector: { zone: "a" } },
      [],
      [node()],
      ["p to n"],
    ],
    [
      "a pod is not bound to a node that its nodeSelector does not match",
      { nodeSelector: { zone: "b" } },
      [],
      [node()],
      [`0/1 nodes are available: 1 node(s) didn't match Pod's node affinity/selector. ${unhelpful}`],
    ],
    [
      "a pod is bound to a node that its required affinity matches",
      affinity(["a", "b"]),
      [],
      [node()],
      ["p to n"],
    ],
    [
      "a pod is not bound to a node that its required affinity does not match",
      affinity(["b"]),
      [],
      [node()],
      [`0/1 nodes are available: 1 node(s) didn't match Pod's node affinity/selector. ${unhelpful}`],
    ],
    [
      "a pod is bound to a node with sufficient resources",
      requesting("1500m"),
      [onNode(requesting("500m"))],
      [node()],
      ["p to n"],
    ],
    [
      "a pod is not bound to a node whose resources are in use",
      requesting("1501m"),
      [onNode(requesting("500m"))],
      [node()],
      [`0/1 nodes are available: 1 Insufficient cpu. ${noVictims}`],
    ],
    [
      "a pod is not bound to a node that is too small",
      requesting("3"),
      [],
      [node()],
      [`0/1 nodes are available: 1 Insufficient cpu. ${unhelpful}`],
    ],
    [
      "terminated pods use no resources",
      requesting("2"),
      [onNode(requesting("2"), { phase: "Succeeded" })],
      [node()],
      ["p to n"],
    ],
    [
      "a pod is not bound to a node with the maximum number of pods",
      {},
      [onNode({})],
      [node({}, { pods: "1" })],
      [`0/1 nodes are available: 1 Too many pods. ${noVictims}`],
    ],
    [
      "a pod is not bound to a node where its host port is in use",
      port(80),
      [onNode(port(80))],
      [node()],
      [`0/1 nodes are available: 1 node(s) didn't have free ports for the requested pod ports. ${noVictims}`],
    ],
    ["a pod with scheduling gates is not scheduled", { schedulingGates: [{ name: "g" }] }, [], [node()], []],
    ["a pod with another schedulerName is not scheduled", { schedulerName: "mine" }, [], [node()], []],
  ];
  for (const [rule, spec, others, nodes, expected] of cases)
    test(rule, () => assert.deepEqual(outcome([pod(spec, { name: "p" }), ...others], nodes), expected));

  test("pods are scheduled by priority and then by age", () => {
    const at = (creationTimestamp: string) => ({ metadata: { creationTimestamp } });
    const steps = outcome(
      [
        pod(requesting("1"), { name: "young", ...at("2026-01-01T00:00:02Z") }),
        pod(requesting("1"), { name: "old", ...at("2026-01-01T00:00:01Z") }),
        pod({ ...requesting("1"), priority: 5 }, { name: "important", ...at("2026-01-01T00:00:03Z") }),
      ],
      [node()],
    );
    assert.deepEqual(steps, [
      "important to n",
      "old to n",
      `0/1 nodes are available: 1 Insufficient cpu. ${noVictims}`,
    ]);
  });

  test("pods wait for their PVCs, and respect the node affinity of PVs", () => {
    const spec = { volumes: [{ name: "v", persistentVolumeClaim: { claimName: "c" } }] };
    const volume = (zone: string): ApiObject => ({
      metadata: { name: "v", uid: "uv" },
      spec: {
        nodeAffinity: {
          required: {
            nodeSelectorTerms: [{ matchExpressions: [{ key: "zone", operator: "In", values: [zone] }] }],
          },
        },
      },
    });
    const claim = (phase: string): ApiObject => ({
      metadata: { name: "c", uid: "uc" },
      spec: { volumeName: "v" },
      status: { phase },
    });
    const after = (found: ApiObject | undefined, zone = "a") =>
      outcome([pod(spec, { name: "p" })], [node()], {
        claim: () => found,
        volume: () => volume(zone),
      } as never);
    assert.deepEqual(after(undefined), [
      `0/1 nodes are available: persistentvolumeclaim "c" not found. ${unhelpful}`,
    ]);
    assert.deepEqual(after(claim("Pending")), [
      `0/1 nodes are available: pod has unbound immediate PersistentVolumeClaims. ${unhelpful}`,
    ]);
    assert.deepEqual(after(claim("Bound")), ["p to n"]);
    assert.deepEqual(after(claim("Bound"), "b"), [
      `0/1 nodes are available: 1 node(s) didn't match PersistentVolume's node affinity. ${unhelpful}`,
    ]);
  });
});

test("the reasons of several nodes are aggregated", () => {
  const full = { reasons: ["Insufficient cpu", "Insufficient memory"], unresolvable: false };
  assert.equal(
    fitMessage([
      full,
      { reasons: ["Insufficient cpu"], unresolvable: false },
      { reasons: ["node(s) were unschedulable"], unresolvable: true },
    ]),
    "0/3 nodes are available: 1 Insufficient memory, 1 node(s) were unschedulable, 2 Insufficient cpu. preemption: 0/3 nodes are available: 1 Preemption is not helpful for scheduling, 2 No preemption victims found for incoming pod.",
  );
});

describe("tolerations", () => {
  const taint = { key: "a", value: "b", effect: "NoExecute" };
  const cases: [string, Taint, Toleration, boolean][] = [
    ["a toleration with the same key and value", taint, { key: "a", value: "b" }, true],
    ["a toleration with another value", taint, { key: "a", value: "c" }, false],
    ["a toleration with operator Exists", taint, { key: "a", operator: "Exists" }, true],
    [
      "a toleration with another effect",
      taint,
      { key: "a", operator: "Exists", effect: "NoSchedule" },
      false,
    ],
    ["a toleration without a key and operator Exists", taint, { operator: "Exists" }, true],
    ["an empty toleration", taint, {}, false],
  ];
  for (const [rule, one, toleration, fine] of cases)
    test(`${rule} ${fine ? "tolerates" : "does not tolerate"} the taint`, () =>
      assert.equal(untolerated([one], [toleration]) === undefined, fine));
});

describe("node selectors", () => {
  const view = { name: "n", labels: { zone: "a", rank: "5" } };
  const term = (key: string, operator: string, values: string[] = []): NodeSelectorTerm => ({
    matchExpressions: [{ key, operator, values }],
  });
  const cases: [string, NodeSelectorTerm[], boolean][] = [
    ["In with the value of the label", [term("zone", "In", ["a"])], true],
    ["NotIn for an absent label", [term("other", "NotIn", ["a"])], true],
    ["Exists for an absent label", [term("other", "Exists")], false],
    ["DoesNotExist for an absent label", [term("other", "DoesNotExist")], true],
    ["Gt with a lower value", [term("rank", "Gt", ["4"])], true],
    ["Lt with the same value", [term("rank", "Lt", ["5"])], false],
    ["Gt for a value that is not a number", [term("zone", "Gt", ["4"])], false],
    ["a list with one matching term", [term("zone", "In", ["b"]), term("zone", "In", ["a"])], true],
    [
      "a field selector with the name of the node",
      [{ matchFields: [{ key: "metadata.name", operator: "In", values: ["n"] }] }],
      true,
    ],
    ["an empty term", [{}], false],
    ["an empty list", [], false],
  ];
  for (const [rule, terms, expected] of cases)
    test(`${rule} ${expected ? "matches" : "does not match"} the node`, () =>
      assert.equal(matchesTerms(terms, view), expected));
});
