import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { cgroupDriver, detectLayout } from "../../src/lib/host/cgroups/cgroup-driver.ts";
import type { PodCondition, ResourceRequirements } from "../../src/lib/model/pod.ts";
import { cgroupFile } from "../e2e/agent-process.ts";
import { waitFor } from "../e2e/wait-for.ts";
import { describeOnContainerd } from "../node/on-containerd.ts";
import { NodeWithApi, podsPath } from "./node-with-api.ts";

const admitted: ResourceRequirements = {
  limits: { cpu: "200m", memory: "64Mi" },
  requests: { cpu: "20m", memory: "16Mi" },
};
const requested: ResourceRequirements = {
  limits: { cpu: "400m", memory: "128Mi" },
  requests: { cpu: "40m", memory: "32Mi" },
};

describeOnContainerd("a resize of a running pod", (version) => {
  let fullNode: NodeWithApi;
  before(async () => {
    fullNode = await NodeWithApi.start(version);
    await fullNode.addPod("resized", { resources: admitted });
    await fullNode.runs("resized");
  });
  after(() => fullNode?.destroy());

  const resize = (resources: ResourceRequirements) =>
    fullNode.admin.request({
      ...{ method: "PATCH", path: `${podsPath}/resized/resize` },
      contentType: "application/strategic-merge-patch+json",
      body: { spec: { containers: [{ name: "c", resources }] } },
    });
  const pending = async (): Promise<PodCondition | undefined> =>
    (await fullNode.pod("resized")).status?.conditions?.find(({ type }) => type === "PodResizePending");
  /** Allocation, status and cgroup have the resources that the pod was admitted with. */
  const assertAdmittedResources = async () => {
    const { status, metadata } = await fullNode.pod("resized");
    const { allocatedResources, resources } = status as Record<string, unknown>;
    const [container] = status!.containerStatuses!;
    assert.deepEqual(container?.allocatedResources, admitted.requests);
    assert.deepEqual(container?.resources, admitted);
    assert.deepEqual([allocatedResources, resources], [admitted.requests, admitted]);
    assert.equal(status?.observedGeneration, metadata.generation);
    const cgroup = `${fullNode.node.cgroupRoot}/kubepods/burstable/pod${metadata.uid}`;
    const memoryLimit = cgroupFile(cgroup, "memory.limit_in_bytes") ?? cgroupFile(cgroup, "memory.max");
    assert.equal(memoryLimit, String(64 << 20));
  };
  const eventsOf = async (reason: string) => {
    const { items } = await fullNode.get<{ items: { reason: string; message: string; count?: number }[] }>(
      "/api/v1/namespaces/default/events",
    );
    return items.filter((event) => event.reason === reason);
  };

  test("is reported as infeasible in a condition and an event, and the status has the admitted resources", async () => {
    await resize(requested);
    const condition = await waitFor(async () => {
      const found = await pending();
      assert.ok(found);
      return found;
    });
    const { metadata } = await fullNode.pod("resized");
    assert.deepEqual(
      [condition.status, condition.reason, condition.observedGeneration],
      ["True", "Infeasible", metadata.generation],
    );
    assert.match(condition.message ?? "", /^In-place resize is not supported by this kubelet/);
    await waitFor(assertAdmittedResources);
    const [event] = await waitFor(async () => {
      const found = await eventsOf("ResizeInfeasible");
      assert.equal(found.length, 1);
      return found;
    });
    assert.match(
      event!.message,
      /^Pod resize Infeasible: \{"containers":\[\{"name":"c","resources":\{.*"128Mi"/,
    );
  });

  test("is still infeasible after a restart of the agent, without another event", async () => {
    const reported = await pending();
    await fullNode.agent.end("SIGKILL");
    fullNode.startAgent();
    await waitFor(async () => {
      const row = (await fullNode.agent.pods())?.find(({ name }) => name === "resized");
      assert.equal(row?.phase, "Running");
    });
    assert.equal((await pending())?.lastTransitionTime, reported?.lastTransitionTime);
    await assertAdmittedResources();
    const events = await eventsOf("ResizeInfeasible");
    assert.deepEqual([events.length, events[0]?.count ?? 1], [1, 1]);
  });

  test("a restarted container gets the resources that the pod was admitted with", async () => {
    const [previous] = await fullNode.containersOf("resized");
    await fullNode.runtime.stopContainer(previous!.id, 0);
    const [next] = await waitFor(async () => {
      const found = await fullNode.containersOf("resized");
      assert.equal(found[0]?.attempt, 1);
      return found;
    });
    const status = await fullNode.runtime.containerStatus(next!.id);
    assert.equal(Number(status.status?.resources?.linux?.memoryLimitInBytes), 64 << 20);
    await waitFor(assertAdmittedResources);
  });

  test("pod-level resources in the status are those of the pod's cgroup, even if another process changed them", async () => {
    const { metadata } = await fullNode.pod("resized");
    const cgroup = `${fullNode.node.cgroupRoot}/kubepods/burstable/pod${metadata.uid}`;
    const driver = cgroupDriver(await detectLayout());
    await driver.update(cgroup, { memory: BigInt(80 << 20) });
    let round = 0;
    await waitFor(async () => {
      // Each change of the pod recomputes its status.
      const body = { metadata: { labels: { round: String(++round) } } };
      const contentType = "application/merge-patch+json";
      await fullNode.admin.request({ method: "PATCH", path: `${podsPath}/resized`, contentType, body });
      const { resources } = (await fullNode.pod("resized")).status as { resources?: ResourceRequirements };
      assert.deepEqual(resources?.limits, { cpu: "200m", memory: "80Mi" });
    });
    await driver.update(cgroup, { memory: BigInt(64 << 20) });
  });

  test("ends when it is reverted", async () => {
    await resize(admitted);
    await waitFor(async () => assert.equal(await pending(), undefined));
    await waitFor(assertAdmittedResources);
  });
});
