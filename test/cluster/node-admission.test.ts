import assert from "node:assert/strict";
import { test } from "node:test";
import { FeatureGates } from "../../src/lib/config/feature-gates.ts";
import { waitFor } from "../e2e/wait-for.ts";
import { container, nodeName, TestCluster } from "./cluster-node.ts";

/** A cluster whose node is Ready. */
async function readyCluster(t: Parameters<typeof TestCluster.start>[0]): Promise<TestCluster> {
  const cluster = await TestCluster.start(t);
  await cluster.startAgent();
  cluster.addPod("first");
  await cluster.runs("first");
  return cluster;
}

/** Changes the Node object, as kubectl does. */
function changeNode(cluster: TestCluster, change: (node: NodeLike) => void): void {
  const node = structuredClone(cluster.api.get("nodes", "", nodeName)) as unknown as NodeLike;
  change(node);
  cluster.api.put("nodes", node as never);
}

interface NodeLike {
  metadata: { labels?: Record<string, string> };
  status: {
    capacity: Record<string, string>;
    allocatable: Record<string, string>;
    addresses?: { type: string; address: string }[];
  };
}

test("a pod that is scheduled by a label runs, even if the watch has not delivered the label yet", async (t) => {
  const cluster = await readyCluster(t);
  cluster.api.laggingWatches.add("nodes");
  changeNode(cluster, ({ metadata }) => {
    metadata.labels = { ...metadata.labels, disk: "ssd" };
  });
  cluster.addPod("labeled", { nodeSelector: { disk: "ssd" } });
  await cluster.runs("labeled");
  cluster.addPod("other", { nodeSelector: { disk: "hdd" } });
  await cluster.waitForPod("other", ({ status }) => {
    assert.equal(status?.phase, "Failed");
    assert.equal(status?.reason, "NodeAffinity");
  });
});

test("a pod is rejected by the watched labels if the node cannot be read", async (t) => {
  const cluster = await readyCluster(t);
  cluster.api.onRequest = (call) => {
    if (call === `GET nodes ${nodeName}`) throw new Error("the API server is overloaded");
  };
  cluster.addPod("other", { nodeSelector: { disk: "hdd" } });
  await cluster.waitForPod("other", ({ status }) => assert.equal(status?.reason, "NodeAffinity"));
});

test("an extended resource that was patched onto the node limits the pods that request it", async (t) => {
  const cluster = await readyCluster(t);
  changeNode(cluster, ({ status }) => {
    status.capacity["example.com/dongle"] = "3";
  });
  const requesting = (count: string) => ({
    containers: [container({ resources: { requests: { "example.com/dongle": count } } })],
  });
  await waitFor(() => {
    const node = cluster.api.get("nodes", "", nodeName) as unknown as NodeLike | undefined;
    assert.equal(node?.status.allocatable["example.com/dongle"], "3");
  }, 20_000);
  cluster.addPod("two", requesting("2"));
  await cluster.runs("two");
  cluster.addPod("two-more", requesting("2"));
  await cluster.waitForPod("two-more", ({ status }) => {
    assert.equal(status?.reason, "OutOfexample.com/dongle");
    assert.match(status?.message ?? "", /requested: 2, used: 2, capacity: 3/);
  });
});

test("a variable with the address of the node waits until the cloud provider has set one", async (t) => {
  const cluster = await TestCluster.start(t);
  await cluster.startAgent({ nodeFlags: { nodeLabels: {}, cloudProvider: "external" } });
  const env = [{ name: "HOST_IP", valueFrom: { fieldRef: { fieldPath: "status.hostIP" } } }];
  cluster.addPod("other");
  const { metadata } = cluster.addPod("waiting", { containers: [container({ env })] });
  await cluster.runs("other");
  const { status: waiting } = await cluster.waitForPod("waiting", ({ status }) => {
    const { waiting: why } = status?.containerStatuses?.[0]?.state ?? {};
    assert.equal(why?.reason, "CreateContainerConfigError");
    assert.match(why?.message ?? "", /^host IP unknown/);
  });
  assert.equal(waiting?.hostIP, undefined);
  changeNode(cluster, ({ status }) => {
    status.addresses = [{ type: "InternalIP", address: "203.0.113.7" }];
  });
  const { status } = await cluster.runs("waiting", 30_000);
  assert.equal(status?.hostIP, "203.0.113.7");
  const [running] = cluster.runningOf(metadata.uid);
  const value = running?.config.envs.find(({ key }) => key === "HOST_IP")?.value;
  assert.equal(Buffer.from(value ?? []).toString(), "203.0.113.7");
});

// parity: event FailedNodeDeclaredFeaturesCheck
test("an update that needs a feature that the node does not declare is an event", async (t) => {
  const cluster = await TestCluster.start(t);
  const gates = new FeatureGates({ InPlacePodLevelResourcesVerticalScaling: false });
  await cluster.startAgent({ gates });
  const resources = (cpu: string) => ({ limits: { cpu }, requests: { cpu } });
  for (const name of ["resized", "same"]) cluster.addPod(name, { resources: resources("1") });
  for (const name of ["resized", "same"]) await cluster.runs(name);
  for (const [name, cpu] of [
    ["same", "1"],
    ["resized", "2"],
  ] as const) {
    const pod = structuredClone(cluster.api.pod(name)!);
    pod.spec.resources = resources(cpu);
    pod.metadata.labels = { changed: "true" };
    cluster.api.put("pods", pod as never);
  }
  const missing = "InPlacePodLevelResourcesVerticalScaling";
  await waitFor(
    () =>
      assert.deepEqual(cluster.events("resized", "FailedNodeDeclaredFeaturesCheck"), [
        `Pod requires node features that are not available: ${missing}`,
      ]),
    20_000,
  );
  assert.deepEqual(cluster.events("same", "FailedNodeDeclaredFeaturesCheck"), []);
});
