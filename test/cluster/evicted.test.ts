import assert from "node:assert/strict";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { annotationMirror } from "../../src/lib/model/pod.ts";
import { waitFor } from "../e2e/wait-for.ts";
import { nodeName, TestCluster } from "./cluster-node.ts";
import { explained } from "./explained.ts";

const message = "The node was low on resource: memory. ";
const detail = "memory.available is 80Mi, below the hard threshold of 100Mi; chosen of 3 pods";
const condition = { type: "DisruptionTarget", status: "True", reason: "TerminationByKubelet", message };

/** As an agent leaves it that was killed after it had decided to evict these pods. */
function recordEvicted(cluster: TestCluster, ...uids: string[]): Promise<void> {
  const failure = { phase: "Failed", reason: "Evicted", message, detail, conditions: [condition] };
  const pods = uids.map((uid) => ({ uid, failure, graceSeconds: 1 }));
  return writeFile(recordOf(cluster), JSON.stringify({ version: 1, pods }));
}

const recordOf = (cluster: TestCluster) => join(cluster.dir, "root", "evicted-pods.json");

test("a pod that a previous agent was evicting fails, and never runs again", async (t) => {
  const cluster = await TestCluster.start(t);
  await cluster.placeManifest("static");
  await cluster.startAgent();
  const { uid } = cluster.addPod("hog", { terminationGracePeriodSeconds: 600 }).metadata;
  const other = cluster.addPod("other").metadata.uid;
  await cluster.runs("hog");
  await cluster.runs("other");
  const mirror = await cluster.runs(`static-${nodeName}`);
  const staticUid = mirror.metadata.annotations?.[annotationMirror] ?? "";
  const [kept] = cluster.runningOf(other);
  await cluster.stopAgent();
  // Nothing was stopped yet for one, all of it for another that was not written to the API.
  const unstarted = cluster.addPod("unstarted").metadata.uid;
  await recordEvicted(cluster, uid, staticUid, unstarted);
  await cluster.startAgent();

  for (const name of ["hog", "unstarted", `static-${nodeName}`])
    await cluster.waitForPod(name, ({ status }) => {
      assert.deepEqual([status?.phase, status?.reason, status?.message], ["Failed", "Evicted", message]);
      const {
        observedGeneration: _,
        lastTransitionTime,
        lastProbeTime: __,
        ...found
      } = status?.conditions?.find((c) => c.type === "DisruptionTarget") ?? { lastTransitionTime: "" };
      assert.deepEqual(found, condition, name);
      assert.match(lastTransitionTime ?? "", /T/);
    });
  assert.deepEqual(
    [uid, staticUid, unstarted].flatMap((id) => cluster.runningOf(id)),
    [],
  );
  assert.equal(cluster.containersOf(unstarted).length, 0, "it was never started");
  assert.deepEqual(
    cluster.runningOf(other).map(({ id }) => id),
    [kept?.id],
    "others keep running",
  );

  const { waitForPod } = explained(join(cluster.dir, "root"));
  await waitForPod("hog", ({ cause }) =>
    assert.equal(cause, `Evicted: The node was low on resource: memory: ${detail}`),
  );

  // The record lasts as long as the pod.
  cluster.api.deletePod("hog");
  cluster.api.deletePod("unstarted");
  await cluster.removeManifest("static");
  await cluster.isGone("hog");
  await waitFor(async () => assert.match(await readFile(recordOf(cluster), "utf8"), /"pods": \[\]/));
  await cluster.placeManifest("static");
  await cluster.runs(`static-${nodeName}`);
});
