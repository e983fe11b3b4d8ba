import { epochMs } from "../../../lib/base/time.ts";
import type { CpuCounters, MemoryCounters } from "../../../lib/host/cgroups/usage.ts";
import type { InterfaceCounters } from "../../../lib/host/network-usage.ts";
import type { CgroupRow } from "../../stats/cgroup-rows.ts";
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

function cpu(name: string, help: string, of: (count: CpuCounters) => Value): Rule {
  return rule("counter", `cpu_${name}`, help, ({ usage }) => usage.cpu && of(usage.cpu));
}

function memory(type: MetricType, name: string, help: string, of: (count: MemoryCounters) => Value): Rule {
  return rule(type, `memory_${name}`, help, ({ usage }) => usage.memory && of(usage.memory));
}

function network(name: string, help: string, of: (count: InterfaceCounters) => number): Rule {
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
const limited = (of: (count: CpuCounters) => number) => (count: CpuCounters) =>
  count.quotaUs === undefined ? undefined : of(count);

const rules: readonly Rule[] = [
  rule("gauge", "last_seen", "Last time a container was seen by the exporter", ({ time }) =>
    Math.floor(epochMs(time) / 1000),
  ),
  {
    type: "counter",
    name: "container_cpu_usage_seconds_total",
    help: "Cumulative cpu time consumed in seconds.",
    timed: true,
    values: ({ usage }) => [[{ cpu: "total" }, usage.cpu && seconds(usage.cpu.usageNs)]],
  },
  cpu("user_seconds_total", "Cumulative user cpu time consumed in seconds.", ({ userNs }) => seconds(userNs)),
  cpu("system_seconds_total", "Cumulative system cpu time consumed in seconds.", ({ systemNs }) =>
    seconds(systemNs),
  ),
  cpu(
    "cfs_periods_total",
    "Number of elapsed enforcement period intervals.",
    limited((c) => c.periods),
  ),
  cpu(
    "cfs_throttled_periods_total",
    "Number of throttled period intervals.",
    limited((c) => c.throttledPeriods),
  ),
  cpu(
    "cfs_throttled_seconds_total",
    "Total time duration the container has been throttled.",
    limited((c) => seconds(c.throttledNs)),
  ),
  cpu(
    "cfs_burst_periods_total",
    "Number of periods when burst occurs.",
    limited((c) => c.burstPeriods),
  ),
  cpu(
    "cfs_burst_seconds_total",
    "Total time duration the container has been bursted.",
    limited((c) => seconds(c.burstNs)),
  ),
  memory(
    "gauge",
    "usage_bytes",
    "Current memory usage in bytes, including all memory regardless of when it was accessed",
    (m) => m.usage,
  ),
  memory("gauge", "max_usage_bytes", "Maximum memory usage recorded in bytes", (m) => m.maxUsage),
  memory("gauge", "working_set_bytes", "Current working set in bytes.", (m) => m.workingSet),
  memory("gauge", "rss", "Size of RSS in bytes.", (m) => m.rss),
  memory("gauge", "cache", "Number of bytes of page cache memory.", (m) => m.cache),
  memory("gauge", "mapped_file", "Size of memory mapped files in bytes.", (m) => m.mappedFile),
  memory("gauge", "total_active_file_bytes", "Current total active file in bytes.", (m) => m.activeFile),
  memory(
    "gauge",
    "total_inactive_file_bytes",
    "Current total inactive file in bytes.",
    (m) => m.inactiveFile,
  ),
  memory("gauge", "kernel_usage", "Size of kernel memory allocated in bytes.", (m) => m.kernel),
  memory("gauge", "swap", "Container swap usage in bytes.", (m) => m.swap),
  memory("counter", "failcnt", "Number of memory usage hits limits", (m) => m.failures),
  {
    type: "counter",
    name: "container_memory_failures_total",
    help: "Cumulative count of memory allocation failures.",
    timed: true,
    values: ({ usage: { memory: m } }) => [
      [{ failure_type: "pgfault", scope: "container" }, m?.pageFaults],
      [{ failure_type: "pgmajfault", scope: "container" }, m?.majorPageFaults],
      [{ failure_type: "pgfault", scope: "hierarchy" }, m?.pageFaults],
      [{ failure_type: "pgmajfault", scope: "hierarchy" }, m?.majorPageFaults],
    ],
  },
  {
    ...memory("counter", "", "Count of out of memory events observed for the container", (m) => m.oomKills),
    name: "container_oom_events_total",
  },
  network("receive_bytes", "Cumulative count of bytes received", (i) => i.rxBytes),
  network("receive_packets", "Cumulative count of packets received", (i) => i.rxPackets),
  network(
    "receive_packets_dropped",
    "Cumulative count of packets dropped while receiving",
    (i) => i.rxDropped,
  ),
  network("receive_errors", "Cumulative count of errors encountered while receiving", (i) => i.rxErrors),
  network("transmit_bytes", "Cumulative count of bytes transmitted", (i) => i.txBytes),
  network("transmit_packets", "Cumulative count of packets transmitted", (i) => i.txPackets),
  network(
    "transmit_packets_dropped",
    "Cumulative count of packets dropped while transmitting",
    (i) => i.txDropped,
  ),
  network("transmit_errors", "Cumulative count of errors encountered while transmitting", (i) => i.txErrors),
  rule(
    "gauge",
    "processes",
    "Number of processes running inside the container.",
    ({ processes }) => processes,
  ),
  rule(
    "gauge",
    "file_descriptors",
    "Number of open file descriptors for the container.",
    ({ openFiles }) => openFiles,
  ),
  rule("gauge", "sockets", "Number of open sockets for the container.", ({ openSockets }) => openSockets),
  {
    type: "gauge",
    name: "container_tasks_state",
    help: "Number of tasks in given state",
    timed: true,
    values: ({ tasks }) => Object.entries(tasks ?? {}).map(([state, count]) => [{ state }, count]),
  },
  rule(
    "gauge",
    "threads",
    "Number of threads running inside the container",
    ({ usage }) => usage.pids?.current ?? 0,
  ),
  rule(
    "gauge",
    "threads_max",
    "Maximum number of threads allowed inside the container, infinity if value is zero",
    ({ usage }) => usage.pids?.max ?? 0,
  ),
  {
    type: "gauge",
    name: "container_ulimits_soft",
    help: "Soft ulimit values for the container root process. Unlimited if -1, except priority and nice",
    timed: true,
    values: ({ openFilesLimit: limit }) => [
      [{ ulimit: "max_open_files" }, limit !== undefined && limit >= 2 ** 63 ? -1 : limit],
    ],
  },
  // The reference kubelet collects no load averages.
  rule("gauge", "cpu_load_average_10s", "Load average over the last 10 seconds; not collected.", () => 0),
  rule("gauge", "cpu_load_d_average_10s", "Load.d average over the last 10 seconds; not collected.", () => 0),
  // Only runtimes without CRI have health checks of their own.
  rule("gauge", "health_state", "The result of the container's health check; -1 without one", () => -1),
  spec("start_time_seconds", "Start time of the container since unix epoch in seconds.", ({ startedAt }) =>
    Math.floor(epochMs(startedAt) / 1000),
  ),
  spec("spec_cpu_period", "CPU period of the container.", ({ usage }) => usage.cpu?.periodUs),
  spec("spec_cpu_quota", "CPU quota of the container.", ({ usage }) => usage.cpu?.quotaUs),
  spec("spec_cpu_shares", "CPU share of the container.", ({ usage }) => usage.cpu?.shares),
  spec(
    "spec_memory_limit_bytes",
    "Memory limit for the container.",
    ({ usage: { memory: m } }) => m && (m.limit ?? 0),
  ),
  spec(
    "spec_memory_swap_limit_bytes",
    "Memory swap limit for the container.",
    ({ usage: { memory: m } }) => m && (m.swapLimit ?? 0),
  ),
  spec(
    "spec_memory_reservation_limit_bytes",
    "Memory reservation limit for the container.",
    ({ usage }) => usage.memory?.reservation,
  ),
  ...pressureRules(),
];

function pressureRules(): Rule[] {
  const help = {
    waiting: "Total time duration tasks in the container have waited due to",
    stalled: "Total time duration no tasks in the container could make progress due to",
  };
  return (["cpu", "memory", "io"] as const).flatMap((resource) =>
    (["waiting", "stalled"] as const).map((kind) =>
      rule(
        "counter",
        `pressure_${resource}_${kind}_seconds_total`,
        `${help[kind]} ${resource === "memory" ? resource : resource.toUpperCase()} congestion.`,
        ({ usage }) => {
          const pressure = usage.pressure[resource];
          return pressure && (kind === "waiting" ? pressure.some : pressure.full).total / 1e6;
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
