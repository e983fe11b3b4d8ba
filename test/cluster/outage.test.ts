import assert from "node:assert/strict";
import { test } from "node:test";
import type { Pod } from "../../src/lib/model/pod.ts";
import { waitFor } from "../e2e/wait-for.ts";
import { nodeName, TestCluster } from "./cluster-node.ts";

test("static pods run without an API at startup, and the node and the mirrors are created once it is available", async (t) => {
  const cluster = await TestCluster.start(t);
  cluster.api.goDown();
  await cluster.placeManifest("web");
  cluster.addPod("later");
  await cluster.startAgent();
  await waitFor(() => {
    const rows = cluster.agent.overview.rows();
    assert.deepEqual(
      rows.map(({ name, phase }) => [name, phase]),
      [[`web-${nodeName}`, "Running"]],
    );
  });
  cluster.api.recover();
  await cluster.runs(`web-${nodeName}`, 20_000);
  await cluster.runs("later", 20_000);
});

test("pods run and are restarted while the API is unavailable, and the API is updated afterwards", async (t) => {
  const cluster = await TestCluster.start(t);
  await cluster.startAgent();
  const { metadata } = cluster.addPod("web");
  await cluster.runs("web");
  cluster.api.goDown();
  cluster.runtime.exit(cluster.runningOf(metadata.uid)[0]!.id, 3);
  await waitFor(() => {
    const [row] = cluster.agent.overview.rows();
    assert.deepEqual([row?.restarts, row?.ready], [1, "1/1"]);
  });
  assert.equal(cluster.api.pod("web")?.status?.containerStatuses?.[0]?.restartCount, 0);
  cluster.api.recover();
  await cluster.waitForPod(
    "web",
    ({ status }) => assert.equal(status?.containerStatuses?.[0]?.restartCount, 1),
    5000,
  );
  assert.equal(cluster.runningOf(metadata.uid).length, 1);
});

test("a restarted agent changes nothing: no container, no status, no mirror, no node", async (t) => {
  const cluster = await TestCluster.start(t);
  await cluster.placeManifest("static");
  await cluster.startAgent();
  cluster.addPod("web");
  cluster.addPod("elsewhere", { nodeSelector: { zone: "b" } });
  await cluster.runs("web");
  await cluster.runs(`static-${nodeName}`);
  await cluster.waitForPod("elsewhere", (pod) => assert.equal(pod.status?.phase, "Failed"));
  await cluster.stopAgent();
  const before = cluster.api.all("pods");
  const containers = [...cluster.runtime.pods.containers.keys()];
  // Times have whole seconds: recreated objects must be distinguishable.
  const second = Math.floor(Date.now() / 1000);
  await waitFor(() => assert.ok(Math.floor(Date.now() / 1000) > second + 1));
  cluster.api.requests.length = 0;
  await cluster.startAgent();
  await waitFor(() => {
    const rows = cluster.agent.overview.rows();
    assert.deepEqual(
      rows.map(({ name, ready, phase }) => `${name} ${phase} ${ready}`),
      ["elsewhere Failed 0/1", `static-${nodeName} Running 1/1`, "web Running 1/1"],
    );
  });
  await waitFor(() => assert.ok(cluster.api.requests.includes(`PUT leases kube-node-lease/${nodeName}`)));
  // When a new pod has a status, all earlier statuses have been processed.
  cluster.addPod("control");
  await cluster.runs("control");
  const after = cluster.api.all("pods").filter((pod) => pod.metadata.name !== "control");
  assert.deepEqual(after as unknown as Pod[], before);
  assert.deepEqual([...cluster.runtime.pods.containers.keys()].slice(0, containers.length), containers);
  assert.deepEqual(
    cluster.api.requests.filter((call) => /^(POST|DELETE) (pods|nodes)/.test(call)),
    [`POST nodes`],
  );
});

test("changes in the API while the agent was down are applied once the API has been listed", async (t) => {
  const cluster = await TestCluster.start(t);
  await cluster.placeManifest("static");
  await cluster.startAgent();
  const deleted = cluster.addPod("deleted");
  const removed = cluster.addPod("removed");
  const stays = cluster.addPod("stays");
  for (const name of ["deleted", "removed", "stays", `static-${nodeName}`]) await cluster.runs(name);
  await cluster.stopAgent();
  await cluster.removeManifest("static");
  cluster.api.deletePod("deleted");
  cluster.api.deletePod("removed", 0);
  cluster.api.goDown();
  const pods = [deleted, removed, stays];
  const running = () => pods.map(({ metadata }) => cluster.runningOf(metadata.uid).length);
  await cluster.placeManifest("other");
  await cluster.startAgent();
  // Until all sources are ready, the desired pods are unknown: nothing that runs is touched.
  await waitFor(() => assert.equal(cluster.agent.overview.rows()[0]?.phase, "Running"));
  assert.deepEqual(running(), [1, 1, 1]);
  assert.equal([...cluster.runtime.pods.sandboxes].length, 5);
  cluster.api.recover();
  await cluster.isGone("deleted");
  await cluster.isGone(`static-${nodeName}`);
  await waitFor(() => assert.deepEqual(running(), [0, 0, 1]));
  assert.equal(cluster.containersOf(stays.metadata.uid).length, 1);
});
