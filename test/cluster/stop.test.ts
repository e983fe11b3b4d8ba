import assert from "node:assert/strict";
import { test } from "node:test";
import { TestCluster } from "./cluster-node.ts";

test("each caller that stops the agent waits until it has stopped", async (t) => {
  const cluster = await TestCluster.start(t);
  await cluster.startAgent();
  const ended: string[] = [];
  const stop = async (caller: string) => {
    await cluster.stopAgent();
    ended.push(caller);
  };
  await Promise.all([stop("first"), stop("second")]);
  assert.deepEqual(ended, ["first", "second"]);
});
