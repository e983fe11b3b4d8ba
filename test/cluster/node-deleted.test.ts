import assert from "node:assert/strict";
import { test } from "node:test";
import type { Lease, NodeObject } from "../../src/kubelet/node/node-types.ts";
import { waitFor } from "../e2e/wait-for.ts";
import { AgentLog } from "./agent-log.ts";
import { nodeName, TestCluster } from "./cluster-node.ts";
import type { ApiObject } from "./fake-api.ts";

const nodePath = `/api/v1/nodes/${nodeName}`;
const leasePath = `/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/${nodeName}`;
const leaseName = `leases kube-node-lease/${nodeName}`;

test("a deleted Node object is logged once, with what to do, and its status is updated once it exists again", async (t) => {
  const cluster = await TestCluster.start(t);
  const { api } = cluster;
  const log = new AgentLog();
  const config = {
    ...cluster.config(),
    nodeStatusUpdateFrequency: 100,
    nodeStatusReportFrequency: 100,
    nodeLeaseDurationSeconds: 1,
  };
  const remove = (path: string) => api.request({ method: "DELETE", path });
  const node = () => api.get("nodes", "", nodeName) as unknown as NodeObject | undefined;
  const lease = () =>
    api.get("leases", "kube-node-lease", nodeName) as unknown as (Lease & ApiObject) | undefined;
  const isReady = () =>
    waitFor(() => {
      const ready = node()?.status?.conditions?.find(({ type }) => type === "Ready");
      assert.equal(ready?.status, "True", log.lines.join("\n"));
    });
  const isOwned = () =>
    waitFor(() => assert.equal(lease()?.metadata.ownerReferences?.[0]?.uid, node()!.metadata.uid));
  /** Waits until this request was sent `times` more. */
  const requested = (call: string, times: number) => {
    const sent = () => api.requests.filter((request) => request === call).length;
    const before = sent();
    return waitFor(() => assert.ok(sent() >= before + times, `${sent() - before} × ${call}`));
  };

  await cluster.startAgent({ config, logger: log.logger });
  cluster.addPod("web", { dnsPolicy: "Default" });
  await cluster.runs("web");
  await isReady();
  await isOwned();

  const deletedAt = log.lines.length;
  await remove(nodePath);
  await Promise.all([requested(`GET nodes ${nodeName}`, 8), requested(`PUT ${leaseName}`, 3)]);
  // The garbage collector deletes the lease, which the Node object owned.
  await remove(leasePath);
  await Promise.all([requested(`GET nodes ${nodeName}`, 8), requested(`GET ${leaseName}`, 3)]);
  const since = log.messages(deletedAt).filter((message) => !message.startsWith("I SyncLoop"));
  assert.deepEqual(
    log.problems(deletedAt),
    ["E Node object was deleted, restart the kubelet to register the node again"],
    log.lines.slice(deletedAt).join("\n"),
  );
  assert.deepEqual(since, [...new Set(since)], "a message was repeated");
  assert.equal(node(), undefined, "the node was registered again");

  const createdAt = log.lines.length;
  await api.request({
    method: "POST",
    path: "/api/v1/nodes",
    body: { apiVersion: "v1", kind: "Node", metadata: { name: nodeName }, spec: {}, status: {} },
  });
  await isReady();
  await isOwned();
  cluster.addPod("after", { dnsPolicy: "Default" });
  await cluster.runs("after");
  assert.deepEqual(log.problems(createdAt), []);
  assert.ok(log.messages(createdAt).includes("I Node object exists again"));

  const deletedAgainAt = log.lines.length;
  await remove(nodePath);
  await remove(leasePath);
  await requested(`GET nodes ${nodeName}`, 8);
  assert.equal(log.problems(deletedAgainAt).length, 1, "the second deletion was not logged");
  await cluster.stopAgent();
  await cluster.startAgent({ config, logger: log.logger });
  const restartedAt = log.lines.length;
  await isReady();
  await isOwned();
  assert.deepEqual(log.problems(restartedAt), []);
});
