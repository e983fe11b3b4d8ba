import assert from "node:assert/strict";
import { test } from "node:test";
import { waitFor } from "../e2e/wait-for.ts";
import { TestCluster } from "./cluster-node.ts";

// parity: event DeadlineExceeded
test("a pod that is active longer than its deadline fails, with an event", async (t) => {
  const cluster = await TestCluster.start(t);
  await cluster.startAgent();
  cluster.addPod("late", { activeDeadlineSeconds: 1 });
  const { status } = await cluster.waitForPod("late", (pod) => assert.equal(pod.status?.phase, "Failed"));
  const message = "Pod was active on the node longer than the specified deadline";
  assert.deepEqual([status?.reason, status?.message], ["DeadlineExceeded", message]);
  await waitFor(() => assert.deepEqual(cluster.events("late", "DeadlineExceeded"), [message]));
});
