import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { podsOf } from "../e2e/agent-pods.ts";
import { AgentProcess } from "../e2e/agent-process.ts";
import { manifest, writeManifest } from "../e2e/manifests.ts";
import { long } from "../long.ts";
import { unavailable } from "../node/isolated-report.ts";
import { startTestNode, type TestNode } from "../node/test-node.ts";

describe(long("a node whose runtime starts after the kubelet"), { skip: unavailable }, () => {
  let node: TestNode;
  let agent: AgentProcess;
  before(async () => {
    node = await startTestNode({ containerd: "2.x" });
    agent = await AgentProcess.create(node);
    writeManifest(node.manifests, "web.yaml", manifest({ name: "web" }));
    await node.stopRuntime();
  });
  after(() => agent?.destroy());

  test("the kubelet ends with an error that names the runtime, and runs the pods when it is started again", async () => {
    // The reference returns the error of its first requests to the runtime (PreInitRuntimeService, getCgroupDriverFromCRI): it does not
    // know the cgroup driver, and its service is restarted.
    agent.start();
    assert.equal(await agent.exited(), 1);
    assert.match(agent.log(), /failed to get the cgroup driver of the container runtime/);
    await node.startRuntime();
    agent.start();
    await podsOf(agent).running("web");
  });
});
