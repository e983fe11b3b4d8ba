import { epochMs } from "../../../lib/base/time.ts";
import type { CpuCount, MemoryCount } from "../../../lib/host/cgroups/usage.ts";
import type { InterfaceCount } from "../../../lib/host/network-usage.ts";
import type { CgroupRow } from "./cgroup-row.ts";
import type { Family, Labels, MetricType } from "./exposition.ts";

type Value = number | undefined;
interface Rule {
  readonly name: string;
  readonly help: string;
  readonly type: MetricType;
  /** False for values without a timestamp. */
  readonly timed: boolean;
  readonly values: (row: CgroupRow) => readonly (readonly [Labels, Value])[];
}

const seconds = (ns: number) => ns / 1e9;

function rule(type: MetricType, name: string, help: string, of: (row: CgroupRow) => Value): Rule {
  return { type, name: `container_${name}`, help, timed: true, values: (row) => [[{}, of(row)]] };
}

function cpu(name: string, help: string, of: (count: CpuCount) => Value): Rule {
  return rule("counter", `cpu_${name}`, help, ({ usage }) => usage.cpu && of(usage.cpu));
}

function memory(type: MetricType, name: string, help: string, of: (count: MemoryCount) => Value): Rule {
  return rule(type, `memory_${name}`, help, ({ usage }) => usage.memory && of(usage.memory));
}

function network(name: string, help: string, of: (count: InterfaceCount) => number): Rule {
  return {
    type: "counter",
    name: `container_network_${name}_total`,
    help,
    timed: true,
    values: (row) => (row.network ?? []).map((count) => [{ interface: count.name }, of(count)]),
  };
}

/** Limits, not usage. */
function spec(name: string, help: string, of: (row: CgroupRow) => Value): Rule {
  return { ...rule("gauge", name, help, of), timed: false };
}

/** Only containers with a limit are throttled. */
const limited = (of: (count: CpuCount) => number) => (count: CpuCount) =>
  count.quotaUs === undefined ? undefined : of(count);

const rules: readonly Rule[] = [
  rule("gauge", "last_seen", "When the container was last seen", ({ time }) =>
    Math.floor(epochMs(time) / 1000),
  ),
  {
    type: "counter",
    name: "container_cpu_usage_seconds_total",
    help: "CPU time taken",
    timed: true,
    values: ({ usage }) => [[{ cpu: "total" }, usage.cpu && seconds(usage.cpu.usageNs)]],
  },
  cpu("user_seconds_total", "CPU time taken by programs", ({ userNs }) => seconds(userNs)),
  cpu("system_seconds_total", "CPU time taken by the kernel for them", ({ systemNs }) => seconds(systemNs)),
  cpu(
    "cfs_periods_total",
    "Periods of the CPU limit",
    limited((c) => c.periods),
  ),
  cpu(
    "cfs_throttled_periods_total",
    "Periods in which the CPU limit was reached",
    limited((c) => c.throttledPeriods),
  ),
  cpu(
    "cfs_throttled_seconds_total",
    "Time held back by the CPU limit",
    limited((c) => seconds(c.throttledNs)),
  ),
  cpu(
    "cfs_burst_periods_total",
    "Periods with a burst above the CPU limit",
    limited((c) => c.burstPeriods),
  ),
  cpu(
    "cfs_burst_seconds_total",
    "CPU time taken above the limit in bursts",
    limited((c) => seconds(c.burstNs)),
  ),
  memory("gauge", "usage_bytes", "Memory in use, whenever it was last touched", (m) => m.usage),
  memory("gauge", "max_usage_bytes", "The most memory that was ever in use", (m) => m.maxUsage),
  memory("gauge", "working_set_bytes", "Working set", (m) => m.workingSet),
  memory("gauge", "rss", "Memory of programs", (m) => m.rss),
  memory("gauge", "cache", "Memory of files", (m) => m.cache),
  memory("gauge", "mapped_file", "Memory of files that programs have mapped", (m) => m.mappedFile),
  memory("gauge", "total_active_file_bytes", "Memory of files, in use", (m) => m.activeFile),
  memory(
    "gauge",
    "total_inactive_file_bytes",
    "Memory of files, not touched for a while",
    (m) => m.inactiveFile,
  ),
  memory("gauge", "kernel_usage", "Memory of the kernel for it", (m) => m.kernel),
  memory("gauge", "swap", "Swap in use", (m) => m.swap),
  memory("counter", "failcnt", "How often the memory limit was hit", (m) => m.failures),
  {
    type: "counter",
    name: "container_memory_failures_total",
    help: "Page faults",
    timed: true,
    values: ({ usage: { memory: m } }) => [
      [{ failure_type: "pgfault", scope: "container" }, m?.ownPageFaults],
      [{ failure_type: "pgmajfault", scope: "container" }, m?.ownMajorPageFaults],
      [{ failure_type: "pgfault", scope: "hierarchy" }, m?.pageFaults],
      [{ failure_type: "pgmajfault", scope: "hierarchy" }, m?.majorPageFaults],
    ],
  },
  {
    ...memory("counter", "", "Processes ended for want of memory", (m) => m.oomKills),
    name: "container_oom_events_total",
  },
  network("receive_bytes", "Bytes received", (i) => i.rxBytes),
  network("receive_packets", "Packets received", (i) => i.rxPackets),
  network("receive_packets_dropped", "Packets dropped while receiving", (i) => i.rxDropped),
  network("receive_errors", "Errors while receiving", (i) => i.rxErrors),
  network("transmit_bytes", "Bytes sent", (i) => i.txBytes),
  network("transmit_packets", "Packets sent", (i) => i.txPackets),
  network("transmit_packets_dropped", "Packets dropped while sending", (i) => i.txDropped),
  network("transmit_errors", "Errors while sending", (i) => i.txErrors),
  rule("gauge", "processes", "Processes", ({ processes }) => processes),
  rule("gauge", "file_descriptors", "Open files", ({ openFiles }) => openFiles),
  rule("gauge", "sockets", "Open sockets", ({ openSockets }) => openSockets),
  {
    type: "gauge",
    name: "container_tasks_state",
    help: "Number of tasks in given state",
    timed: true,
    values: ({ tasks }) => Object.entries(tasks ?? {}).map(([state, count]) => [{ state }, count]),
  },
  rule("gauge", "threads", "Tasks", ({ usage }) => usage.pids?.current),
  rule("gauge", "threads_max", "Tasks that there may be; 0: no limit", ({ usage }) => usage.pids?.max),
  {
    type: "gauge",
    name: "container_ulimits_soft",
    help: "Limits of the first process; -1: none",
    timed: true,
    values: ({ openFilesLimit: limit }) => [
      [{ ulimit: "max_open_files" }, limit !== undefined && limit >= 2 ** 63 ? -1 : limit],
    ],
  },
  spec("start_time_seconds", "When it was started", ({ startedAt }) => Math.floor(epochMs(startedAt) / 1000)),
  spec("spec_cpu_period", "Period of the CPU limit, in microseconds", ({ usage }) => usage.cpu?.periodUs),
  spec("spec_cpu_quota", "CPU limit, in microseconds of each period", ({ usage }) => usage.cpu?.quotaUs),
  spec("spec_cpu_shares", "CPU shares", ({ usage }) => usage.cpu?.shares),
  spec("spec_memory_limit_bytes", "Memory limit; 0: none", ({ usage: { memory: m } }) => m && (m.limit ?? 0)),
  spec(
    "spec_memory_swap_limit_bytes",
    "Swap limit; 0: none",
    ({ usage: { memory: m } }) => m && (m.swapLimit ?? 0),
  ),
  spec(
    "spec_memory_reservation_limit_bytes",
    "Memory that is kept for it; 0: none",
    ({ usage }) => usage.memory?.reservation,
  ),
  ...pressureRules(),
];

function pressureRules(): Rule[] {
  return (["cpu", "memory", "io"] as const).flatMap((resource) =>
    (["waiting", "stalled"] as const).map((word) =>
      rule(
        "counter",
        `pressure_${resource}_${word}_seconds_total`,
        `Time in which ${word === "waiting" ? "some tasks" : "all tasks"} waited for ${resource}`,
        ({ usage }) => {
          const pressure = usage.pressure[resource];
          return pressure && (word === "waiting" ? pressure.some : pressure.full).total / 1e6;
        },
      ),
    ),
  );
}

export function labelsOf({ id, name, image, namespace, pod, container }: CgroupRow): Labels {
  return { id, name, image, namespace, pod, container };
}

/** The cAdvisor metrics of cgroups. Undefined rows: they could not be read. */
export function containerFamilies(rows: readonly CgroupRow[] | undefined): Family[] {
  const families = rules.map(({ name, help, type, timed, values }) => ({
    name,
    help,
    type,
    samples: (rows ?? []).flatMap((row) =>
      values(row).flatMap(([more, value]) =>
        value === undefined
          ? []
          : [{ labels: { ...labelsOf(row), ...more }, value, ...(timed && { time: row.time }) }],
      ),
    ),
  }));
  const failed = rows === undefined ? 1 : 0;
  const help = "1 if there was an error while getting container metrics, 0 otherwise";
  return [
    ...families,
    { name: "container_scrape_error", help, type: "gauge", samples: [{ labels: {}, value: failed }] },
  ];
}
