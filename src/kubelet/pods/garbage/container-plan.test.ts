import assert from "node:assert/strict";
import { test } from "node:test";
import { anObservedContainer, aSandbox } from "../../../../test/builders/pods.ts";
import { wallTime } from "../../../lib/base/time.ts";
import type { SandboxId } from "../../../lib/clients/cri/cri.ts";
import type { PodUid } from "../../../lib/model/pod.ts";
import type { ObservedContainer, ObservedPod } from "../../state/observed-pods.ts";
import { type ContainerGcPolicy, type PodGcState, planContainerGc } from "./container-plan.ts";

/** A container "a-2" of pod "p": name, attempt and state; it was created at 1000 times its attempt. */
type ContainerText = `${string}-${number}` | `${string}-${number} ${ObservedContainer["state"]}`;

function container(text: ContainerText): ObservedContainer {
  const [, name = "", attempt, state = "exited"] = /^(.*)-(\d+)(?: (\w+))?$/.exec(text)!;
  return anObservedContainer(name, {
    attempt: Number(attempt),
    createdAt: wallTime(Number(attempt) * 1000),
    state: state as ObservedContainer["state"],
  });
}

function observedPod(uid: string, containers: ContainerText[], sandboxes = [aSandbox()]): ObservedPod {
  return {
    uid: uid as PodUid,
    name: uid,
    namespace: "default",
    sandboxes,
    containers: containers.map(container),
  };
}

const defaultPolicy: ContainerGcPolicy = { minAgeMs: 0, maxPerContainer: 1, maxContainers: -1 };
const table: [
  rule: string,
  policy: Partial<ContainerGcPolicy>,
  pods: [gcState: PodGcState, containers: ContainerText[]][],
  removed: string[],
  removeTerminated?: boolean,
][] = [
  [
    "the newest dead container of each name is kept",
    {},
    [["active", ["a-3", "a-2", "a-1", "b-1"]]],
    ["a-1", "a-2"],
  ],
  ["the order of the listing does not matter", {}, [["active", ["a-1", "a-3", "a-2"]]], ["a-1", "a-2"]],
  ["running containers do not count", {}, [["active", ["a-3 running", "a-2", "a-1"]]], ["a-1"]],
  [
    "maxPerContainer 2 keeps two of each name",
    { maxPerContainer: 2 },
    [["active", ["a-3", "a-2", "a-1"]]],
    ["a-1"],
  ],
  ["maxPerContainer 0 keeps none", { maxPerContainer: 0 }, [["active", ["a-2", "b-1"]]], ["b-1", "a-2"]],
  ["a negative maxPerContainer keeps all", { maxPerContainer: -1 }, [["active", ["a-3", "a-2", "a-1"]]], []],
  [
    "a container younger than the minimum age is kept, and is not counted",
    { minAgeMs: 7500 },
    [["active", ["a-3", "a-2", "a-1"]]],
    ["a-1"],
  ],
  [
    "containers that a worker is about to start or stop are kept",
    { maxPerContainer: 0 },
    [["active", ["a-2 created", "b-1 unknown"]]],
    [],
  ],
  [
    "created containers of a terminated pod are removed, because no worker starts them",
    { maxPerContainer: 0 },
    [["terminated", ["a-2 created", "b-1 unknown"]]],
    ["b-1", "a-2"],
  ],
  ["a terminated pod keeps its last containers", {}, [["terminated", ["a-2", "a-1", "b-1"]]], ["a-1"]],
  [
    "a terminated pod keeps no containers with removeTerminated",
    {},
    [
      ["terminated", ["a-2", "b-1"]],
      ["active", ["c-1"]],
    ],
    ["b-1", "a-2"],
    true,
  ],
  [
    "all containers of an orphaned pod are removed",
    { maxPerContainer: -1 },
    [["orphaned", ["a-2", "a-1", "b-3 created"]]],
    ["a-1", "a-2", "b-3"],
  ],
  [
    "all containers of an evicted pod are removed",
    { maxPerContainer: -1 },
    [["evicted", ["a-2", "a-1"]]],
    ["a-1", "a-2"],
  ],
  ["running containers of an orphaned pod are kept", {}, [["orphaned", ["a-2 running", "a-1"]]], ["a-1"]],
  [
    "containers of an orphaned pod that are younger than the minimum age are kept",
    { minAgeMs: 9000 },
    [["orphaned", ["a-2", "a-1"]]],
    ["a-1"],
  ],
  [
    "containers of foreign pods are not removed",
    { maxPerContainer: 0, maxContainers: 0 },
    [["foreign", ["a-2", "a-1"]]],
    [],
  ],
  [
    "maxContainers is first divided equally among the container names",
    { maxPerContainer: -1, maxContainers: 4 },
    [["active", ["a-9", "a-8", "a-7", "b-2", "b-1"]]],
    ["a-7"],
  ],
  [
    "after that, the oldest beyond maxContainers are removed",
    { maxContainers: 2 },
    [
      ["active", ["a-3", "b-1"]],
      ["terminated", ["c-2", "d-4"]],
    ],
    ["b-1", "c-2"],
  ],
  ["all within maxContainers are kept", { maxContainers: 2 }, [["active", ["a-3", "b-1"]]], []],
  ["maxContainers 0 keeps none", { maxContainers: 0 }, [["active", ["a-3", "b-1"]]], ["b-1", "a-3"]],
];
// parity: flag maximum-dead-containers as maxContainers, flag maximum-dead-containers-per-container as maxPerContainer, flag minimum-container-ttl-duration as minAgeMs
for (const [rule, policy, pods, removed, removeTerminated] of table)
  test(`dead containers: ${rule}`, () => {
    const plan = planContainerGc(
      {
        pods: pods.map(([, containers], i) => observedPod(`p${i}`, containers)),
        gcState: (uid) => pods[Number(uid.slice(1))]![0],
        now: wallTime(10_000),
        removeTerminated,
      },
      { ...defaultPolicy, ...policy },
    );
    assert.deepEqual(
      plan.containers.map(({ container }) => container.id),
      removed,
    );
  });

const sandbox = (id: string, createdAt: number, state: "ready" | "notready" = "notready") =>
  aSandbox({ id: id as SandboxId, createdAt: wallTime(createdAt), state });
/** The containers of observedPod are in sandbox s0. */
const sandboxTable: [
  rule: string,
  gcState: PodGcState,
  sandboxes: ReturnType<typeof sandbox>[],
  containers: ContainerText[],
  removed: string[],
  removeTerminated?: boolean,
][] = [
  ["the newest sandbox of a pod is kept", "active", [sandbox("s2", 2), sandbox("s1", 1)], [], ["s1"]],
  [
    "the newest sandbox of a terminated pod is kept",
    "terminated",
    [sandbox("s1", 1), sandbox("s2", 2)],
    [],
    ["s1"],
  ],
  [
    "all sandboxes of a terminated pod are removed with removeTerminated",
    "terminated",
    [sandbox("s2", 2), sandbox("s1", 1)],
    [],
    ["s1", "s2"],
    true,
  ],
  ["a ready sandbox is kept", "active", [sandbox("s2", 2), sandbox("s1", 1, "ready")], [], []],
  ["a sandbox with a container is kept", "active", [sandbox("s2", 2), sandbox("s0", 1)], ["a-1"], []],
  [
    "all sandboxes of an orphaned pod are removed",
    "orphaned",
    [sandbox("s2", 2), sandbox("s0", 1)],
    ["a-2", "a-1"],
    ["s0", "s2"],
  ],
  [
    "a sandbox with a running container of an orphaned pod is kept",
    "orphaned",
    [sandbox("s2", 2), sandbox("s0", 1)],
    ["a-2 running"],
    ["s2"],
  ],
  ["sandboxes of foreign pods are not removed", "foreign", [sandbox("s2", 2), sandbox("s1", 1)], [], []],
];
for (const [rule, gcState, sandboxes, containers, removed, removeTerminated] of sandboxTable)
  test(`dead sandboxes: ${rule}`, () => {
    const pods = [observedPod("p", containers, sandboxes)];
    const plan = planContainerGc(
      { pods, gcState: () => gcState, now: wallTime(10_000), removeTerminated },
      defaultPolicy,
    );
    assert.deepEqual(
      plan.sandboxes.map(({ sandbox }) => sandbox.id),
      removed,
    );
  });

test("dead sandboxes: a sandbox whose containers are all removed is removed too", () => {
  const sandboxes = [sandbox("s1", 2, "ready"), sandbox("s0", 1)];
  const inNew = { ...container("a-2"), sandboxId: "s1" as SandboxId };
  const pod = { ...observedPod("p", [], sandboxes), containers: [inNew, container("a-1")] };
  const plan = planContainerGc(
    { pods: [pod], gcState: () => "active", now: wallTime(10_000) },
    defaultPolicy,
  );
  assert.deepEqual(
    plan.sandboxes.map(({ sandbox }) => sandbox.id),
    ["s0"],
  );
});
