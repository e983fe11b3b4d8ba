import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { before, describe, test } from "node:test";
import { decodeCheckpoint } from "../../src/kubelet/resources/allocation/checkpoint.ts";
import type { Round } from "./isolated-kubelets.ts";
import type { Kind } from "./kubelet-kinds.ts";
import { type NodeSnapshot, readySince } from "./node-snapshot.ts";
import { recorded } from "./recorded.ts";
import { reference, runKubelets, unavailable } from "./run-isolated.ts";
import { effects, readTable, toReference, toTypeScript, undocumented } from "./upgrade-table.ts";

const document = readFileSync(new URL("../../docs/OPERATING.md", import.meta.url), "utf8");

/** The entries of a state file by pod name, since UIDs differ in each run. */
function resourcesByPod(
  text: string | undefined,
  { pods, containers }: NodeSnapshot,
): Record<string, unknown> {
  const names = new Map(containers.map(({ podUid, pod }) => [podUid, pod]));
  assert.ok(text, `no state of ${pods.length} pods`);
  return Object.fromEntries([...decodeCheckpoint(text)].map(([uid, info]) => [names.get(uid) ?? uid, info]));
}

const byText = (a: string, b: string) => (a < b ? -1 : 1);
/** The containers that no test has stopped. */
const untouched = (snapshot: NodeSnapshot) => snapshot.containers.filter(({ pod }) => pod !== "limits");

describe("a node of kubelet-ts, compared with one of the reference kubelet", { skip: unavailable }, () => {
  let snapshot: NodeSnapshot;
  let files: Round["files"] = [];
  let restarted = "";
  before(async () => {
    const { rounds } = await runKubelets("ours");
    ({ snapshot, files, restarted } = rounds[0]!);
  });
  const expected = recorded.snapshot;

  test("has volumes at the same paths, with the same modes, ready files and mounts", () => {
    assert.deepEqual(snapshot.volumes, expected.volumes);
  });

  test("has containers with the same names and hashes", () => {
    const identities = ({ containers }: NodeSnapshot) =>
      containers.map(({ pod, name, attempt, hash }) => ({ pod, name, attempt, hash }));
    assert.deepEqual(identities(snapshot), identities(expected));
    const keys = ({ allContainers, sandboxes }: NodeSnapshot) =>
      [...allContainers, ...sandboxes]
        .map(({ metadata, labels, annotations }) =>
          [metadata.name, ...Object.keys({ ...labels, ...annotations }).sort(byText)].join(" "),
        )
        .sort(byText);
    assert.deepEqual(keys(snapshot), keys(expected));
  });

  test("has the same recorded resources for each pod", () => {
    for (const file of ["allocated", "actuated"] as const)
      assert.deepEqual(
        resourcesByPod(snapshot[file], snapshot),
        resourcesByPod(expected[file], expected),
        file,
      );
  });

  test("has the same state of CPU and memory manager, with checksums, and the same modes of state files", () => {
    const states = (of: typeof files) => of.filter(({ path }) => /^(?:cpu|memory)_manager_state$/.test(path));
    assert.deepEqual(states(files), states(recorded.files));
    const modes = (of: typeof files) =>
      Object.fromEntries(
        of.filter(({ path }) => /_pods_state$/.test(path)).map(({ path, mode }) => [path, mode]),
      );
    assert.partialDeepStrictEqual(modes(files), modes(recorded.files));
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
  describe(`taken over: ${order.join(", then ")}`, {
    skip: unavailable || (reference ? false : "KUBELET_REFERENCE is not set"),
  }, () => {
    let rounds: Round[] = [];
    before(async () => {
      ({ rounds } = await runKubelets(...order));
    });

    test("no container is restarted, including those of static pods, and all pods stay ready", () => {
      for (const { kind, snapshot } of rounds.slice(1))
        assert.deepEqual(untouched(snapshot), untouched(rounds[0]!.snapshot), `taken over by ${kind}`);
    });

    test("pods keep their Ready transition times when kubelet-ts takes over", () => {
      for (const [i, { kind, snapshot }] of rounds.entries())
        if (i > 0 && kind === "ours")
          assert.deepEqual(readySince(snapshot.pods), rounds[i - 1]!.readySinceAtStop);
    });

    test("what is kept and what is rewritten is what the document states", () => {
      const documented = readTable(document, toTypeScript);
      for (const [i, { kind, states }] of rounds.entries()) {
        if (i === 0) continue;
        const column = kind === "ours" ? toTypeScript : toReference;
        const measured = effects(rounds[i - 1]!.states.left, states.taken);
        // The first kubelet may not have written what the other always writes.
        if (order[0] === "ours")
          for (const row of Object.keys(measured)) if (measured[row] === "created") measured[row] = "kept";
        assert.deepEqual(undocumented(measured, documented[column]), [], column);
      }
    });

    test("volumes keep their paths, and are updated in running containers", () => {
      for (const { kind, snapshot } of rounds.slice(1))
        assert.deepEqual(snapshot.volumes, rounds[0]!.snapshot.volumes, `taken over by ${kind}`);
    });

    test("each kubelet restarts a container with its limits", () => {
      for (const { kind, restarted } of rounds)
        assert.match(restarted, /"limits":\{"cpu":"200m","memory":"64Mi"\}/, kind);
    });

    test("each kubelet reads the allocations of the previous one", () => {
      for (const { snapshot } of rounds)
        for (const file of ["allocated", "actuated"] as const)
          assert.deepEqual(
            resourcesByPod(snapshot[file], snapshot),
            resourcesByPod(rounds[0]!.snapshot[file], rounds[0]!.snapshot),
          );
    });
  });
