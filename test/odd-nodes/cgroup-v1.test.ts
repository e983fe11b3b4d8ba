import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { detectLayout } from "../../src/lib/host/cgroups/mounted-cgroups.ts";
import { contentsOf, kernelValues } from "../cgroups/kernel-values.ts";
import { referencePods } from "../cgroups/reference-pods.ts";
import { AgentProcess } from "../e2e/agent-process.ts";
import { waitFor } from "../e2e/wait-for.ts";
import { long } from "../long.ts";
import { MeteredNode } from "../metrics/metered-node.ts";
import { unavailable } from "../node/isolated-report.ts";
import { startTestNode } from "../node/test-node.ts";

const layout = await detectLayout();
const skip = unavailable || (layout.version !== 1 && "this machine has cgroup v2");
const { pod: recordedPod, v1 } = referencePods.find(({ rule }) => rule === "requests below limits")!;

describe(long("a node with cgroup v1 and the cgroupfs driver"), { skip }, () => {
  let node: MeteredNode;
  before(async () => {
    node = await MeteredNode.start("2.x", () => ({ config: { cgroupDriver: "cgroupfs" } }));
    const [container] = recordedPod.spec.containers;
    await node.apiNode.addPod("web", { resources: container?.resources });
  });
  after(() => node?.destroy());

  test("a pod has the recorded limits in each hierarchy, and its containers are in its cgroup", async () => {
    const { metadata, status } = await node.apiNode.runs("web");
    const path = `${node.apiNode.node.cgroupRoot}/kubepods/burstable/pod${metadata.uid}`;
    const want = kernelValues(1, v1.pod);
    assert.deepEqual(await contentsOf(layout, path, Object.keys(want)), want);
    const id = status?.containerStatuses?.[0]?.containerID?.split("//")[1] ?? "";
    for (const controller of ["cpu", "memory", "pids", "freezer"])
      assert.ok(existsSync(join("/sys/fs/cgroup", controller, path, id)), controller);
  });

  test("an event and a metric report the version of cgroups", async () => {
    // The reference sends the event of cgroupVersionCheck when it starts.
    await waitFor(async () => {
      const { items } = await node.apiNode.get<{ items: { reason: string; type: string }[] }>(
        "/api/v1/events",
      );
      assert.deepEqual(
        items.filter(({ reason }) => reason === "CgroupV1").map(({ type }) => type),
        ["Warning"],
      );
    });
    const families = await node.metrics("/metrics");
    assert.deepEqual(
      families.get("kubelet_cgroup_version")?.samples.map(({ value }) => value),
      [1],
    );
  });
});

describe(long("a node with cgroup v1 and the default configuration"), { skip }, () => {
  let agent: AgentProcess;
  before(async () => {
    agent = await AgentProcess.create(await startTestNode({ containerd: "2.x" }), {
      failCgroupV1: undefined,
    });
  });
  after(() => agent?.destroy());

  test("does not start, and names the field that permits it", async () => {
    // failCgroupV1 is true by default since v1.35 (SetDefaults_KubeletConfiguration).
    agent.start();
    assert.equal(await agent.exited(), 1);
    assert.match(agent.log(), /failCgroupV1/);
  });
});
