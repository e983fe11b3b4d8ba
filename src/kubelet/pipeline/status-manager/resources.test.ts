import assert from "node:assert/strict";
import { test } from "node:test";
import { aContainer, anObservedContainer, anObservedPod, aPod } from "../../../../test/builders/pods.ts";
import { wallTime } from "../../../lib/base/time.ts";
import type { CgroupLimits } from "../../../lib/host/cgroups/limits-reader.ts";
import { annotationSource, type Pod, type ResourceRequirements } from "../../../lib/model/pod.ts";
import type { ObservedContainer } from "../../state/observed-pods.ts";
import type { ApiPodStatus } from "./api-types.ts";
import { statusOf } from "./fake-input.ts";
import { defaultStatusGates, type StatusInput } from "./status-input.ts";

type Actual = NonNullable<ObservedContainer["resources"]>;
const withResources = (resources: ResourceRequirements) =>
  aPod({ containers: [aContainer("a", { resources })] });
const runs = (resources?: Actual) => anObservedContainer("a", resources ? { resources } : {});
const requested: ResourceRequirements = {
  limits: { cpu: "1", memory: "64Mi", "example.com/x": "1" },
  requests: { cpu: "500m", memory: "32Mi", "example.com/x": "1" },
};
const reported = (resources: ResourceRequirements, id = "containerd://a-0"): ApiPodStatus => ({
  containerStatuses: [
    {
      name: "a",
      containerID: id,
      image: "",
      imageID: "",
      ready: true,
      restartCount: 0,
      state: { running: {} },
      resources,
    },
  ],
});

const table: [
  rule: string,
  spec: ResourceRequirements,
  container: ObservedContainer,
  previous: ApiPodStatus | undefined,
  expected: ResourceRequirements,
][] = [
  ["nothing is reported if nothing was requested", {}, runs({ milliCpuRequest: 2 }), undefined, {}],
  ["those of the spec are reported if the runtime reports nothing", requested, runs(), undefined, requested],
  [
    "those of the runtime override those of the spec",
    requested,
    runs({ milliCpuLimit: 800, milliCpuRequest: 400, memoryLimit: 128 << 20 }),
    undefined,
    {
      limits: { cpu: "800m", memory: "128Mi", "example.com/x": "1" },
      requests: { cpu: "400m", memory: "32Mi", "example.com/x": "1" },
    },
  ],
  [
    "a container that does not run has those of the spec",
    requested,
    anObservedContainer("a", { state: "exited", resources: { milliCpuLimit: 800 } }),
    undefined,
    requested,
  ],
  [
    "CPU below the minimum is reported as in the spec",
    { limits: { cpu: "5m" }, requests: { cpu: "1m" } },
    runs({ milliCpuLimit: 10, milliCpuRequest: 2 }),
    undefined,
    { limits: { cpu: "5m" }, requests: { cpu: "1m" } },
  ],
  [
    "CPU above the minimum is reported as in the runtime",
    { limits: { cpu: "5m" }, requests: { cpu: "1m" } },
    runs({ milliCpuLimit: 11, milliCpuRequest: 3 }),
    undefined,
    { limits: { cpu: "11m" }, requests: { cpu: "3m" } },
  ],
  [
    "a request that is not in the spec is reported if it is above the minimum",
    { requests: { memory: "32Mi" } },
    runs({ milliCpuRequest: 100 }),
    undefined,
    { requests: { memory: "32Mi", cpu: "100m" } },
  ],
  [
    "amounts that the runtime does not report are those last reported",
    requested,
    runs({ milliCpuRequest: 500 }),
    reported({ limits: { cpu: "2", memory: "1Gi" }, requests: { memory: "16Mi" } }),
    {
      limits: { cpu: "2", memory: "1Gi", "example.com/x": "1" },
      requests: { ...requested.requests, memory: "16Mi" },
    },
  ],
  [
    "those last reported for another container are ignored",
    requested,
    runs(),
    reported({ limits: { cpu: "2" } }, "containerd://old"),
    requested,
  ],
];
for (const [rule, spec, container, previous, expected] of table)
  test(`resources of a container: ${rule}`, () => {
    const [status] = statusOf(withResources(spec), anObservedPod([container]), { previous })
      .containerStatuses!;
    assert.deepEqual(status?.resources, expected);
    assert.deepEqual(status?.allocatedResources, spec.requests);
  });

test("resources of a container: the memory request is that at its start", () => {
  const actuated = () => ({ requests: { memory: "24Mi" } });
  const [status] = statusOf(withResources(requested), anObservedPod([runs()]), { actuated })
    .containerStatuses!;
  assert.deepEqual(status?.resources?.requests, { ...requested.requests, memory: "24Mi" });
  assert.deepEqual(status?.allocatedResources, requested.requests);
});

test("a status does not share its resources with the spec", () => {
  const pod = withResources(structuredClone(requested));
  statusOf(pod, anObservedPod([runs({ milliCpuLimit: 800 })]));
  assert.deepEqual(pod.spec.containers[0]?.resources, requested);
});

const two = (a: ResourceRequirements, b: ResourceRequirements, more: Partial<Pod["spec"]> = {}): Pod =>
  aPod({ containers: [aContainer("a", { resources: a }), aContainer("b", { resources: b })], ...more });
const apiRuns = (pod: Pod): Pod => ({
  ...pod,
  metadata: { ...pod.metadata, annotations: {} },
  status: { phase: "Running" },
});
const cgroup: CgroupLimits = {
  cpuShares: 1024n,
  cpuQuotaUs: 200_000n,
  cpuPeriodUs: 100_000n,
  memoryLimit: 128n << 20n,
};
const simple = two({ limits: { memory: "64Mi" }, requests: { cpu: "0.5", memory: "32Mi" } }, {});
const podTable: [
  rule: string,
  pod: Pod,
  more: Partial<StatusInput>,
  resources: ResourceRequirements,
  allocated: object | undefined,
][] = [
  ["nothing is reported if nothing was requested", aPod(), {}, {}, undefined],
  [
    "a pod has the sum of its containers",
    two(
      { requests: { cpu: "500m", memory: "1Gi" } },
      { requests: { cpu: "700m" }, limits: { memory: "1000M" } },
    ),
    {},
    { limits: { memory: "1G" }, requests: { cpu: "1200m", memory: "1Gi" } },
    { cpu: "1200m", memory: "1Gi" },
  ],
  [
    "pod-level resources override those of containers",
    two({ requests: { cpu: "1" } }, {}, { resources: { requests: { cpu: "2" }, limits: { cpu: "3" } } }),
    {},
    { limits: { cpu: "3" }, requests: { cpu: "2" } },
    { cpu: "2" },
  ],
  [
    "a pod that is not Running has those of the spec",
    simple,
    { podCgroup: () => cgroup },
    { limits: { memory: "64Mi" }, requests: { cpu: "500m", memory: "32Mi" } },
    { cpu: "500m", memory: "32Mi" },
  ],
  [
    "a running pod has those of its cgroup",
    apiRuns(simple),
    { podCgroup: () => cgroup },
    { limits: { cpu: "2", memory: "128Mi" }, requests: { cpu: "1", memory: "32Mi" } },
    { cpu: "500m", memory: "32Mi" },
  ],
  [
    "amounts that the cgroup does not have are those last reported",
    apiRuns(simple),
    {
      podCgroup: () => ({ cpuShares: 2n }),
      previous: {
        phase: "Running",
        resources: { limits: { cpu: "7" }, requests: { cpu: "8", memory: "9Mi" } },
      },
    },
    { limits: { cpu: "7" }, requests: { memory: "32Mi" } },
    { cpu: "500m", memory: "32Mi" },
  ],
  [
    "a limit that the cgroup of a pod does not have when it starts to run is that of the spec",
    apiRuns(two({ limits: { cpu: "300m", memory: "1Gi" } }, {})),
    {
      podCgroup: () => ({ cpuShares: 2n, cpuQuotaUs: -1n, cpuPeriodUs: 100_000n }),
      previous: { phase: "Pending" },
    },
    { limits: { cpu: "300m", memory: "1Gi" } },
    undefined,
  ],
  [
    "the memory request is the previous one while containers are resized",
    apiRuns(simple),
    {
      podCgroup: () => ({ cpuShares: 2n }),
      previous: { phase: "Running", resources: { requests: { memory: "9Mi" } } },
      resizes: [
        {
          type: "PodResizeInProgress",
          reason: "",
          message: "",
          generation: 2,
          since: wallTime(0),
          at: wallTime(0),
        },
      ],
    },
    { requests: { memory: "9Mi" } },
    { cpu: "500m", memory: "32Mi" },
  ],
  [
    "a pod whose cgroup cannot be read has those of the spec",
    apiRuns(simple),
    {},
    { limits: { memory: "64Mi" }, requests: { cpu: "500m", memory: "32Mi" } },
    { cpu: "500m", memory: "32Mi" },
  ],
];
for (const [rule, pod, more, resources, allocated] of podTable)
  test(`resources of a pod: ${rule}`, () => {
    const status = statusOf(pod, undefined, { previous: pod.status, ...more });
    assert.deepEqual([status.resources, status.allocatedResources], [resources, allocated]);
  });

const bothRun = anObservedPod([anObservedContainer("a"), anObservedContainer("b")]);

test("resources of a pod: those of its cgroup are reported together with the first running container", () => {
  const pod = { ...simple, metadata: { ...simple.metadata, annotations: {} }, status: { phase: "Pending" } };
  const status = statusOf(pod, bothRun, { podCgroup: () => cgroup });
  assert.deepEqual([status.phase, status.resources?.limits?.memory], ["Running", "128Mi"]);
});

test("resources of a pod: one that has ended keeps the last ones", () => {
  const pod = { ...simple, metadata: { ...simple.metadata, annotations: {} } };
  const resources = { limits: { memory: "1Gi" } };
  const ended = (name: string) => anObservedContainer(name, { state: "exited", exitCode: 0 });
  const never = { ...pod, spec: { ...pod.spec, restartPolicy: "Never" as const } };
  for (const phase of ["Running", "Succeeded"]) {
    const previous = { phase, resources };
    const status = statusOf(never, anObservedPod([ended("a"), ended("b")]), { previous });
    assert.deepEqual([status.phase, status.resources], ["Succeeded", resources], phase);
  }
});

test("resources of a pod: one that had ended when the agent started has those of the spec", () => {
  const pod = { ...simple, metadata: { ...simple.metadata, annotations: {} } };
  const previous = { phase: "Succeeded", resources: { limits: { memory: "1Gi" } } };
  const expected = { limits: { memory: "64Mi" }, requests: { cpu: "500m", memory: "32Mi" } };
  for (const [endedBefore, resources] of [[true, expected], [false, previous.resources]] as const) // biome-ignore format: one table
    assert.deepEqual(statusOf(pod, undefined, { previous, endedBefore }).resources, resources);
});

test("resources of a pod: a static pod has those of the spec", () => {
  const pod = {
    ...simple,
    metadata: { ...simple.metadata, annotations: { [annotationSource]: "file" } },
  };
  const status = statusOf(pod, bothRun, { podCgroup: () => cgroup });
  assert.deepEqual([status.phase, status.resources?.limits?.memory], ["Running", "64Mi"]);
});

// parity: gate InPlacePodLevelResourcesVerticalScaling=false
test("resources of a pod are not reported without the gate InPlacePodLevelResourcesVerticalScaling", () => {
  const status = statusOf(simple, undefined, { gates: { ...defaultStatusGates, podLevelStatus: false } });
  assert.equal("resources" in status || "allocatedResources" in status, false);
});
