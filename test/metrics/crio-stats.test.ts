import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import type { IncomingMessage, ServerResponse } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import { observedContainer, observedSandbox } from "../../src/kubelet/pipeline/pleg/observe.ts";
import { fakeMetricsOptions } from "../../src/kubelet/server/metrics/fake-metrics.ts";
import { metricsRoutes } from "../../src/kubelet/server/metrics/routes.ts";
import type { ObservedPod } from "../../src/kubelet/state/observed-pods.ts";
import { Stats } from "../../src/kubelet/stats/stats.ts";
import { systemClock } from "../../src/lib/base/clock.ts";
import { silentLogger } from "../../src/lib/base/logger.ts";
import { createMetrics } from "../../src/lib/base/metrics.ts";
import { wallTime } from "../../src/lib/base/time.ts";
import { createCriClient } from "../../src/lib/clients/cri/client.ts";
import { cgroupUsageReader } from "../../src/lib/host/cgroups/usage-reader.ts";
import type { PodUid } from "../../src/lib/model/pod.ts";
import { fakeImages, startFakeRuntime } from "../fake-runtime/fake-runtime.ts";
import { parsePrometheus } from "./prometheus-text.ts";

const files = (memory: number, pids: readonly number[]) => ({
  "cpu.stat": "usage_usec 8000000\nuser_usec 5000000\nsystem_usec 3000000\n",
  "memory.current": `${memory}\n`,
  "memory.stat": "anon 4000000\nfile 3000000\ninactive_file 1000000\npgfault 900\npgmajfault 7\n",
  "memory.max": "max\n",
  "memory.swap.current": "0\n",
  "memory.swap.max": "max\n",
  "io.stat": "8:0 rbytes=4096 wbytes=8192 rios=5 wios=6 dbytes=0 dios=0\n",
  "pids.current": `${pids.length}\n`,
  "cgroup.procs": pids.map((pid) => `${pid}\n`).join(""),
  "cgroup.events": "populated 1\nfrozen 0\n",
});

/** A pod on the fake CRI-O, with the cgroups that systemd, conmon and CRI-O create for it on cgroup v2. */
async function crioNode(t: TestContext, { podStatsFromRuntime = false } = {}) {
  const dir = await mkdtemp(join(tmpdir(), "crio-stats-"));
  const socketPath = join(dir, "crio.sock");
  const runtime = await startFakeRuntime({ socketPath, crio: true });
  const client = createCriClient({
    ...{ runtimeEndpoint: runtime.endpoint, requestTimeoutMs: 10_000 },
    ...{ logger: silentLogger, clock: systemClock, metrics: createMetrics() },
  });
  t.after(async () => {
    client.close();
    await runtime.close();
    await rm(dir, { recursive: true });
  });
  const uid = randomUUID();
  const config = {
    metadata: { name: "web", namespace: "default", uid, attempt: 0 },
    labels: { "io.kubernetes.pod.uid": uid },
  };
  const sandbox = await client.runPodSandbox(config, "");
  const main = {
    ...{ metadata: { name: "main", attempt: 0 }, image: { image: fakeImages.busybox } },
    labels: { "io.kubernetes.container.name": "main", "io.kubernetes.pod.uid": uid },
  };
  const container = await client.createContainer(sandbox, main, config);
  await client.startContainer(container);

  const parent = "/kubepods.slice/kubepods-besteffort.slice";
  const slice = `${parent}/kubepods-besteffort-pod${uid.replaceAll("-", "_")}.slice`;
  const cgroups = {
    "/": files(90_000_000, []),
    "/kubepods.slice": files(50_000_000, []),
    [parent]: files(50_000_000, []),
    [slice]: files(30_000_000, []),
    [`${slice}/crio-${sandbox}.scope`]: files(0, []),
    [`${slice}/crio-conmon-${container}.scope`]: files(2_000_000, [20]),
    [`${slice}/crio-${container}.scope`]: files(25_000_000, []),
    [`${slice}/crio-${container}.scope/container`]: files(25_000_000, [process.pid]),
  };
  for (const [path, content] of Object.entries(cgroups)) {
    await mkdir(join(dir, "cgroup", path), { recursive: true });
    for (const [name, text] of Object.entries(content))
      await writeFile(join(dir, "cgroup", path, name), text);
  }
  const [{ status: ofSandbox }, { status: ofContainer }] = await Promise.all([
    client.podSandboxStatus(sandbox),
    client.containerStatus(container),
  ]);
  const pod: ObservedPod = {
    ...{ uid: uid as PodUid, name: "web", namespace: "default" },
    sandboxes: [observedSandbox(ofSandbox!)],
    containers: [observedContainer(sandbox, ofContainer!)],
  };
  const networks: (number | "self")[] = [];
  const eth0 = {
    ...{ name: "eth0", rxBytes: 7, rxPackets: 1, rxErrors: 0, rxDropped: 0 },
    ...{ txBytes: 9, txPackets: 1, txErrors: 0, txDropped: 0 },
  };
  const space = { availableBytes: 700, capacityBytes: 1000, usedBytes: 300 };
  const stats = new Stats({
    ...{ nodeName: "n", clock: systemClock, logger: silentLogger, runtime: client },
    cgroups: cgroupUsageReader({ version: 2, root: join(dir, "cgroup") } as never),
    observed: { all: () => [pod] },
    pod: () => undefined,
    cgroupOf: () => slice,
    podsCgroup: "/kubepods.slice",
    systemCgroups: async () => ({}),
    ...{ rootDir: dir, podLogsDir: dir, machine: { memoryBytes: 1e9, swapBytes: 0 } },
    ...{ bootedAt: wallTime(1000), startedAt: wallTime(2000), psi: true, isCrio: true },
    ...{ podStatsFromRuntime, maxAgeMs: 0, secondSampleMs: 0 },
    host: {
      network: async (pid) => {
        networks.push(pid);
        return [eth0];
      },
      space: async () => ({ ...space, inodes: 100, inodesFree: 60, inodesUsed: 40 }),
      tasks: async () => ({ running: 1, max: 100 }),
      device: async () => "8:0",
    },
  });
  const routes = metricsRoutes(
    fakeMetricsOptions({ stats, ...(podStatsFromRuntime && { runtime: client }) }),
  );
  /** The samples of /metrics/cadvisor of this pod, by family. */
  const cadvisor = async () => {
    let text = "";
    const response = {
      setHeader: () => {},
      writeHead: () => {},
      end: (body: string | Buffer) => {
        text = body.toString();
      },
    };
    await routes
      .find(({ path }) => path === "/metrics/cadvisor")!
      .handle({
        request: { headers: {}, method: "GET" } as IncomingMessage,
        response: response as unknown as ServerResponse,
        ...{ params: {}, query: new URLSearchParams(), signal: new AbortController().signal },
        caller: { name: "u", groups: [] },
      });
    const parsed = parsePrometheus(text);
    return (name: string) => (parsed.get(name)?.samples ?? []).filter(({ labels }) => labels.pod === "web");
  };
  return { runtime, stats, cadvisor, sandbox, container, slice, networks };
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
    // As cAdvisor counts: crun runs them in a child cgroup. The monitor is no container.
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
