import assert from "node:assert/strict";
import { before, describe, test } from "node:test";
import { decodeCheckpoint } from "../../src/kubelet/resources/allocation/checkpoint.ts";
import type { Round } from "./isolated-swap.ts";
import type { Kind } from "./kubelet-kinds.ts";
import { type NodeSnapshot, readySince } from "./node-snapshot.ts";
import { recorded } from "./recorded.ts";
import { reference, swap, unavailable } from "./run-swap.ts";

/** Entries of a state file by the pod's name, as UIDs are new in each run. */
function resourcesByPod(
  text: string | undefined,
  { pods, containers }: NodeSnapshot,
): Record<string, unknown> {
  const names = new Map(containers.map(({ podUid, pod }) => [podUid, pod]));
  assert.ok(text, `no state of ${pods.length} pods`);
  return Object.fromEntries([...decodeCheckpoint(text)].map(([uid, info]) => [names.get(uid) ?? uid, info]));
}

const byText = (a: string, b: string) => (a < b ? -1 : 1);
/** Containers that there was no reason to stop. */
const kept = (look: NodeSnapshot) => look.containers.filter(({ pod }) => pod !== "limits");

describe("a node of ours, compared with one of the reference", { skip: unavailable }, () => {
  let look: NodeSnapshot;
  let restarted = "";
  before(async () => {
    const { rounds } = await swap("ours");
    ({ look, restarted } = rounds[0]!);
  });
  const theirs = recorded.look;

  test("has its volumes at the same paths, with the same modes, ready files and mounts", () => {
    assert.deepEqual(look.volumes, theirs.volumes);
  });

  test("has the same names and hashes on its containers", () => {
    const shown = ({ containers }: NodeSnapshot) =>
      containers.map(({ pod, name, attempt, hash }) => ({ pod, name, attempt, hash }));
    assert.deepEqual(shown(look), shown(theirs));
    const keys = ({ allContainers, sandboxes }: NodeSnapshot) =>
      [...allContainers, ...sandboxes]
        .map(({ metadata, labels, annotations }) =>
          [metadata.name, ...Object.keys({ ...labels, ...annotations }).sort(byText)].join(" "),
        )
        .sort(byText);
    assert.deepEqual(keys(look), keys(theirs));
  });

  test("has recorded the same resources for each pod", () => {
    for (const file of ["allocated", "actuated"] as const)
      assert.deepEqual(resourcesByPod(look[file], look), resourcesByPod(theirs[file], theirs), file);
  });

  test("restarts a container with the limits that its pod was admitted with", () => {
    assert.deepEqual(JSON.parse(restarted).limits, { cpu: "200m", memory: "64Mi" });
  });
});

const orders: Kind[][] = [
  ["reference", "ours", "reference"],
  ["ours", "reference", "ours"],
];
for (const order of orders)
  describe(`swapped: ${order.join(", then ")}`, {
    skip: unavailable || (reference ? false : "KUBELET_REFERENCE names no kubelet"),
  }, () => {
    let rounds: Round[] = [];
    before(async () => {
      ({ rounds } = await swap(...order));
    });

    test("no container is restarted, including those of static pods, and all pods stay ready", () => {
      for (const { kind, look } of rounds.slice(1))
        assert.deepEqual(kept(look), kept(rounds[0]!.look), `taken over by ${kind}`);
    });

    test("taken over by ours, pods keep their Ready transition times", () => {
      for (const [i, { kind, look }] of rounds.entries())
        if (i > 0 && kind === "ours") assert.deepEqual(readySince(look.pods), rounds[i - 1]!.left);
    });

    test("volumes stay where they are, and are updated in containers that run", () => {
      for (const { kind, look } of rounds.slice(1))
        assert.deepEqual(look.volumes, rounds[0]!.look.volumes, `taken over by ${kind}`);
    });

    test("a container with limits is restarted by each of them", () => {
      for (const { kind, restarted } of rounds)
        assert.match(restarted, /"limits":\{"cpu":"200m","memory":"64Mi"\}/, kind);
    });

    test("allocations of pods are known to the next one", () => {
      for (const { look } of rounds)
        for (const file of ["allocated", "actuated"] as const)
          assert.deepEqual(
            resourcesByPod(look[file], look),
            resourcesByPod(rounds[0]!.look[file], rounds[0]!.look),
          );
    });
  });
