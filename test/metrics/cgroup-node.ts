import { randomUUID } from "node:crypto";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import type { IncomingMessage, ServerResponse } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestContext } from "node:test";
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

const pressure =
  "some avg10=1.00 avg60=0.00 avg300=0.00 total=123\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=45\n";

const files = (memory: number, pids: readonly number[], cpuMax = "max 100000\n") => ({
  "cpu.pressure": pressure,
  "memory.pressure": pressure,
  "io.pressure": pressure,
  "cpu.weight": "20\n",
  "cpu.max": cpuMax,
  "memory.min": "0\n",
  "memory.peak": "99000000\n",
  "memory.events": "low 0\nhigh 0\nmax 0\noom 0\noom_kill 0\n",
  "cpu.stat": "usage_usec 8000000\nuser_usec 5000000\nsystem_usec 3000000\n",
  "memory.current": `${memory}\n`,
  "memory.stat": "anon 4000000\nfile 3000000\ninactive_file 1000000\npgfault 900\npgmajfault 7\n",
  "memory.max": "max\n",
  "memory.swap.current": "0\n",
  "memory.swap.max": "max\n",
  "io.stat": "8:0 rbytes=4096 wbytes=8192 rios=5 wios=6 dbytes=0 dios=0\n",
  "pids.max": "max\n",
  "pids.current": `${pids.length}\n`,
  "cgroup.procs": pids.map((pid) => `${pid}\n`).join(""),
  "cgroup.events": "populated 1\nfrozen 0\n",
});

/** A pod on a fake runtime, with the cgroups that systemd and the runtime create for it on cgroup v2. */
export async function cgroupNode(t: TestContext, { crio = false, podStatsFromRuntime = false } = {}) {
  const dir = await mkdtemp(join(tmpdir(), "cgroup-node-"));
  const socketPath = join(dir, "cri.sock");
  const runtime = await startFakeRuntime({ socketPath, crio });
  const client = createCriClient({
    runtimeEndpoint: runtime.endpoint,
    requestTimeoutMs: 10_000,
    logger: silentLogger,
    clock: systemClock,
    metrics: createMetrics(),
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
    metadata: { name: "main", attempt: 0 },
    image: { image: fakeImages.busybox },
    labels: { "io.kubernetes.container.name": "main", "io.kubernetes.pod.uid": uid },
  };
  const container = await client.createContainer(sandbox, main, config);
  await client.startContainer(container);

  const parent = "/kubepods.slice/kubepods-besteffort.slice";
  const slice = `${parent}/kubepods-besteffort-pod${uid.replaceAll("-", "_")}.slice`;
  const limited = "50000 100000\n";
  const prefix = crio ? "crio" : "cri-containerd";
  const ofSandbox = `${slice}/${prefix}-${sandbox}.scope`;
  const ofContainer = `${slice}/${prefix}-${container}.scope`;
  // CRI-O runs no process in a sandbox, monitors containers in the pod, and crun has a cgroup of its own.
  const ofRuntime = crio
    ? {
        [ofSandbox]: files(0, []),
        [ofContainer]: files(25_000_000, []),
        [`${ofContainer}/container`]: files(25_000_000, [process.pid]),
        [`${slice}/crio-conmon-${container}.scope`]: files(2_000_000, [20]),
      }
    : {
        [ofSandbox]: files(400_000, [process.pid]),
        [ofContainer]: files(25_000_000, [process.pid], limited),
      };
  const cgroups = {
    "/": files(90_000_000, []),
    "/kubepods.slice": files(50_000_000, []),
    [parent]: files(50_000_000, []),
    [slice]: files(30_000_000, [], limited),
    ...ofRuntime,
  };
  for (const [path, content] of Object.entries(cgroups)) {
    await mkdir(join(dir, "cgroup", path), { recursive: true });
    for (const [name, text] of Object.entries(content))
      await writeFile(join(dir, "cgroup", path, name), text);
  }
  const [{ status: sandboxStatus }, { status: containerStatus }] = await Promise.all([
    client.podSandboxStatus(sandbox),
    client.containerStatus(container),
  ]);
  const pod: ObservedPod = {
    uid: uid as PodUid,
    name: "web",
    namespace: "default",
    sandboxes: [observedSandbox(sandboxStatus!)],
    containers: [observedContainer(sandbox, containerStatus!)],
  };
  const networks: (number | "self")[] = [];
  const eth0 = {
    name: "eth0",
    rxBytes: 7,
    rxPackets: 1,
    rxErrors: 0,
    rxDropped: 0,
    txBytes: 9,
    txPackets: 1,
    txErrors: 0,
    txDropped: 0,
  };
  const space = { availableBytes: 700, capacityBytes: 1000, usedBytes: 300 };
  const stats = new Stats({
    nodeName: "n",
    clock: systemClock,
    logger: silentLogger,
    runtime: client,
    cgroups: cgroupUsageReader({ version: 2, root: join(dir, "cgroup") } as never),
    observed: { all: () => [pod] },
    pod: () => undefined,
    cgroupOf: () => slice,
    podsCgroup: "/kubepods.slice",
    systemCgroups: async () => ({}),
    rootDir: dir,
    podLogsDir: dir,
    machine: { memoryBytes: 1e9, swapBytes: 0 },
    bootedAt: wallTime(1000),
    startedAt: wallTime(2000),
    psi: true,
    isCrio: crio,
    podStatsFromRuntime,
    maxAgeMs: 0,
    secondSampleMs: 0,
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
  /** /metrics/cadvisor. */
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
        params: {},
        query: new URLSearchParams(),
        signal: new AbortController().signal,
        caller: { name: "u", groups: [] },
      });
    return parsePrometheus(text);
  };
  return { runtime, stats, cadvisor, sandbox, container, slice, networks };
}
