import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { type ParsedFamily, parsePrometheus } from "../../../../test/metrics/prometheus-text.ts";
import { epochMs, type WallTime, wallTime } from "../../../lib/base/time.ts";
import type { Exchange } from "../route.ts";
import { fakeMetricsOptions, fakeRows, fakeSummary } from "./fake-metrics.ts";
import { type MetricsRoutesOptions, metricsRoutes } from "./routes.ts";

/** The data of all pages, as plain objects. */
async function measuredData() {
  const options = fakeMetricsOptions();
  const [root, container, sandbox] = fakeRows;
  return {
    root: root!,
    row: { ...container!, network: sandbox!.network, openFilesLimit: 1000 },
    disk: (await options.disks()).disks[0]!,
    machine: { ...options.machine },
    process: await options.process(),
    summary: fakeSummary,
    agent: options.agent,
  };
}
type Tree = Record<string, unknown>;
type Data = Awaited<ReturnType<typeof measuredData>>;

function optionsOf({ root, row, disk, machine, process, summary, agent }: Data): MetricsRoutesOptions {
  const options = fakeMetricsOptions();
  return {
    ...options,
    machine,
    agent,
    process: async () => process,
    disks: async () => ({ disks: [disk], deviceName: (device) => device }),
    stats: { ...options.stats, totals: async () => summary, containers: async () => [root, row] },
  };
}

async function page(path: string, data: Data): Promise<Map<string, ParsedFamily>> {
  const route = metricsRoutes(optionsOf(data)).find((each) => each.path === path)!;
  let text = "";
  const response = { writeHead: () => response, end: (body: Buffer) => (text = body.toString()) };
  const exchange = { request: { headers: {} }, response, query: new URLSearchParams() };
  await route.handle(exchange as unknown as Exchange);
  return parsePrometheus(text);
}

/** The data with the value at the path ("row.usage.cpu.usageNs") changed. */
function changed(data: Data, path: string, by: number | boolean): Data {
  // Not a structured clone: the data shares objects, of which only one changes.
  const copy = JSON.parse(JSON.stringify(data)) as Data;
  const names = path.split(".");
  const last = names.pop()!;
  const parent = names.reduce<Tree>((at, name) => at[name] as Tree, copy as unknown as Tree);
  const old = parent[last];
  if (typeof by === "boolean") parent[last] = by;
  else if (typeof old === "string") parent[last] = new Date(Date.parse(old) + by).toISOString();
  else if (/time$|startedAt$/.test(path)) parent[last] = wallTime(epochMs(old as WallTime) + by);
  else parent[last] = (old as number) + by;
  return copy;
}

const sums = (families: Map<string, ParsedFamily>) =>
  new Map([...families].map(([name, { samples }]) => [name, samples.reduce((sum, s) => sum + s.value, 0)]));

type Row = [
  metric: string,
  path: string,
  by: number | boolean,
  change?: number,
  also?: Record<string, number>,
];

/** A change of one value changes one metric, by this much, and hardly any other. */
function table(pagePath: string, rows: readonly Row[]): void {
  for (const [metric, path, by, change = Number(by), also = {}] of rows)
    it(`${metric} follows ${path}`, async () => {
      const data = await measuredData();
      const before = sums(await page(pagePath, data));
      const after = sums(await page(pagePath, changed(data, path, by)));
      const found = [...after].flatMap(([name, value]) => {
        const difference = value - (before.get(name) ?? 0);
        return Math.abs(difference) > 1e-9 ? [[name, Number(difference.toFixed(6))]] : [];
      });
      assert.deepEqual(Object.fromEntries(found), { [metric]: change, ...also });
    });
}

// parity: metric /metrics/cadvisor container_cpu_usage_seconds_total
// parity: metric /metrics/cadvisor container_cpu_user_seconds_total
// parity: metric /metrics/cadvisor container_cpu_system_seconds_total
// parity: metric /metrics/cadvisor container_cpu_cfs_periods_total
// parity: metric /metrics/cadvisor container_cpu_cfs_throttled_periods_total
// parity: metric /metrics/cadvisor container_cpu_cfs_throttled_seconds_total
// parity: metric /metrics/cadvisor container_cpu_cfs_burst_periods_total
// parity: metric /metrics/cadvisor container_cpu_cfs_burst_seconds_total
// parity: metric /metrics/cadvisor container_spec_cpu_shares, metric /metrics/cadvisor container_spec_cpu_period
// parity: metric /metrics/cadvisor container_spec_cpu_quota
describe("the CPU of a container", () => {
  table("/metrics/cadvisor", [
    ["container_cpu_usage_seconds_total", "row.usage.cpu.usageNs", 5e9, 5],
    ["container_cpu_user_seconds_total", "row.usage.cpu.userNs", 5e9, 5],
    ["container_cpu_system_seconds_total", "row.usage.cpu.systemNs", 5e9, 5],
    ["container_cpu_cfs_periods_total", "row.usage.cpu.periods", 3],
    ["container_cpu_cfs_throttled_periods_total", "row.usage.cpu.throttledPeriods", 3],
    ["container_cpu_cfs_throttled_seconds_total", "row.usage.cpu.throttledNs", 5e8, 0.5],
    ["container_cpu_cfs_burst_periods_total", "row.usage.cpu.burstPeriods", 3],
    ["container_cpu_cfs_burst_seconds_total", "row.usage.cpu.burstNs", 5e8, 0.5],
    ["container_spec_cpu_shares", "row.usage.cpu.shares", 512],
    ["container_spec_cpu_period", "row.usage.cpu.periodUs", 50_000],
    ["container_spec_cpu_quota", "row.usage.cpu.quotaUs", 50_000],
  ]);
});

// parity: metric /metrics/cadvisor container_memory_usage_bytes
// parity: metric /metrics/cadvisor container_memory_max_usage_bytes
// parity: metric /metrics/cadvisor container_memory_working_set_bytes, metric /metrics/cadvisor container_memory_rss
// parity: metric /metrics/cadvisor container_memory_cache, metric /metrics/cadvisor container_memory_mapped_file
// parity: metric /metrics/cadvisor container_memory_total_active_file_bytes
// parity: metric /metrics/cadvisor container_memory_total_inactive_file_bytes
// parity: metric /metrics/cadvisor container_memory_kernel_usage, metric /metrics/cadvisor container_memory_swap
// parity: metric /metrics/cadvisor container_memory_failcnt
// parity: metric /metrics/cadvisor container_memory_failures_total
// parity: metric /metrics/cadvisor container_oom_events_total
// parity: metric /metrics/cadvisor container_spec_memory_limit_bytes
// parity: metric /metrics/cadvisor container_spec_memory_swap_limit_bytes
// parity: metric /metrics/cadvisor container_spec_memory_reservation_limit_bytes
describe("the memory of a container", () => {
  table("/metrics/cadvisor", [
    ["container_memory_usage_bytes", "row.usage.memory.usage", 4096],
    ["container_memory_max_usage_bytes", "row.usage.memory.maxUsage", 4096],
    ["container_memory_working_set_bytes", "row.usage.memory.workingSet", 4096],
    ["container_memory_rss", "row.usage.memory.rss", 4096],
    ["container_memory_cache", "row.usage.memory.cache", 4096],
    ["container_memory_mapped_file", "row.usage.memory.mappedFile", 4096],
    ["container_memory_total_active_file_bytes", "row.usage.memory.activeFile", 4096],
    ["container_memory_total_inactive_file_bytes", "row.usage.memory.inactiveFile", 4096],
    ["container_memory_kernel_usage", "row.usage.memory.kernel", 4096],
    ["container_memory_swap", "row.usage.memory.swap", 4096],
    ["container_memory_failcnt", "row.usage.memory.failures", 2],
    ["container_memory_failures_total", "row.usage.memory.pageFaults", 2, 4],
    ["container_memory_failures_total", "row.usage.memory.majorPageFaults", 2, 4],
    ["container_oom_events_total", "row.usage.memory.oomKills", 1],
    ["container_spec_memory_limit_bytes", "row.usage.memory.limit", 4096],
    ["container_spec_memory_swap_limit_bytes", "row.usage.memory.swapLimit", 4096],
    ["container_spec_memory_reservation_limit_bytes", "row.usage.memory.reservation", 4096],
  ]);
});

// parity: metric /metrics/cadvisor container_network_receive_bytes_total
// parity: metric /metrics/cadvisor container_network_receive_packets_total
// parity: metric /metrics/cadvisor container_network_receive_errors_total
// parity: metric /metrics/cadvisor container_network_receive_packets_dropped_total
// parity: metric /metrics/cadvisor container_network_transmit_bytes_total
// parity: metric /metrics/cadvisor container_network_transmit_packets_total
// parity: metric /metrics/cadvisor container_network_transmit_errors_total
// parity: metric /metrics/cadvisor container_network_transmit_packets_dropped_total
describe("the network of a pod", () => {
  table("/metrics/cadvisor", [
    ["container_network_receive_bytes_total", "row.network.0.rxBytes", 2],
    ["container_network_receive_packets_total", "row.network.0.rxPackets", 2],
    ["container_network_receive_errors_total", "row.network.0.rxErrors", 2],
    ["container_network_receive_packets_dropped_total", "row.network.0.rxDropped", 2],
    ["container_network_transmit_bytes_total", "row.network.0.txBytes", 2],
    ["container_network_transmit_packets_total", "row.network.0.txPackets", 2],
    ["container_network_transmit_errors_total", "row.network.0.txErrors", 2],
    ["container_network_transmit_packets_dropped_total", "row.network.0.txDropped", 2],
  ]);
});

// parity: metric /metrics/cadvisor container_fs_usage_bytes, metric /metrics/cadvisor container_fs_limit_bytes
// parity: metric /metrics/cadvisor container_fs_inodes_total, metric /metrics/cadvisor container_fs_inodes_free
// parity: metric /metrics/cadvisor container_fs_reads_total
// parity: metric /metrics/cadvisor container_fs_reads_merged_total
// parity: metric /metrics/cadvisor container_fs_sector_reads_total
// parity: metric /metrics/cadvisor container_fs_read_seconds_total
// parity: metric /metrics/cadvisor container_fs_writes_total
// parity: metric /metrics/cadvisor container_fs_writes_merged_total
// parity: metric /metrics/cadvisor container_fs_sector_writes_total
// parity: metric /metrics/cadvisor container_fs_write_seconds_total
// parity: metric /metrics/cadvisor container_fs_io_current
// parity: metric /metrics/cadvisor container_fs_io_time_seconds_total
// parity: metric /metrics/cadvisor container_fs_io_time_weighted_seconds_total
describe("disks", () => {
  table("/metrics/cadvisor", [
    ["container_fs_usage_bytes", "disk.space.usedBytes", 2],
    ["container_fs_limit_bytes", "disk.space.capacityBytes", 2],
    ["container_fs_inodes_total", "disk.space.inodes", 2],
    ["container_fs_inodes_free", "disk.space.inodesFree", 2],
    ["container_fs_usage_bytes", "row.layer.usedBytes", 2],
    ["container_fs_reads_total", "disk.counts.reads", 2],
    ["container_fs_reads_merged_total", "disk.counts.readsMerged", 2],
    ["container_fs_sector_reads_total", "disk.counts.sectorsRead", 2],
    ["container_fs_read_seconds_total", "disk.counts.readMs", 2000, 2],
    ["container_fs_writes_total", "disk.counts.writes", 2],
    ["container_fs_writes_merged_total", "disk.counts.writesMerged", 2],
    ["container_fs_sector_writes_total", "disk.counts.sectorsWritten", 2],
    ["container_fs_write_seconds_total", "disk.counts.writeMs", 2000, 2],
    ["container_fs_io_current", "disk.counts.inFlight", 2],
    ["container_fs_io_time_seconds_total", "disk.counts.ioMs", 2000, 2],
    ["container_fs_io_time_weighted_seconds_total", "disk.counts.weightedIoMs", 2000, 2],
  ]);
});

// parity: metric /metrics/cadvisor machine_cpu_cores, metric /metrics/cadvisor machine_cpu_physical_cores
// parity: metric /metrics/cadvisor machine_cpu_sockets, metric /metrics/cadvisor machine_memory_bytes
// parity: metric /metrics/cadvisor machine_swap_bytes
describe("the machine", () => {
  table("/metrics/cadvisor", [
    ["machine_cpu_cores", "machine.cpus", 2],
    ["machine_cpu_physical_cores", "machine.physicalCores", 2],
    ["machine_cpu_sockets", "machine.sockets", 2],
    ["machine_memory_bytes", "machine.memoryBytes", 2],
    ["machine_swap_bytes", "machine.swapBytes", 2],
  ]);
});

// parity: metric /metrics/cadvisor container_threads, metric /metrics/cadvisor container_threads_max
// parity: metric /metrics/cadvisor container_processes, metric /metrics/cadvisor container_file_descriptors
// parity: metric /metrics/cadvisor container_sockets, metric /metrics/cadvisor container_ulimits_soft
// parity: metric /metrics/cadvisor container_tasks_state, metric /metrics/cadvisor container_start_time_seconds
// parity: metric /metrics/cadvisor container_last_seen
describe("a container", () => {
  table("/metrics/cadvisor", [
    ["container_threads", "row.usage.pids.current", 2],
    ["container_threads_max", "row.usage.pids.max", 2],
    ["container_processes", "row.processes", 2],
    ["container_file_descriptors", "row.openFiles", 2],
    ["container_sockets", "row.openSockets", 2],
    ["container_ulimits_soft", "row.openFilesLimit", 24],
    ["container_tasks_state", "row.tasks.running", 2],
    ["container_start_time_seconds", "row.startedAt", 2000, 2],
    ["container_last_seen", "row.time", 2000, 2],
  ]);
});

// parity: metric /metrics/resource node_cpu_usage_seconds_total
// parity: metric /metrics/resource node_memory_working_set_bytes, metric /metrics/resource node_swap_usage_bytes
// parity: metric /metrics/resource pod_cpu_usage_seconds_total
// parity: metric /metrics/resource pod_memory_working_set_bytes, metric /metrics/resource pod_swap_usage_bytes
// parity: metric /metrics/resource container_cpu_usage_seconds_total
// parity: metric /metrics/resource container_memory_working_set_bytes
// parity: metric /metrics/resource container_swap_usage_bytes, metric /metrics/resource container_swap_limit_bytes
// parity: metric /metrics/resource container_start_time_seconds
describe("the usage of the node, its pods and their containers", () => {
  table("/metrics/resource", [
    ["node_cpu_usage_seconds_total", "summary.node.cpu.usageCoreNanoSeconds", 5e9, 5],
    ["node_memory_working_set_bytes", "summary.node.memory.workingSetBytes", 4096],
    ["node_swap_usage_bytes", "summary.node.swap.swapUsageBytes", 4096],
    ["pod_cpu_usage_seconds_total", "summary.pods.0.cpu.usageCoreNanoSeconds", 5e9, 5],
    ["pod_memory_working_set_bytes", "summary.pods.0.memory.workingSetBytes", 4096],
    ["pod_swap_usage_bytes", "summary.pods.0.swap.swapUsageBytes", 4096],
    ["container_cpu_usage_seconds_total", "summary.pods.0.containers.0.cpu.usageCoreNanoSeconds", 5e9, 5],
    ["container_memory_working_set_bytes", "summary.pods.0.containers.0.memory.workingSetBytes", 4096],
    [
      "container_swap_usage_bytes",
      "summary.pods.0.containers.0.swap.swapUsageBytes",
      4096,
      4096,
      { container_swap_limit_bytes: 4096 },
    ],
    ["container_swap_limit_bytes", "summary.pods.0.containers.0.swap.swapAvailableBytes", 4096],
    ["container_start_time_seconds", "summary.pods.0.containers.0.startTime", 2000, 2],
  ]);
});

// parity: metric /metrics process_cpu_seconds_total, metric /metrics process_max_fds
// parity: metric /metrics process_open_fds, metric /metrics process_resident_memory_bytes
// parity: metric /metrics process_virtual_memory_bytes, metric /metrics process_virtual_memory_max_bytes
// parity: metric /metrics process_network_receive_bytes_total, metric /metrics process_network_transmit_bytes_total
// parity: metric /metrics process_start_time_seconds, metric /metrics kubelet_cgroup_version
// parity: metric /metrics kubernetes_feature_enabled
describe("the process, and settings of the agent", () => {
  table("/metrics", [
    ["process_cpu_seconds_total", "process.cpuSeconds", 2],
    ["process_max_fds", "process.maxFiles", 2],
    ["process_open_fds", "process.openFiles", 2],
    ["process_resident_memory_bytes", "process.residentBytes", 4096],
    ["process_virtual_memory_bytes", "process.virtualBytes", 4096],
    ["process_virtual_memory_max_bytes", "process.maxVirtualBytes", 2 ** 32],
    ["process_network_receive_bytes_total", "process.receivedBytes", 2],
    ["process_network_transmit_bytes_total", "process.sentBytes", 2],
    ["process_start_time_seconds", "process.startedAt", 2000, 2],
    ["kubelet_cgroup_version", "agent.cgroupVersion", 1],
    ["kubernetes_feature_enabled", "agent.features.0.enabled", false, -1],
  ]);
});
