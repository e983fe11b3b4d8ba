import assert from "node:assert/strict";
import { test } from "node:test";
import { waitFor } from "../e2e/wait-for.ts";
import { container, TestCluster } from "./cluster-node.ts";

const image = "registry.example/app:1";
const registry = { [image]: { pullMs: 10, size: 1234 } };
const spec = {
  initContainers: [container({ name: "init" })],
  containers: [container({ image, imagePullPolicy: "IfNotPresent" })],
};

/** A pod whose init container runs. */
async function initializing(cluster: TestCluster, name: string) {
  const { metadata } = cluster.addPod(name, spec);
  const [init] = await waitFor(() => {
    const running = cluster.runningOf(metadata.uid);
    assert.equal(running.length, 1);
    return running;
  });
  return { uid: metadata.uid, init: init! };
}

const isPresent = (cluster: TestCluster) => cluster.runtime.images.find(image) !== undefined;

test("an image is pulled while an init container runs, and reported when its container starts", async (t) => {
  const cluster = await TestCluster.start(t, {}, registry);
  await cluster.startAgent();
  const { init } = await initializing(cluster, "web");
  await waitFor(() => assert.ok(isPresent(cluster)));
  assert.deepEqual(cluster.events("web", "Pulling"), []);
  cluster.runtime.exit(init.id, 0);
  await cluster.runs("web");
  await waitFor(() => assert.deepEqual(cluster.events("web", "Pulling"), [`Pulling image "${image}"`]));
  const pulled = /^Successfully pulled image "registry.example\/app:1" in .* Image size: 1234 bytes\.$/;
  await waitFor(() => assert.ok(cluster.events("web", "Pulled").some((message) => pulled.test(message))));
});

test("with prefetchImages: false, an image is pulled when its container starts", async (t) => {
  const cluster = await TestCluster.start(t, { prefetchImages: false }, registry);
  await cluster.startAgent();
  const { init } = await initializing(cluster, "web");
  // All syncs of the pod until now are over.
  await cluster.waitForPod("web", ({ status }) =>
    assert.ok(status?.initContainerStatuses?.[0]?.state?.running),
  );
  assert.equal(isPresent(cluster), false);
  cluster.runtime.exit(init.id, 0);
  await cluster.runs("web");
});

test("the pull for a pod that is deleted ends", async (t) => {
  const slow = { [image]: { pullMs: 600_000 } };
  const cluster = await TestCluster.start(t, {}, slow);
  await cluster.startAgent();
  await initializing(cluster, "web");
  await waitFor(() => assert.equal(cluster.runtime.images.pulling, 1));
  cluster.api.deletePod("web", 0);
  await waitFor(() => assert.equal(cluster.runtime.images.pulling, 0));
  await cluster.isGone("web");
});

test("no pull goes on when the agent has stopped", async (t) => {
  const slow = { [image]: { pullMs: 600_000 } };
  const cluster = await TestCluster.start(t, {}, slow);
  await cluster.startAgent();
  await initializing(cluster, "web");
  await waitFor(() => assert.equal(cluster.runtime.images.pulling, 1));
  await cluster.stopAgent();
  await waitFor(() => assert.equal(cluster.runtime.images.pulling, 0));
});
