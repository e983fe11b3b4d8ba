import assert from "node:assert/strict";
import { test } from "node:test";
import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { aSandbox, seen, seenContainer, testUid } from "../../../../test/builders/pods.ts";
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

const run = (attempt = 0) => seenContainer("a", { attempt });
const done = (attempt = 0) => seenContainer("a", { attempt, state: "exited" });
const made = () => seenContainer("a", { state: "created" });
const dead = aSandbox({ state: "notready" });

const events: [
  rule: string,
  before: ObservedPod | undefined,
  after: ObservedPod | undefined,
  expected: string[],
][] = [
  ["nothing and nothing", undefined, undefined, []],
  ["nothing changed", seen([run()]), seen([run()]), []],
  ["a sandbox appears", undefined, seen([]), ["SandboxChanged"]],
  ["a container is made", seen([]), seen([made()]), ["ContainerChanged a-0"]],
  ["a container starts", seen([made()]), seen([run()]), ["ContainerStarted a-0"]],
  ["a container ends", seen([run()]), seen([done()]), ["ContainerDied a-0"]],
  ["a container ended before it was ever seen", seen([]), seen([done()]), ["ContainerDied a-0"]],
  [
    "why it ended becomes known later",
    seen([seenContainer("a", { state: "exited", reason: "Error" })]),
    seen([seenContainer("a", { state: "exited", reason: "OOMKilled" })]),
    ["ContainerChanged a-0"],
  ],
  ["one replaces the other", seen([done()]), seen([run(1), done()]), ["ContainerStarted a-1"]],
  ["a dead one is removed", seen([run(1), done()]), seen([run(1)]), ["ContainerRemoved a-0"]],
  ["one that ran is gone", seen([run()]), seen([]), ["ContainerDied a-0", "ContainerRemoved a-0"]],
  ["the sandbox ends", seen([]), seen([], [dead]), ["SandboxChanged"]],
  ["all is gone", seen([done()], [dead]), undefined, ["ContainerRemoved a-0", "SandboxChanged"]],
];
for (const [rule, before, after, expected] of events)
  test(`events: ${rule}`, () =>
    assert.deepEqual(
      podEvents(testUid, before, after).map((e) => `${e.kind}${e.container ? ` ${e.container}` : ""}`),
      expected,
    ));

test("sandboxes and containers are put together by pod; a sandbox that no kubelet made is one by itself", () => {
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

test("of containers of the same attempt the later one is the newer", () => {
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

test("a container is told with times in milliseconds, and the image as the runtime names it", () => {
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
  lastWords: string,
  expected: Partial<ObservedContainer>,
][] = [
  ["nothing told", {}, "", { message: "", user: undefined, resources: undefined, stopSignal: undefined }],
  ["a message of the runtime", { message: "no such file" }, "", { message: "no such file" }],
  ["last words of the container", {}, "bye", { message: "bye" }],
  ["both", { message: "no such file" }, "bye", { message: "no such file: bye" }],
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
  ["resources that say nothing", { resources: { linux: {} } }, "", { resources: undefined }],
  ["a stop signal", { stopSignal: Signal.SIGUSR1 }, "", { stopSignal: "SIGUSR1" }],
  [
    "a stop signal of the real-time kind",
    { stopSignal: Signal.SIGRTMINPLUS3 },
    "",
    { stopSignal: "SIGRTMIN+3" },
  ],
  ["another", { stopSignal: Signal.SIGRTMAXMINUS2 }, "", { stopSignal: "SIGRTMAX-2" }],
];
for (const [rule, status, lastWords, expected] of detailTable)
  test(`details of a container: ${rule}`, () => {
    const found = observedContainer("s" as SandboxId, create(ContainerStatusSchema, status), lastWords);
    for (const [key, value] of Object.entries(expected))
      assert.deepEqual(found[key as keyof ObservedContainer], value);
  });

test("a container whose start was cut short with the agent that asked for it was never started", () => {
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
  assert.equal(status({ startedAt: 1n }), "exited", "it began");
  assert.equal(status({ message: "no such file or directory" }), "exited", "it could not begin");
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
