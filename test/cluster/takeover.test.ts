import assert from "node:assert/strict";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import type { Container, Pod, PodSpec } from "../../src/lib/model/pod.ts";
import { waitFor } from "../e2e/wait-for.ts";
import { container, nodeName, server, TestCluster } from "./cluster-node.ts";

/** A probe that runs immediately when a container starts, but late when the agent finds the container running. */
const probe = (command: string) => ({
  exec: { command: [command] },
  periodSeconds: 3600,
  failureThreshold: 1,
});
const probed = (more: Partial<Container> = {}) =>
  container({ startupProbe: probe("true"), readinessProbe: probe("true"), command: server, ...more });
const mirror = `static-${nodeName}`;

const specs: Record<string, Partial<PodSpec>> = {
  plain: {},
  probed: { containers: [probed()] },
  sidecar: {
    initContainers: [probed({ name: "side", restartPolicy: "Always" })],
    containers: [probed({ startupProbe: undefined })],
  },
};

async function runningPods(t: TestContext): Promise<TestCluster> {
  const cluster = await TestCluster.start(t);
  await cluster.placeManifest("static", { containers: [probed()] });
  await cluster.startAgent();
  for (const [name, spec] of Object.entries(specs)) cluster.addPod(name, spec);
  cluster.addPod("unready", { containers: [probed({ readinessProbe: probe("false") })] });
  for (const name of [...Object.keys(specs), mirror]) await cluster.runs(name);
  await cluster.waitForPod("unready", ({ status }) => {
    assert.deepEqual([status?.phase, status?.containerStatuses?.[0]?.started], ["Running", true]);
    assert.equal(status?.containerStatuses?.[0]?.ready, false);
  });
  await cluster.stopAgent();
  // Times have whole seconds: recreated objects must be distinguishable.
  const second = Math.floor(Date.now() / 1000);
  await waitFor(() => assert.ok(Math.floor(Date.now() / 1000) > second + 1));
  return cluster;
}

/** As left by a kubelet that keeps no probe results on disk. */
const removeProbeResults = (cluster: TestCluster) => rm(join(cluster.dir, "root", "probe-results.json"));

const podsOf = (cluster: TestCluster) =>
  cluster.api.all("pods").filter((pod) => pod.metadata.name !== "control") as unknown as Pod[];

/** When a new pod has a status, all earlier statuses have been processed. */
async function allProcessed(cluster: TestCluster): Promise<void> {
  cluster.addPod("control");
  await cluster.runs("control");
}

test("an agent that takes over from another kubelet keeps ready, started and times of the API", async (t) => {
  const cluster = await runningPods(t);
  const before = podsOf(cluster);
  await removeProbeResults(cluster);
  await cluster.startAgent();
  await allProcessed(cluster);
  assert.deepEqual(podsOf(cluster), before, "a pod was written");
});

test("an agent that takes over containers that are not ready in the API ignores older probe results on disk", async (t) => {
  const cluster = await runningPods(t);
  const names = ["probed", "sidecar", mirror];
  for (const name of names) {
    const { status } = cluster.api.pod(name)!;
    const unready = status?.containerStatuses?.map((s) => ({ ...s, ready: false }));
    const body = { status: { ...status, containerStatuses: unready } };
    const path = `/api/v1/namespaces/default/pods/${name}/status`;
    await cluster.api.request({ method: "PATCH", path, body });
  }
  await cluster.startAgent();
  await allProcessed(cluster);
  for (const name of names) {
    const [found] = cluster.api.pod(name)?.status?.containerStatuses ?? [];
    assert.deepEqual([found?.started, found?.ready], [true, false], name);
  }
});

test("an agent that takes over during an API outage reads the readiness of static pods from their mirrors afterwards", async (t) => {
  const cluster = await runningPods(t);
  const before = podsOf(cluster);
  await removeProbeResults(cluster);
  cluster.api.goDown();
  await cluster.startAgent();
  await waitFor(() => assert.equal(cluster.agent.overview.rows()[0]?.phase, "Running"));
  cluster.api.recover();
  await allProcessed(cluster);
  assert.deepEqual(podsOf(cluster), before, "a pod was written");
});

for (const first of ["API", "runtime"] as const)
  test(`a restart changes no container status, including those of static pods, if the ${first} responds first`, async (t) => {
    const cluster = await runningPods(t);
    const before = podsOf(cluster);
    const { api, runtime } = cluster;
    // The start itself needs the cgroup driver of the runtime.
    const isLater = ({ $typeName }: { $typeName: string }) => !$typeName.endsWith(".RuntimeConfigRequest");
    const effect = { kind: "fail", code: "UNAVAILABLE" } as const;
    if (first === "API") runtime.faults.add({ method: "*", when: isLater, times: Infinity, effect });
    else api.goDown();
    await cluster.startAgent();
    if (first === "API") {
      await waitFor(() => assert.equal(cluster.agent.overview.rows().length, before.length));
      runtime.faults.clear();
    } else {
      await waitFor(() => assert.equal(cluster.agent.overview.rows()[0]?.ready, "1/1"));
      api.recover();
    }
    await allProcessed(cluster);
    assert.deepEqual(podsOf(cluster), before, "a pod was written");
  });

test("the start time of a static pod without a mirror is that of the agent, but its deadline is kept", async (t) => {
  const cluster = await TestCluster.start(t, { cluster: undefined });
  await cluster.placeManifest("static", { activeDeadlineSeconds: 5 });
  const rowIs = (check: (row: ReturnType<typeof cluster.agent.overview.rows>[number] | undefined) => void) =>
    waitFor(() => check(cluster.agent.overview.rows()[0]), 15_000);
  await cluster.startAgent();
  let first = "";
  await rowIs((row) => {
    assert.equal(row?.phase, "Running");
    first = row?.startTime ?? "";
  });
  await cluster.stopAgent();
  await waitFor(() => assert.ok(Date.now() > Date.parse(first) + 5000), 10_000);
  const restartedAt = Date.now();
  await cluster.startAgent();
  let second = "";
  await rowIs((row) => {
    second = row?.startTime ?? "";
    assert.ok(Date.parse(second) >= restartedAt - 1000, second);
  });
  await rowIs((row) => assert.equal(row?.status?.reason, "DeadlineExceeded"));
  assert.ok(Date.now() < Date.parse(second) + 5000, "the deadline was counted from the start of this agent");
});
