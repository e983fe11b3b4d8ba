import assert from "node:assert/strict";
import { test } from "node:test";
import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { anObservedContainer, anObservedPod, aSandbox, testUid } from "../../../../test/builders/pods.ts";
import type { SandboxId } from "../../../lib/clients/cri/cri.ts";
import {
  ContainerSchema,
  ContainerState,
  ContainerStatusSchema,
  NamespaceMode,
  PodSandboxSchema,
  PodSandboxStatusSchema,
  Signal,
} from "../../../lib/gen/runtime/v1/api_pb.js";
import { labelPodName, labelPodNamespace, labelPodUid } from "../../../lib/model/labels.ts";
import type { ObservedContainer, ObservedPod } from "../../state/observed-pods.ts";
import { groupByPod, observedContainer, observedSandbox, podEvents } from "./observe.ts";

const running = (attempt = 0) => anObservedContainer("a", { attempt });
const exited = (attempt = 0) => anObservedContainer("a", { attempt, state: "exited" });
const created = () => anObservedContainer("a", { state: "created" });
const dead = aSandbox({ state: "notready" });

const events: [
  rule: string,
  before: ObservedPod | undefined,
  after: ObservedPod | undefined,
  expected: string[],
][] = [
  ["there is no pod in either observation", undefined, undefined, []],
  ["nothing changed", anObservedPod([running()]), anObservedPod([running()]), []],
  ["a sandbox appears", undefined, anObservedPod([]), ["SandboxChanged"]],
  ["a container is created", anObservedPod([]), anObservedPod([created()]), ["ContainerChanged a-0"]],
  ["a container starts", anObservedPod([created()]), anObservedPod([running()]), ["ContainerStarted a-0"]],
  ["a container exits", anObservedPod([running()]), anObservedPod([exited()]), ["ContainerDied a-0"]],
  [
    "a container exited before it was first observed",
    anObservedPod([]),
    anObservedPod([exited()]),
    ["ContainerDied a-0"],
  ],
  [
    "the reason for the exit changes later",
    anObservedPod([anObservedContainer("a", { state: "exited", reason: "Error" })]),
    anObservedPod([anObservedContainer("a", { state: "exited", reason: "OOMKilled" })]),
    ["ContainerChanged a-0"],
  ],
  [
    "a container is restarted",
    anObservedPod([exited()]),
    anObservedPod([running(1), exited()]),
    ["ContainerStarted a-1"],
  ],
  [
    "a dead container is removed",
    anObservedPod([running(1), exited()]),
    anObservedPod([running(1)]),
    ["ContainerRemoved a-0"],
  ],
  [
    "a running container disappears",
    anObservedPod([running()]),
    anObservedPod([]),
    ["ContainerDied a-0", "ContainerRemoved a-0"],
  ],
  ["the sandbox becomes not ready", anObservedPod([]), anObservedPod([], [dead]), ["SandboxChanged"]],
  [
    "the pod disappears",
    anObservedPod([exited()], [dead]),
    undefined,
    ["ContainerRemoved a-0", "SandboxChanged"],
  ],
];
for (const [rule, before, after, expected] of events)
  test(`${expected.join(", ") || "no event"} is reported if ${rule}`, () =>
    assert.deepEqual(
      podEvents(testUid, before, after).map((e) => `${e.kind}${e.container ? ` ${e.container}` : ""}`),
      expected,
    ));

test("sandboxes and containers are grouped by pod; a sandbox that no kubelet created is its own pod", () => {
  const labels = { [labelPodUid]: "u1", [labelPodName]: "web", [labelPodNamespace]: "default" };
  const pods = groupByPod(
    [
      create(PodSandboxSchema, { id: "s1", labels }),
      create(PodSandboxSchema, { id: "s2", metadata: { uid: "u2", name: "bare", namespace: "n" } }),
      create(PodSandboxSchema, { id: "s3" }),
      create(PodSandboxSchema, { id: "s4", metadata: { uid: "u1", name: "web", namespace: "default" } }),
    ],
    [create(ContainerSchema, { id: "c1", labels }), create(ContainerSchema, { id: "c2" })],
  );
  assert.deepEqual(
    [...pods.values()].map((p) => [
      `${p.namespace}/${p.name} ${p.uid}`,
      p.sandboxes.map((s) => s.id),
      p.containers.map((c) => c.id),
    ]),
    [
      ["default/web u1", ["s1"], ["c1"]],
      ["n/bare s2", ["s2"], []],
      ["default/web s4", ["s4"], []],
    ],
  );
});

test("among containers of the same attempt the one created last is the newest", () => {
  const labels = { [labelPodUid]: "u1" };
  const pods = groupByPod(
    [],
    [1n, 3n, 2n].map((createdAt) => create(ContainerSchema, { id: `c${createdAt}`, labels, createdAt })),
  );
  assert.deepEqual(
    [...pods.values()][0]?.containers.map((c) => c.id),
    ["c3", "c2", "c1"],
  );
});

test("a container has times in milliseconds, and the image as the runtime names it", () => {
  const container = observedContainer(
    "s1" as SandboxId,
    create(ContainerStatusSchema, {
      id: "c1",
      metadata: { name: "a", attempt: 2 },
      state: ContainerState.CONTAINER_EXITED,
      createdAt: 1_500_000_000n,
      finishedAt: 2_999_999n,
      exitCode: 3,
      image: { image: "docker.io/library/busybox:1", userSpecifiedImage: "busybox:1" },
      imageId: "sha256:id",
      imageRef: "sha256:ref",
    }),
  );
  const { name, attempt, state, createdAt, startedAt, finishedAt, exitCode } = container;
  const { image, imageRef, imageId } = container;
  assert.deepEqual(
    { name, attempt, state, createdAt, startedAt, finishedAt, exitCode, image, imageRef, imageId },
    {
      name: "a",
      attempt: 2,
      state: "exited",
      createdAt: 1500,
      startedAt: 0,
      finishedAt: 2,
      exitCode: 3,
      image: "docker.io/library/busybox:1",
      imageRef: "sha256:ref",
      imageId: "sha256:id",
    },
  );
});

type Details = MessageInitShape<typeof ContainerStatusSchema>;
const detailTable: [
  rule: string,
  status: Details,
  terminationMessage: string,
  expected: Partial<ObservedContainer>,
][] = [
  [
    "nothing that is not reported",
    {},
    "",
    { message: "", user: undefined, resources: undefined, stopSignal: undefined },
  ],
  ["a message of the runtime", { message: "no such file" }, "", { message: "no such file" }],
  ["a termination message of the container", {}, "bye", { message: "bye" }],
  ["both messages", { message: "no such file" }, "bye", { message: "no such file: bye" }],
  [
    "a user",
    { user: { linux: { uid: 1n, gid: 2n, supplementalGroups: [2n, 3n] } } },
    "",
    { user: { uid: 1, gid: 2, supplementalGroups: [2, 3] } },
  ],
  [
    "resources",
    {
      resources: {
        linux: { cpuPeriod: 100_000n, cpuQuota: 20_000n, cpuShares: 51n, memoryLimitInBytes: 7n },
      },
    },
    "",
    { resources: { milliCpuLimit: 200, milliCpuRequest: 50, memoryLimit: 7 } },
  ],
  [
    "resources without limits",
    { resources: { linux: { cpuPeriod: 100_000n, cpuQuota: -1n, cpuShares: 2n } } },
    "",
    { resources: { milliCpuRequest: 2 } },
  ],
  ["no resources if they are empty", { resources: { linux: {} } }, "", { resources: undefined }],
  ["a stop signal", { stopSignal: Signal.SIGUSR1 }, "", { stopSignal: "SIGUSR1" }],
  ["a real-time stop signal", { stopSignal: Signal.SIGRTMINPLUS3 }, "", { stopSignal: "SIGRTMIN+3" }],
  ["another real-time stop signal", { stopSignal: Signal.SIGRTMAXMINUS2 }, "", { stopSignal: "SIGRTMAX-2" }],
];
for (const [rule, status, terminationMessage, expected] of detailTable)
  test(`the details of a container include ${rule}`, () => {
    const found = observedContainer(
      "s" as SandboxId,
      create(ContainerStatusSchema, status),
      terminationMessage,
    );
    for (const [key, value] of Object.entries(expected))
      assert.deepEqual(found[key as keyof ObservedContainer], value);
  });

test("a container whose start was canceled with its agent was never started", () => {
  const status = (more: MessageInitShape<typeof ContainerStatusSchema>) =>
    observedContainer(
      "s" as SandboxId,
      create(ContainerStatusSchema, {
        state: ContainerState.CONTAINER_EXITED,
        exitCode: 128,
        reason: "StartError",
        message: "failed to start containerd task: context canceled",
        ...more,
      }),
    ).state;
  assert.equal(status({}), "created");
  assert.equal(status({ startedAt: 1n }), "exited", "it started");
  assert.equal(status({ message: "no such file or directory" }), "exited", "it could not start");
  assert.equal(status({ reason: "Error" }), "exited");
});

test("a sandbox has all of its addresses, or the node's network", () => {
  const own = observedSandbox(
    create(PodSandboxStatusSchema, {
      id: "s1",
      network: { ip: "10.0.0.1", additionalIps: [{ ip: "fd00::1" }] },
    }),
  );
  assert.deepEqual([own.ips, own.hostNetwork], [["10.0.0.1", "fd00::1"], false]);
  const host = observedSandbox(
    create(PodSandboxStatusSchema, {
      id: "s1",
      linux: { namespaces: { options: { network: NamespaceMode.NODE } } },
    }),
  );
  assert.deepEqual([host.ips, host.hostNetwork], [[], true]);
});

test("the images that the runtime has mounted are observed by their path in the container", () => {
  const mounts = [
    { containerPath: "/model", image: { image: "sha256:1234" } },
    { containerPath: "/data", hostPath: "/host" },
    { containerPath: "/unknown", image: {} },
  ];
  const observed = observedContainer("s" as SandboxId, create(ContainerStatusSchema, { mounts }));
  assert.deepEqual(observed.imageVolumes, { "/model": "sha256:1234" });
  const none = observedContainer("s" as SandboxId, create(ContainerStatusSchema, {}));
  assert.equal(none.imageVolumes, undefined);
});
