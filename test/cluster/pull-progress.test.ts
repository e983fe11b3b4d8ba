import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { waitFor } from "../e2e/wait-for.ts";
import { container, TestCluster } from "./cluster-node.ts";
import { explained } from "./explained.ts";

const image = "registry.example/app:1";
const spec = { containers: [container({ image, imagePullPolicy: "IfNotPresent" })] };

test("a runtime that is not containerd shows how long it pulls, and for which pods", async (t) => {
  const cluster = await TestCluster.start(t, {}, { [image]: { pullMs: 600_000 } });
  await cluster.startAgent();
  const { waitForPod } = explained(join(cluster.dir, "root"));
  const pods = [cluster.addPod("web", spec), cluster.addPod("other", spec)];
  await waitFor(() => assert.equal(cluster.runtime.images.pulling, 1));
  for (const name of ["web", "other"]) {
    const { pulls } = await waitForPod(name, ({ waitsFor }) =>
      assert.match(
        waitsFor?.text ?? "",
        /^pulling registry\.example\/app:1 for [1-9]\d* s, the node receives \d+(\.\d)? [kMG]B\/s$/,
      ),
    );
    assert.equal(pulls?.length, 1);
    const { state, registry, bytes, leftMs } = pulls[0]!;
    assert.deepEqual(
      { state, registry, bytes, leftMs },
      { state: "pulling", registry: "registry.example", bytes: null, leftMs: null },
    );
  }
  const rows = cluster.agent.overview.rows();
  for (const { metadata } of pods)
    assert.match(
      rows.find(({ uid }) => uid === metadata.uid)!.blockedOn,
      /^pulling registry\.example\/app:1 for \d+ s/,
    );
  assert.deepEqual(cluster.events("web", "PullProgress"), []);
});

test("a pod waits for the pull of another image", async (t) => {
  const other = "registry.example/other:1";
  const cluster = await TestCluster.start(
    t,
    {},
    { [image]: { pullMs: 600_000 }, [other]: { pullMs: 600_000 } },
  );
  await cluster.startAgent();
  const { waits } = explained(join(cluster.dir, "root"));
  cluster.addPod("web", spec);
  await waitFor(() => assert.equal(cluster.runtime.images.pulling, 1));
  cluster.addPod("second", { containers: [container({ image: other, imagePullPolicy: "IfNotPresent" })] });
  await waits("second", "image", /^pulling image registry\.example\/other:1: waiting for other pulls$/);
});
