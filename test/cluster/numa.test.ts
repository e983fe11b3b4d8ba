import assert from "node:assert/strict";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { FeatureGates } from "../../src/lib/config/feature-gates.ts";
import type { KubeletConfiguration } from "../../src/lib/config/kubelet-configuration.ts";
import { writeFakeSysfs } from "../../src/lib/host/fake-sysfs.ts";
import type { Pod } from "../../src/lib/model/pod.ts";
import { waitFor } from "../e2e/wait-for.ts";
import { container, TestCluster } from "./cluster-node.ts";
import { explained } from "./explained.ts";

const withinMs = 60_000;

/** A sysfs with NUMA nodes of 512 Mi each. */
async function sysfs(dir: string, nodes: number): Promise<string> {
  for (let id = 0; id < nodes; id++) {
    const node = join(dir, `devices/system/node/node${id}`);
    await mkdir(node, { recursive: true });
    await writeFile(join(node, "meminfo"), `Node ${id} MemTotal:         524288 kB\n`);
    await writeFile(join(node, "distance"), "10 21\n");
  }
  return dir;
}

async function startCluster(t: Parameters<typeof TestCluster.start>[0]) {
  const cluster = await TestCluster.start(t);
  const sysDir = await sysfs(join(cluster.dir, "sys"), 2);
  const config: KubeletConfiguration = {
    ...cluster.config(),
    topologyManagerPolicy: "single-numa-node",
    memoryManagerPolicy: "Static",
    // kubeReserved, and the threshold of evictionHard.
    reservedMemory: [{ numaNode: 0, limits: { memory: "128Mi" } }],
  };
  return {
    cluster,
    sysDir,
    start: (more: Partial<KubeletConfiguration> = {}, gates: Record<string, boolean> = {}) =>
      cluster.startAgent({ sysDir, config: { ...config, ...more }, gates: new FeatureGates(gates) }),
  };
}

const order = (a: string, b: string) => (a < b ? -1 : 1);

/** A Guaranteed pod with this much memory, and a small part of a CPU unless set. */
const withMemory = (memory: string, cpu = "1m") => {
  const amounts = { cpu, memory };
  return { containers: [container({ resources: { requests: amounts, limits: amounts } })] };
};

// parity: field memoryManagerPolicy, field topologyManagerPolicy, field reservedMemory[].numaNode, field reservedMemory[].limits
test("memory is allocated from one NUMA node, kept across a restart and released; what does not fit is rejected and explained", async (t) => {
  const { cluster, start } = await startCluster(t);
  const rootDir = join(cluster.dir, "root");
  await start();
  const { waitForPod } = explained(rootDir);
  const memsOf = ({ metadata }: Pod) =>
    cluster.runningOf(metadata.uid).map(({ config }) => config.linux?.resources?.cpusetMems);
  const isRejected = (reason: string, message: string) => (pod: Pod) => {
    const { status } = pod;
    assert.deepEqual(
      [status?.phase, status?.reason, status?.message],
      ["Failed", reason, `Pod was rejected: ${message}`],
    );
  };

  cluster.addPod("wide", withMemory("600Mi"));
  const locality = "Resources cannot be allocated with Topology locality";
  await cluster.waitForPod("wide", isRejected("TopologyAffinityError", locality), withinMs);
  const wide = await waitForPod("wide", ({ failedAt }) => assert.ok(failedAt), withinMs);
  assert.equal(
    wide.cause,
    `TopologyAffinityError: Pod was rejected: ${locality}: policy single-numa-node needs all resources on one NUMA node, container c: memory: NUMA nodes 0-1; memory: 600Mi requested, free 384Mi of 384Mi on NUMA node 0, 512Mi of 512Mi on NUMA node 1`,
  );
  await waitFor(
    () => assert.deepEqual(cluster.events("wide", "TopologyAffinityError"), [locality]),
    withinMs,
  );

  const low = cluster.addPod("low", withMemory("300Mi"));
  await cluster.runs("low", withinMs);
  const high = cluster.addPod("high", withMemory("400Mi"));
  await cluster.runs("high", withinMs);
  const shared = cluster.addPod("shared");
  await cluster.runs("shared", withinMs);
  assert.deepEqual([low, high, shared].map(memsOf), [["0"], ["1"], [""]]);

  const unexpected =
    "Allocate failed due to [memorymanager] failed to get the default NUMA affinity, no NUMA nodes with enough memory is available, which is unexpected";
  cluster.addPod("late", withMemory("200Mi"));
  await cluster.waitForPod("late", isRejected("UnexpectedAdmissionError", unexpected), withinMs);
  const late = await waitForPod("late", ({ failedAt }) => assert.ok(failedAt), withinMs);
  assert.match(
    late.cause ?? "",
    /: memory: 200Mi requested, free 84Mi of 384Mi on NUMA node 0, 112Mi of 512Mi on NUMA node 1$/,
  );

  const ids = () => [low, high].map(({ metadata }) => cluster.runningOf(metadata.uid).map(({ id }) => id));
  const before = ids();
  await cluster.stopAgent();
  cluster.addPod("later", withMemory("200Mi"));
  await start();
  await cluster.waitForPod("later", isRejected("UnexpectedAdmissionError", unexpected), withinMs);
  assert.deepEqual(ids(), before, "containers run on");
  const entries = async () =>
    Object.keys(JSON.parse(await readFile(join(rootDir, "memory_manager_state"), "utf8")).entries).sort(
      order,
    );
  const expected = [low.metadata.uid, high.metadata.uid].sort(order);
  await waitFor(async () => assert.deepEqual(await entries(), expected), withinMs);

  cluster.api.deletePod("high");
  await cluster.isGone("high");
  const next = cluster.addPod("next", withMemory("512Mi"));
  await cluster.runs("next", withinMs);
  assert.deepEqual(memsOf(next), ["1"]);
});

test("an agent with allocations of another policy does not start", async (t) => {
  const { cluster, start } = await startCluster(t);
  await start();
  await cluster.stopAgent();
  await assert.rejects(
    start({ memoryManagerPolicy: "None" }),
    /^KubeletError: could not restore state from checkpoint: \[memorymanager\] configured policy "None" differs from state checkpoint policy "Static", please drain this node and delete the memory manager checkpoint file ".*memory_manager_state" before restarting Kubelet$/,
  );
  await assert.rejects(
    start({ reservedMemory: [] }),
    /the total amount "0" of type "memory" is not equal to the value "128Mi"/,
  );
  await start();
});

test("CPUs and memory of a container are on the same NUMA node", async (t) => {
  const { cluster, start, sysDir } = await startCluster(t);
  const cpu = (core: number, node: number) => ({ core, socket: node, node });
  writeFakeSysfs(sysDir, "0-3", { 0: cpu(0, 0), 1: cpu(1, 0), 2: cpu(0, 1), 3: cpu(1, 1) });
  await start({
    topologyManagerPolicy: "restricted",
    cpuManagerPolicy: "static",
    systemReserved: { cpu: "100m" },
  });
  const low = cluster.addPod("low", withMemory("300Mi"));
  await cluster.runs("low", withinMs);
  // CPU 0 is reserved and CPU 1 is free, but there is not enough memory next to it.
  const whole = cluster.addPod("whole", withMemory("300Mi", "1"));
  await cluster.runs("whole", withinMs);
  const cpusets = [low, whole].map(({ metadata }) =>
    cluster.runningOf(metadata.uid).map(({ config }) => {
      const { cpusetCpus, cpusetMems } = config.linux?.resources ?? {};
      return `${cpusetCpus} on ${cpusetMems}`;
    }),
  );
  assert.deepEqual(cpusets, [["0-3 on 0"], ["2 on 1"]]);
});

// parity: gate PodLevelResourceManagers=true, gate PodLevelResourceManagers=false
test("a pod with pod-level resources has CPUs and memory of one NUMA node with PodLevelResourceManagers, and shares those of the node without", async (t) => {
  const { cluster, start, sysDir } = await startCluster(t);
  const cpu = (core: number, node: number) => ({ core, socket: node, node });
  writeFakeSysfs(sysDir, "0-3", { 0: cpu(0, 0), 1: cpu(1, 0), 2: cpu(0, 1), 3: cpu(1, 1) });
  const config = {
    topologyManagerPolicy: "restricted",
    topologyManagerScope: "pod",
    cpuManagerPolicy: "static",
    systemReserved: { cpu: "100m" },
  } as const;
  // The test machine may have no more than two CPUs.
  const ofPod = { cpu: "1", memory: "400Mi" };
  const podWith = (name: string, own: Record<string, string>) =>
    cluster.addPod(name, {
      resources: { requests: ofPod, limits: ofPod },
      containers: [
        container({ name: "a", resources: { requests: own, limits: own } }),
        container({ name: "b" }),
      ],
    });
  const resourcesOf = ({ metadata }: Pod) =>
    Object.fromEntries(
      cluster.runningOf(metadata.uid).map(({ config: { metadata: of, linux } }) => {
        const { cpusetCpus, cpusetMems } = linux?.resources ?? {};
        return [of?.name, `${cpusetCpus} on ${cpusetMems || "any"}`];
      }),
    );

  await start(config);
  const without = podWith("without", { memory: "100Mi" });
  await cluster.runs("without", withinMs);
  assert.deepEqual(resourcesOf(without), { a: "0-3 on any", b: "0-3 on any" });
  await cluster.stopAgent();

  // Files of a kubelet without the gate are taken over.
  const on = { PodLevelResourceManagers: true };
  await start(config, on);
  cluster.api.deletePod("without");
  await cluster.isGone("without");
  podWith("none-left", ofPod);
  await cluster.waitForPod(
    "none-left",
    ({ status }) => {
      assert.equal(status?.reason, "TopologyAffinityError");
      const expected = "pod with pod-level resources failed admission under pod-scope topology manager";
      assert.equal(status?.message, `Pod was rejected: Pod Scope ${expected}`);
    },
    withinMs,
  );
  const pod = podWith("with", { memory: "100Mi" });
  await cluster.runs("with", withinMs);
  // There is not enough memory next to CPU 1.
  assert.deepEqual(resourcesOf(pod), { a: "2 on 1", b: "2 on 1" });

  const ids = () => cluster.runningOf(pod.metadata.uid).map(({ id }) => id);
  const before = ids();
  await cluster.stopAgent();
  await start(config, on);
  cluster.addPod("later", withMemory("1Mi"));
  await cluster.runs("later", withinMs);
  assert.equal((await cluster.runs("with", withinMs)).metadata.uid, pod.metadata.uid);
  assert.deepEqual(ids(), before, "the pod keeps what it has");
});

test("memory beyond the node is rejected by the memory manager, which counts it; pods of other classes by the node", async (t) => {
  const { cluster, start } = await startCluster(t);
  await start();
  const isRejected = (reason: string) => (pod: Pod) => assert.equal(pod.status?.reason, reason);
  cluster.addPod("burstable", {
    containers: [container({ resources: { requests: { memory: "1000Gi" } } })],
  });
  await cluster.waitForPod("burstable", isRejected("OutOfmemory"), withinMs);
  const counted = async () => {
    const text = await cluster.agent.metrics.registry.metrics();
    return text.match(/^kubelet_memory_manager_pinning_\w+ \d+$/gm)?.sort();
  };
  assert.deepEqual(await counted(), [
    "kubelet_memory_manager_pinning_errors_total 0",
    "kubelet_memory_manager_pinning_requests_total 0",
  ]);
  cluster.addPod("guaranteed", withMemory("1000Gi"));
  await cluster.waitForPod("guaranteed", isRejected("UnexpectedAdmissionError"), withinMs);
  assert.deepEqual(await counted(), [
    "kubelet_memory_manager_pinning_errors_total 1",
    "kubelet_memory_manager_pinning_requests_total 1",
  ]);
  cluster.addPod("many-cpus", withMemory("100Mi", "1000"));
  await cluster.waitForPod("many-cpus", isRejected("OutOfcpu"), withinMs);
  cluster.addPod("fits", withMemory("300Mi"));
  await cluster.runs("fits", withinMs);
});
