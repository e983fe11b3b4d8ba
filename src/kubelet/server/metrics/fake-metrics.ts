import { silentLogger } from "../../../lib/base/logger.ts";
import { createMetrics } from "../../../lib/base/metrics.ts";
import { wallTime } from "../../../lib/base/time.ts";
import type { CgroupUsage } from "../../../lib/host/cgroups/usage.ts";
import type { Summary } from "../../../lib/model/stats-summary.ts";
import type { CgroupRow } from "../../stats/cgroup-rows.ts";
import { healthSlis } from "../health-slis.ts";
import type { MetricsRoutesOptions } from "./routes.ts";

const space = {
  availableBytes: 700,
  capacityBytes: 1000,
  usedBytes: 300,
  inodes: 100,
  inodesFree: 60,
  inodesUsed: 40,
};

const line = { avg10: 0, avg60: 0, avg300: 0, total: 2_000_000 };

const usage: CgroupUsage = {
  cpu: {
    usageNs: 3e9,
    userNs: 2e9,
    systemNs: 1e9,
    periods: 1,
    throttledPeriods: 2,
    throttledNs: 3e9,
    burstPeriods: 4,
    burstNs: 5e9,
    shares: 512,
    periodUs: 100_000,
    quotaUs: 50_000,
  },
  memory: {
    usage: 10,
    maxUsage: 11,
    workingSet: 8,
    rss: 7,
    cache: 6,
    mappedFile: 5,
    activeFile: 4,
    inactiveFile: 2,
    kernel: 1,
    swap: 3,
    failures: 9,
    oomKills: 12,
    ownOomKills: 12,
    pageFaults: 13,
    majorPageFaults: 14,
    reservation: 0,
    limit: 100,
    swapLimit: 50,
  },
  pids: { current: 17, max: 0 },
  io: [{ device: "8:0", reads: 1, writes: 2, readBytes: 3, writeBytes: 4, bytes: { Read: 3, Write: 4 } }],
  pressure: {
    cpu: { some: line, full: line },
    memory: { some: line, full: line },
    io: { some: line, full: line },
  },
};

const network = [
  {
    name: "eth0",
    rxBytes: 1,
    rxPackets: 2,
    rxErrors: 3,
    rxDropped: 4,
    txBytes: 5,
    txPackets: 6,
    txErrors: 7,
    txDropped: 8,
  },
];

const row: CgroupRow = {
  id: "/kubepods/podu/c1",
  name: "c1",
  image: "image:1",
  namespace: "default",
  pod: "web",
  container: "c",
  time: wallTime(1_700_000_000_000),
  startedAt: wallTime(1_600_000_000_000),
  usage,
  tasks: { sleeping: 4, running: 1, stopped: 0, uninterruptible: 0, iowaiting: 0 },
  processes: 2,
  openFiles: 3,
  openSockets: 4,
  openFilesLimit: 2 ** 64,
  layer: { device: "/dev/vda", usedBytes: 12_288, inodesUsed: 6, space, time: wallTime(1_700_000_000_000) },
};

const noContainer = { name: "", image: "", namespace: "", pod: "", container: "" };

export const fakeRows: readonly CgroupRow[] = [
  { ...row, id: "/", ...noContainer, layer: undefined, startedAt: wallTime(0), network },
  row,
  { ...row, id: "/kubepods/podu/s1", name: "s1", container: "", network },
];

const time = "2026-01-02T03:04:05Z";
const fs = { time, ...space };
const use = {
  cpu: { time, usageNanoCores: 5e8, usageCoreNanoSeconds: 3.5e9 },
  memory: { time, workingSetBytes: 8_388_608 },
  swap: { time, swapUsageBytes: 10, swapAvailableBytes: 20 },
};

export const fakeSummary: Summary = {
  node: { nodeName: "n", startTime: time, ...use },
  pods: [
    {
      podRef: { name: "web", namespace: "default", uid: "u" },
      startTime: time,
      containers: [{ name: "c", startTime: time, ...use, logs: fs }],
      ...use,
      volume: [
        {
          ...fs,
          name: "data",
          pvcRef: { name: "claim", namespace: "default" },
          volumeHealthStats: { abnormal: true },
        },
      ],
    },
  ],
};

/** For tests: routes of an agent with one pod. */
export function fakeMetricsOptions(over: Partial<MetricsRoutesOptions> = {}): MetricsRoutesOptions {
  const probeMetrics = createMetrics();
  const labels = ["container", "namespace", "pod", "probe_type"] as const;
  const probe = { container: "c", namespace: "default", pod: "web", probe_type: "Readiness" };
  probeMetrics
    .counter({ name: "prober_probe_total", help: "probes", labels: [...labels, "pod_uid", "result"] })
    .inc({ ...probe, pod_uid: "u", result: "successful" });
  probeMetrics.histogram({ name: "prober_probe_duration_seconds", help: "time", labels }).observe(probe, 0.1);
  const slis = healthSlis();
  slis.observe("ping", true);
  return {
    logger: silentLogger,
    metrics: createMetrics(),
    probeMetrics,
    sliMetrics: slis.metrics,
    stats: {
      summary: async () => fakeSummary,
      cpuAndMemory: async () => ({ ...fakeSummary, pods: [] }),
      totals: async () => fakeSummary,
      storage: async () => fakeSummary,
      containers: async () => fakeRows,
    },
    disks: async () => ({
      disks: [
        {
          device: "/dev/vda",
          number: "254:0",
          space,
          counts: {
            path: "/dev/vda",
            reads: 1,
            readsMerged: 2,
            sectorsRead: 3,
            readMs: 4,
            writes: 5,
            writesMerged: 6,
            sectorsWritten: 7,
            writeMs: 8,
            inFlight: 9,
            ioMs: 10,
            weightedIoMs: 11,
          },
        },
      ],
      deviceName: (device) => (device === "8:0" ? "/dev/sda" : device),
    }),
    machine: {
      machineId: "m",
      systemUuid: "s",
      bootId: "b",
      kernelVersion: "6.1",
      osImage: "Linux",
      cpus: 2,
      physicalCores: 1,
      sockets: 1,
      memoryBytes: 1024,
      swapBytes: 0,
    },
    agent: {
      nodeName: "n",
      cgroupVersion: 1,
      build: { gitVersion: "v1.36.4", platform: "linux/amd64" },
      features: [{ name: "KubeletPSI", stage: "", enabled: true }],
    },
    process: async () => ({
      cpuSeconds: 1,
      residentBytes: 2,
      virtualBytes: 3,
      startedAt: wallTime(4000),
      openFiles: 5,
      maxFiles: 6,
      maxVirtualBytes: 2 ** 64,
      receivedBytes: 7,
      sentBytes: 8,
    }),
    now: () => wallTime(1_700_000_000_000),
    ...over,
  };
}
