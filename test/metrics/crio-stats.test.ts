import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";
import { cgroupNode } from "./cgroup-node.ts";

async function crioNode(t: TestContext, { podStatsFromRuntime = false } = {}) {
  const node = await cgroupNode(t, { crio: true, podStatsFromRuntime });
  /** The samples of /metrics/cadvisor of this pod, by family. */
  const cadvisor = async () => {
    const parsed = await node.cadvisor();
    return (name: string) => (parsed.get(name)?.samples ?? []).filter(({ labels }) => labels.pod === "web");
  };
  return { ...node, cadvisor };
}

describe("statistics of pods on CRI-O", () => {
  it("/metrics/cadvisor has the pod, its container and the sandbox without a process, and no monitor", async (t) => {
    const { cadvisor, slice, sandbox, container, networks, runtime } = await crioNode(t);
    const samples = await cadvisor();
    const uid = (runtime.callsOf("RunPodSandbox")[0]!.request as { config: { metadata: { uid: string } } })
      .config.metadata.uid;
    assert.deepEqual(
      samples("container_memory_usage_bytes").map(({ labels, value }) => [
        labels.id!.slice(slice.length),
        ...[labels.container, labels.name, value],
      ]),
      [
        ["", "", "", 30_000_000],
        [`/crio-${sandbox}.scope`, "POD", `k8s_POD_web_default_${uid}_0`, 0],
        [`/crio-${container}.scope`, "main", `k8s_main_web_default_${uid}_0`, 25_000_000],
      ].sort(),
    );
    for (const [name, value] of [
      ["container_fs_reads_total", 5],
      ["container_fs_writes_total", 6],
    ] as const)
      assert.equal(samples(name).find(({ labels }) => labels.container === "main")?.value, value);
    const [network, ...others] = samples("container_network_receive_bytes_total");
    assert.deepEqual([network?.labels.container, network?.value, others.length], ["POD", 7, 0]);
    assert.deepEqual(
      networks.filter((pid) => pid !== "self"),
      [process.pid],
    );
    assert.deepEqual(
      ["ListPodSandboxMetrics", "ListMetricDescriptors"].flatMap((method) => runtime.callsOf(method)),
      [],
    );
  });

  it("the summary has the values of cgroups, not those of CRI-O", async (t) => {
    const { stats } = await crioNode(t);
    const { pods, node } = await stats.summary();
    const [container] = pods[0]!.containers;
    assert.equal(container?.cpu?.usageCoreNanoSeconds, 8e9);
    const { pageFaults, majorPageFaults, usageBytes, availableBytes } = container!.memory!;
    assert.deepEqual(
      [pageFaults, majorPageFaults, usageBytes, availableBytes],
      [900, 7, 25_000_000, undefined],
    );
    assert.equal(container?.swap?.swapUsageBytes ?? 0, 0);
    assert.equal(container?.rootfs?.usedBytes, 8192);
    assert.deepEqual(
      [pods[0]?.network?.name, pods[0]?.network?.interfaces?.map(({ name }) => name)],
      ["eth0", ["eth0"]],
    );
    // cAdvisor counts 0, too: crun runs the processes in a child cgroup. The monitor is not a process of the container.
    assert.equal(pods[0]?.process_stats?.process_count, 0);
    assert.equal(node.runtime?.imageFs?.inodesUsed, 40, "those of the whole filesystem");
  });

  it("PodAndContainerStatsFromCRI: /metrics/cadvisor has the metrics of CRI-O", async (t) => {
    const { cadvisor, runtime, sandbox, container } = await crioNode(t, { podStatsFromRuntime: true });
    const samples = await cadvisor();
    const [cpu] = samples("container_cpu_usage_seconds_total");
    assert.deepEqual([cpu?.labels.id, cpu?.labels.container, cpu?.value], [container, "main", 3]);
    const [network] = samples("container_network_receive_bytes_total");
    assert.deepEqual([network?.labels.id, network?.labels.container, network?.value], [sandbox, "POD", 4000]);
    assert.deepEqual(samples("container_memory_usage_bytes"), []);
    assert.equal(runtime.callsOf("ListPodSandboxMetrics").length, 1);
  });

  it("PodAndContainerStatsFromCRI: the summary has the values of CRI-O, the default interface once", async (t) => {
    const { stats, networks } = await crioNode(t, { podStatsFromRuntime: true });
    const [pod] = (await stats.summary()).pods;
    assert.equal(pod?.containers[0]?.cpu?.usageCoreNanoSeconds, 3e9);
    assert.deepEqual(
      [pod?.network?.name, pod?.network?.interfaces?.map(({ name }) => name)],
      ["lo", ["eth0"]],
    );
    assert.equal(pod?.process_stats?.process_count, 2);
    assert.deepEqual(
      networks.filter((pid) => pid !== "self"),
      [],
    );
  });
});
