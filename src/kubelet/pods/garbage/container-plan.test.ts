import assert from "node:assert/strict";
import { test } from "node:test";
import { aSandbox, seenContainer } from "../../../../test/builders/pods.ts";
import { wallTime } from "../../../lib/base/time.ts";
import type { SandboxId } from "../../../lib/clients/cri/cri.ts";
import type { PodUid } from "../../../lib/model/pod.ts";
import type { ObservedContainer, ObservedPod } from "../../state/observed-pods.ts";
import { type ContainerGcPolicy, type PodStanding, planContainerGc } from "./container-plan.ts";

/** A container "a-2" of pod "p": name, attempt and state; it was created at 1000 times its attempt. */
type Dead = `${string}-${number}` | `${string}-${number} ${ObservedContainer["state"]}`;

function container(text: Dead): ObservedContainer {
  const [, name = "", attempt, state = "exited"] = /^(.*)-(\d+)(?: (\w+))?$/.exec(text)!;
  return seenContainer(name, {
    attempt: Number(attempt),
    createdAt: wallTime(Number(attempt) * 1000),
    state: state as ObservedContainer["state"],
  });
}

function aSeenPod(uid: string, containers: Dead[], sandboxes = [aSandbox()]): ObservedPod {
  return {
    uid: uid as PodUid,
    name: uid,
    namespace: "default",
    sandboxes,
    containers: containers.map(container),
  };
}

const usual: ContainerGcPolicy = { minAgeMs: 0, maxPerContainer: 1, maxContainers: -1 };
const table: [
  rule: string,
  policy: Partial<ContainerGcPolicy>,
  pods: [standing: PodStanding, containers: Dead[]][],
  removed: string[],
  clearEnded?: boolean,
][] = [
  ["one dead container of a name is kept", {}, [["live", ["a-3", "a-2", "a-1", "b-1"]]], ["a-1", "a-2"]],
  ["the order in which they are told does not matter", {}, [["live", ["a-1", "a-3", "a-2"]]], ["a-1", "a-2"]],
  ["what runs does not count", {}, [["live", ["a-3 running", "a-2", "a-1"]]], ["a-1"]],
  ["more are kept if the policy says so", { maxPerContainer: 2 }, [["live", ["a-3", "a-2", "a-1"]]], ["a-1"]],
  ["none, too", { maxPerContainer: 0 }, [["live", ["a-2", "b-1"]]], ["b-1", "a-2"]],
  ["all, too", { maxPerContainer: -1 }, [["live", ["a-3", "a-2", "a-1"]]], []],
  ["a young one stays, and is not counted", { minAgeMs: 7500 }, [["live", ["a-3", "a-2", "a-1"]]], ["a-1"]],
  [
    "what a worker is about to start or stop stays",
    { maxPerContainer: 0 },
    [["live", ["a-2 created", "b-1 unknown"]]],
    [],
  ],
  [
    "in a pod that has ended nobody starts anything",
    { maxPerContainer: 0 },
    [["ended", ["a-2 created", "b-1 unknown"]]],
    ["b-1", "a-2"],
  ],
  ["a pod that has ended keeps its last ones", {}, [["ended", ["a-2", "a-1", "b-1"]]], ["a-1"]],
  [
    "but not when room is needed",
    {},
    [
      ["ended", ["a-2", "b-1"]],
      ["live", ["c-1"]],
    ],
    ["b-1", "a-2"],
    true,
  ],
  [
    "of a pod that is gone all go",
    { maxPerContainer: -1 },
    [["gone", ["a-2", "a-1", "b-3 created"]]],
    ["a-1", "a-2", "b-3"],
  ],
  ["but not what runs", {}, [["gone", ["a-2 running", "a-1"]]], ["a-1"]],
  ["nor what is young", { minAgeMs: 9000 }, [["gone", ["a-2", "a-1"]]], ["a-1"]],
  [
    "what is not ours is left alone",
    { maxPerContainer: 0, maxContainers: 0 },
    [["foreign", ["a-2", "a-1"]]],
    [],
  ],
  [
    "altogether: an equal share for each first",
    { maxPerContainer: -1, maxContainers: 4 },
    [["live", ["a-9", "a-8", "a-7", "b-2", "b-1"]]],
    ["a-7"],
  ],
  [
    "altogether: then the oldest go",
    { maxContainers: 2 },
    [
      ["live", ["a-3", "b-1"]],
      ["ended", ["c-2", "d-4"]],
    ],
    ["b-1", "c-2"],
  ],
  ["altogether: what is within the limit stays", { maxContainers: 2 }, [["live", ["a-3", "b-1"]]], []],
  ["altogether: none", { maxContainers: 0 }, [["live", ["a-3", "b-1"]]], ["b-1", "a-3"]],
];
for (const [rule, policy, pods, removed, clearEnded] of table)
  test(`dead containers: ${rule}`, () => {
    const plan = planContainerGc(
      {
        pods: pods.map(([, containers], i) => aSeenPod(`p${i}`, containers)),
        standing: (uid) => pods[Number(uid.slice(1))]![0],
        now: wallTime(10_000),
        clearEnded,
      },
      { ...usual, ...policy },
    );
    assert.deepEqual(
      plan.containers.map(({ container }) => container.id),
      removed,
    );
  });

const sandbox = (id: string, createdAt: number, state: "ready" | "notready" = "notready") =>
  aSandbox({ id: id as SandboxId, createdAt: wallTime(createdAt), state });
/** The containers of aSeenPod are in sandbox s0. */
const sandboxTable: [
  rule: string,
  standing: PodStanding,
  sandboxes: ReturnType<typeof sandbox>[],
  containers: Dead[],
  removed: string[],
  clearEnded?: boolean,
][] = [
  ["the newest of a pod stays", "live", [sandbox("s2", 2), sandbox("s1", 1)], [], ["s1"]],
  ["also of one that has ended", "ended", [sandbox("s1", 1), sandbox("s2", 2)], [], ["s1"]],
  ["unless room is needed", "ended", [sandbox("s2", 2), sandbox("s1", 1)], [], ["s1", "s2"], true],
  ["what is ready stays", "live", [sandbox("s2", 2), sandbox("s1", 1, "ready")], [], []],
  ["what holds a container stays", "live", [sandbox("s2", 2), sandbox("s0", 1)], ["a-1"], []],
  [
    "of a pod that is gone all go",
    "gone",
    [sandbox("s2", 2), sandbox("s0", 1)],
    ["a-2", "a-1"],
    ["s0", "s2"],
  ],
  ["but not if it runs something", "gone", [sandbox("s2", 2), sandbox("s0", 1)], ["a-2 running"], ["s2"]],
  ["what is not ours is left alone", "foreign", [sandbox("s2", 2), sandbox("s1", 1)], [], []],
];
for (const [rule, standing, sandboxes, containers, removed, clearEnded] of sandboxTable)
  test(`dead sandboxes: ${rule}`, () => {
    const pods = [aSeenPod("p", containers, sandboxes)];
    const plan = planContainerGc(
      { pods, standing: () => standing, now: wallTime(10_000), clearEnded },
      usual,
    );
    assert.deepEqual(
      plan.sandboxes.map(({ sandbox }) => sandbox.id),
      removed,
    );
  });

test("dead sandboxes: one that holds only what is removed now goes too", () => {
  const sandboxes = [sandbox("s1", 2, "ready"), sandbox("s0", 1)];
  const inNew = { ...container("a-2"), sandboxId: "s1" as SandboxId };
  const pod = { ...aSeenPod("p", [], sandboxes), containers: [inNew, container("a-1")] };
  const plan = planContainerGc({ pods: [pod], standing: () => "live", now: wallTime(10_000) }, usual);
  assert.deepEqual(
    plan.sandboxes.map(({ sandbox }) => sandbox.id),
    ["s0"],
  );
});
