import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { wallTime } from "../../../lib/base/time.ts";
import { type FakePodParts, fakePod } from "../../../lib/model/fake-pod.ts";
import { annotationSource } from "../../../lib/model/pod.ts";
import { type AdmissionContext, admitPod } from "./admit.ts";
import { safeSysctls, sysctlAllowlist } from "./sysctls.ts";

const ctx: AdmissionContext = {
  node: { name: "n1", labels: { "kubernetes.io/os": "linux", zone: "a", cores: "8" } },
  allocatable: { cpu: "4", memory: "8Gi", pods: "110" },
  others: [],
  podLevelResources: true,
  sysctls: sysctlAllowlist(safeSysctls("6.1.0")),
  supplementalGroupsPolicy: true,
  appArmor: true,
};
type Row = [
  rule: string,
  expected: [reason: string, message: string] | undefined,
  pod: FakePodParts,
  over?: object,
];
const failure = (parts: FakePodParts, over: object = {}) => {
  const found = admitPod(fakePod(parts), { ...ctx, ...over });
  return found && [found.reason, found.message.replace("Pod was rejected: ", "")];
};
const check = (rows: Row[]) => {
  for (const [rule, expected, parts, over] of rows)
    it(rule, () => assert.deepEqual(failure(parts, over), expected));
};
const staticPod = { annotations: { [annotationSource]: "file" } };

describe("admitPod", () => {
  it("rejects with phase Failed and a message", () =>
    assert.deepEqual(admitPod(fakePod({ spec: { os: { name: "windows" } } }), ctx), {
      phase: "Failed",
      reason: "PodOSNotSupported",
      message: "Pod was rejected: Failed to admit pod as the OS field doesn't match node OS",
    }));
  it("admits a plain pod", () => assert.equal(admitPod(fakePod(), ctx), undefined));
  const sysctls = [{ name: "vm.swappiness", value: "1" }];
  const under = (...conditions: string[]) => ({ pressure: { conditions, cause: "why" } });
  const burstable = { spec: { containers: [{ name: "c", resources: { requests: { memory: "1Mi" } } }] } };
  const tolerant = (key: string) => ({ spec: { tolerations: [{ key, operator: "Exists" }] } });
  const tolerated = "node.kubernetes.io/memory-pressure";
  const low = (conditions: string) =>
    ["Evicted", `The node had condition: [${conditions}]. `] satisfies [string, string];
  check([
    ["no pressure", undefined, {}, under()],
    ["best effort under memory pressure", low("MemoryPressure"), {}, under("MemoryPressure")],
    ["a pod with requests under memory pressure", undefined, burstable, under("MemoryPressure")],
    ["best effort that tolerates memory pressure", undefined, tolerant(tolerated), under("MemoryPressure")],
    [
      "a toleration of something else",
      low("MemoryPressure"),
      tolerant("node.kubernetes.io/disk-pressure"),
      under("MemoryPressure"),
    ],
    ["any pod under disk pressure", low("DiskPressure"), burstable, under("DiskPressure")],
    ["even if it tolerates memory pressure", low("PIDPressure"), tolerant(tolerated), under("PIDPressure")],
    [
      "all conditions are named",
      low("MemoryPressure DiskPressure"),
      burstable,
      under("MemoryPressure", "DiskPressure"),
    ],
    [
      "a critical pod under any pressure",
      undefined,
      { spec: { priority: 2_000_000_000 } },
      under("DiskPressure"),
    ],
    [
      "a static pod under any pressure",
      undefined,
      { metadata: staticPod },
      under("DiskPressure", "PIDPressure"),
    ],
    [
      "any pod while the node shuts down",
      ["NodeShutdown", "Pod was rejected as the node is shutting down."],
      { spec: { priority: 2_000_000_000 } },
      { shutdown: { since: wallTime(0) } },
    ],
    ["no shutdown", undefined, {}, { shutdown: { since: undefined } }],
    [
      "pressure before anything else",
      low("DiskPressure"),
      { spec: { securityContext: { sysctls } } },
      { ...under("DiskPressure"), declaredFeatures: [] },
    ],
    [
      "a feature that the node does not declare, before anything else",
      [
        "PodFeatureUnsupported",
        "Pod requires node features that are not available: RestartAllContainersOnContainerExits, UserNamespacesHostNetworkSupport",
      ],
      {
        spec: {
          hostNetwork: true,
          hostUsers: false,
          securityContext: { sysctls },
          initContainers: [{ name: "i", restartPolicyRules: [{ action: "RestartAllContainers" }] }],
        },
      },
      { declaredFeatures: [] },
    ],
    [
      "a feature that the node declares",
      undefined,
      { spec: { containers: [{ name: "c", restartPolicyRules: [{ action: "RestartAllContainers" }] }] } },
      { declaredFeatures: ["RestartAllContainersOnContainerExits"] },
    ],
    [
      "a node that declares nothing",
      undefined,
      { spec: { containers: [{ name: "c", restartPolicyRules: [{ action: "RestartAllContainers" }] }] } },
    ],
    [
      "a sysctl that is not allowed",
      ["SysctlForbidden", 'forbidden sysctl: "vm.swappiness" not allowlisted'],
      { spec: { securityContext: { sysctls } } },
    ],
    [
      "sysctls count before anything else",
      ["SysctlForbidden", 'forbidden sysctl: "vm.swappiness" not allowlisted'],
      { spec: { securityContext: { sysctls }, os: { name: "windows" } } },
    ],
    [
      "a pod labeled for another operating system",
      [
        "PodOSSelectorNodeLabelDoesNotMatch",
        "Failed to admit pod as the `kubernetes.io/os` label doesn't match node label",
      ],
      { metadata: { labels: { "kubernetes.io/os": "windows" } } },
    ],
    ["a pod for this operating system", undefined, { spec: { os: { name: "linux" } } }],
    [
      "strict groups on a runtime without support",
      [
        "SupplementalGroupsPolicyNotSupported",
        "SupplementalGroupsPolicy=Strict is not supported in this node",
      ],
      { spec: { securityContext: { supplementalGroupsPolicy: "Strict" } } },
      { supplementalGroupsPolicy: false },
    ],
    [
      "merged groups on any runtime",
      undefined,
      { spec: { securityContext: { supplementalGroupsPolicy: "Merge" } } },
      { supplementalGroupsPolicy: false },
    ],
    // parity: gate PodLevelResources=false
    [
      "pod-level resources with the gate disabled",
      ["PodLevelResourcesNotSupported", "PodLevelResources feature gate is disabled"],
      { spec: { resources: { limits: { cpu: "1" } } } },
      { podLevelResources: false },
    ],
  ]);

  describe("resources", () => {
    const containers = [{ resources: { requests: { cpu: "5" } } }];
    const small = [{ resources: { requests: { cpu: "1" } } }];
    const others = [fakePod({ spec: { containers: [{ resources: { requests: { cpu: "3900m" } } }] } })];
    check([
      [
        "the reason names the resource that is missing",
        ["OutOfcpu", "Node didn't have enough resource: cpu, requested: 5000, used: 3900, capacity: 4000"],
        { spec: { containers } },
        { others },
      ],
      [
        "too many pods",
        ["OutOfpods", "Node didn't have enough resource: pods, requested: 1, used: 1, capacity: 1"],
        {},
        { others, allocatable: { pods: "1" } },
      ],
      [
        "a static pod is not rejected here for what others use: it preempts them",
        undefined,
        { metadata: staticPod, spec: { containers: small } },
        { others },
      ],
      [
        "nor is one of a system priority",
        undefined,
        { spec: { containers: small, priority: 2_000_000_000 } },
        { others },
      ],
      [
        "a high user priority is not critical",
        ["OutOfcpu", "Node didn't have enough resource: cpu, requested: 5000, used: 0, capacity: 4000"],
        { spec: { containers, priority: 1_000_000_000 } },
      ],
    ]);
  });

  describe("the node", () => {
    const affinity = (key: string, operator: string, values: string[] = [], field = "matchExpressions") => ({
      spec: {
        affinity: {
          nodeAffinity: {
            requiredDuringSchedulingIgnoredDuringExecution: {
              nodeSelectorTerms: [{ [field]: [{ key, operator, values }] }],
            },
          },
        },
      } as FakePodParts["spec"],
    });
    const mismatch: [string, string] = [
      "NodeAffinity",
      "Predicate NodeAffinity failed: node(s) didn't match Pod's node affinity/selector",
    ];
    check([
      ["nodeSelector matches", undefined, { spec: { nodeSelector: { zone: "a" } } }],
      ["nodeSelector does not match", mismatch, { spec: { nodeSelector: { zone: "b" } } }],
      ["also for a static pod", mismatch, { metadata: staticPod, spec: { nodeSelector: { zone: "b" } } }],
      [
        "a label that is a property of all objects",
        mismatch,
        { spec: { nodeSelector: { constructor: "x" } } },
      ],
      ["In matches", undefined, affinity("zone", "In", ["b", "a"])],
      ["In does not match", mismatch, affinity("zone", "In", ["b"])],
      ["NotIn matches without the label", undefined, affinity("rack", "NotIn", ["b"])],
      ["NotIn does not match", mismatch, affinity("zone", "NotIn", ["a"])],
      ["Exists matches", undefined, affinity("zone", "Exists")],
      ["DoesNotExist does not match", mismatch, affinity("zone", "DoesNotExist")],
      ["Gt compares numbers", undefined, affinity("cores", "Gt", ["7"])],
      ["Lt compares numbers, not text", undefined, affinity("cores", "Lt", ["16"])],
      ["Gt does not match what is not a number", mismatch, affinity("zone", "Gt", ["0"])],
      ["the node's name is a field", undefined, affinity("metadata.name", "In", ["n1"], "matchFields")],
      ["the wrong name", mismatch, affinity("metadata.name", "In", ["n2"], "matchFields")],
      [
        "a pod for another node",
        ["NodeName", "Predicate NodeName failed: node(s) didn't match the requested node name"],
        { spec: { nodeName: "n2" } },
      ],
      ["a pod for this node", undefined, { spec: { nodeName: "n1" } }],
    ]);
    it("an empty term matches no node", () => {
      const parts = affinity("x", "Exists");
      const required = { nodeSelectorTerms: [{}] };
      Object.assign(parts.spec!.affinity!.nodeAffinity!, {
        requiredDuringSchedulingIgnoredDuringExecution: required,
      });
      assert.deepEqual(failure(parts), mismatch);
    });
  });

  describe("host ports", () => {
    const port = (hostPort: number, more: object = {}) => ({
      spec: { containers: [{ ports: [{ containerPort: 80, hostPort, ...more }] }] },
    });
    const conflict: [string, string] = [
      "NodePorts",
      "Predicate NodePorts failed: node(s) didn't have free ports for the requested pod ports",
    ];
    const otherPod = (parts: FakePodParts) => ({ others: [fakePod(parts)] });
    check([
      ["a free port", undefined, port(80), otherPod(port(81))],
      ["a port of another pod", conflict, port(80), otherPod(port(80))],
      ["of another protocol", undefined, port(80), otherPod(port(80, { protocol: "UDP" }))],
      [
        "of another address",
        undefined,
        port(80, { hostIP: "10.0.0.1" }),
        otherPod(port(80, { hostIP: "10.0.0.2" })),
      ],
      ["of all addresses", conflict, port(80, { hostIP: "10.0.0.1" }), otherPod(port(80))],
      [
        "of a sidecar",
        conflict,
        port(80),
        otherPod({
          spec: {
            initContainers: [
              { name: "s", restartPolicy: "Always", ports: [{ containerPort: 1, hostPort: 80 }] },
            ],
          },
        }),
      ],
      ["no host port", undefined, port(0), otherPod(port(0))],
    ]);
  });

  // parity: gate TaintTolerationComparisonOperators=true, gate TaintTolerationComparisonOperators=false
  describe("taints, with and without the gate TaintTolerationComparisonOperators", () => {
    const taints = [{ key: "k", value: "v", effect: "NoExecute" }];
    const numeric = (value: string, comparesTaints = true) => ({
      taints: [{ key: "k", value, effect: "NoExecute" }],
      comparesTaints,
    });
    const rejected: [string, string] = [
      "TaintToleration",
      "Predicate TaintToleration failed: node(s) had taints that the pod didn't tolerate",
    ];
    const tolerates = (...tolerations: object[]) => ({ spec: { tolerations } });
    check([
      ["not tolerated", rejected, {}, { taints }],
      ["a static pod is admitted", undefined, { metadata: staticPod }, { taints }],
      [
        "NoSchedule is left to the scheduler",
        undefined,
        {},
        { taints: [{ key: "k", effect: "NoSchedule" }] },
      ],
      ["tolerated by value", undefined, tolerates({ key: "k", value: "v" }), { taints }],
      ["another value", rejected, tolerates({ key: "k", value: "w" }), { taints }],
      ["tolerated by key", undefined, tolerates({ key: "k", operator: "Exists" }), { taints }],
      [
        "a comparison without its gate",
        rejected,
        tolerates({ key: "k", operator: "Lt", value: "9" }),
        numeric("5", false),
      ],
      ["below", undefined, tolerates({ key: "k", operator: "Lt", value: "9" }), numeric("5")],
      ["not below", rejected, tolerates({ key: "k", operator: "Lt", value: "5" }), numeric("5")],
      ["above", undefined, tolerates({ key: "k", operator: "Gt", value: "-7" }), numeric("-5")],
      [
        "not above",
        rejected,
        tolerates({ key: "k", operator: "Gt", value: "9007199254740993" }),
        numeric("9007199254740993"),
      ],
      ["a leading zero", rejected, tolerates({ key: "k", operator: "Lt", value: "9" }), numeric("05")],
      [
        "more than 64 bits",
        rejected,
        tolerates({ key: "k", operator: "Gt", value: "5" }),
        numeric("9223372036854775808"),
      ],
      ["no value", rejected, tolerates({ key: "k", operator: "Gt", value: "5" }), numeric("")],
      ["everything tolerated", undefined, tolerates({ operator: "Exists" }), { taints }],
      ["another effect", rejected, tolerates({ operator: "Exists", effect: "NoSchedule" }), { taints }],
    ]);
  });

  describe("the detail for explanations", () => {
    const term = (...matchExpressions: object[]) => ({ matchExpressions });
    const required = (...nodeSelectorTerms: object[]) =>
      ({
        affinity: {
          nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms } },
        },
      }) as FakePodParts["spec"];
    const inZone = { key: "zone", operator: "In", values: ["b", "c"] };
    const hasDisk = { key: "disk", operator: "Exists" };
    const port = { spec: { containers: [{ ports: [{ containerPort: 80, hostPort: 8080 }] }] } };
    const rows: [rule: string, detail: string | undefined, pod: FakePodParts, over?: object][] = [
      [
        "a label with another value",
        "nodeSelector zone=b: the node has zone=a",
        { spec: { nodeSelector: { zone: "b" } } },
      ],
      [
        "each label that does not match, and no other",
        "nodeSelector disk=ssd: the node has no label disk, cores=4: the node has cores=8",
        { spec: { nodeSelector: { disk: "ssd", zone: "a", cores: "4" } } },
      ],
      [
        "the first requirement of a term that is not met",
        "required node affinity zone In [b, c]: the node has zone=a",
        { spec: required(term({ key: "cores", operator: "Exists" }, inZone)) },
      ],
      [
        "each of several terms",
        "required node affinity zone In [b, c]: the node has zone=a, or disk Exists: the node has no label disk",
        { spec: required(term(inZone), term(hasDisk)) },
      ],
      [
        "a field",
        "required node affinity metadata.name In [n2]: the node is n1",
        { spec: required({ matchFields: [{ key: "metadata.name", operator: "In", values: ["n2"] }] }) },
      ],
      [
        "a term that matches nothing",
        "required node affinity an empty term, which matches no node",
        { spec: required({}) },
      ],
      ["a node name", "nodeName n2: the node is n1", { spec: { nodeName: "n2" } }],
      [
        "the first taint that is not tolerated",
        "taint k=v:NoExecute",
        { spec: { tolerations: [{ key: "t", operator: "Exists" }] } },
        {
          taints: [
            { key: "t", effect: "NoExecute" },
            { key: "k", value: "v", effect: "NoExecute" },
          ],
        },
      ],
      ["a taint without a value", "taint k:NoExecute", {}, { taints: [{ key: "k", effect: "NoExecute" }] }],
      [
        "a port, and the pod that uses it",
        "hostPort 8080/TCP is used by pod default/other",
        port,
        { others: [fakePod({ ...port, metadata: { name: "other", namespace: "default" } })] },
      ],
      ["none if the message is enough", undefined, { spec: { os: { name: "windows" } } }],
    ];
    for (const [rule, expected, parts, over] of rows)
      it(rule, () => assert.equal(admitPod(fakePod(parts), { ...ctx, ...over })?.detail, expected));
  });

  describe("AppArmor on a host without it", () => {
    const off = { appArmor: false };
    const rejected: [string, string] = [
      "AppArmor",
      "Cannot enforce AppArmor: AppArmor is not enabled on the host",
    ];
    const annotated = (value: string) => ({
      metadata: { annotations: { "container.apparmor.security.beta.kubernetes.io/c0": value } },
    });
    const ofContainer = (type: string) => ({
      spec: { containers: [{ securityContext: { appArmorProfile: { type } } }] },
    });
    const profile = { securityContext: { appArmorProfile: { type: "RuntimeDefault" } } };
    check([
      ["a profile of the pod", rejected, { spec: profile }, off],
      ["a profile of a container", rejected, ofContainer("RuntimeDefault"), off],
      ["a profile in an annotation", rejected, annotated("localhost/x"), off],
      ["unconfined needs nothing", undefined, ofContainer("Unconfined"), off],
      ["unconfined in an annotation needs nothing", undefined, annotated("unconfined"), off],
      ["no profile needs nothing", undefined, {}, off],
      ["a pod that already runs", undefined, { spec: profile, status: { phase: "Running" } }, off],
    ]);
    check([["a host that has it", undefined, { spec: profile }]]);
  });
});
