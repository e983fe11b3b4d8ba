import { wallTime } from "../../../lib/base/time.ts";
import type { ContainerStats, PodStats, Summary } from "../../../lib/model/stats-summary.ts";
import type { Family, Labels, Sample } from "./exposition.ts";

/** Metrics for metrics-server: CPU, memory and swap of the node, of pods and of containers. */
export function resourceFamilies(summary: Summary | undefined): Family[] {
  const failed = summary === undefined ? 1 : 0;
  return [
    ...(summary ? usage(summary) : []),
    {
      name: "resource_scrape_error",
      help: "1 if there was an error while getting container metrics, 0 otherwise",
      type: "gauge",
      samples: [{ labels: {}, value: failed }],
    },
  ];
}

function usage({ node, pods }: Summary): Family[] {
  const containers = pods.flatMap((pod) =>
    pod.containers.map((stats) => ({ stats, labels: { ...labelsOf(pod), container: stats.name } })),
  );
  const ofContainers = (of: (stats: ContainerStats) => Reading | undefined) =>
    containers.flatMap(({ stats, labels }) => sample(labels, of(stats)));
  const ofPods = (of: (pod: PodStats) => Reading | undefined) =>
    pods.flatMap((pod) => sample(labelsOf(pod), of(pod)));
  return [
    counter(
      "node_cpu_usage_seconds_total",
      "Cumulative cpu time consumed by the node in core-seconds",
      sample({}, cpu(node)),
    ),
    gauge(
      "node_memory_working_set_bytes",
      "Current working set of the node in bytes",
      sample({}, memory(node)),
    ),
    gauge(
      "node_swap_usage_bytes",
      "Current swap usage of the node in bytes. Reported only on non-windows systems",
      sample({}, swap(node)),
    ),
    gauge(
      "container_start_time_seconds",
      "Start time of the container since unix epoch in seconds",
      ofContainers(started),
    ),
    counter(
      "container_cpu_usage_seconds_total",
      "Cumulative cpu time consumed by the container in core-seconds",
      ofContainers(cpu),
    ),
    gauge(
      "container_memory_working_set_bytes",
      "Current working set of the container in bytes",
      ofContainers(memory),
    ),
    gauge(
      "container_swap_usage_bytes",
      "Current amount of the container swap usage in bytes",
      ofContainers(swap),
    ),
    gauge(
      "container_swap_limit_bytes",
      "Current amount of the container swap limit in bytes",
      ofContainers(swapLimit),
    ),
    counter(
      "pod_cpu_usage_seconds_total",
      "Cumulative cpu time consumed by the pod in core-seconds",
      ofPods(cpu),
    ),
    gauge("pod_memory_working_set_bytes", "Current working set of the pod in bytes", ofPods(memory)),
    gauge("pod_swap_usage_bytes", "Current amount of the pod swap usage in bytes", ofPods(swap)),
  ];
}

interface Reading {
  readonly value: number | undefined;
  /** RFC 3339; absent: now. */
  readonly time?: string;
}

type Usage = Pick<ContainerStats, "cpu" | "memory" | "swap">;

const cpu = ({ cpu: c }: Usage): Reading | undefined =>
  c && {
    value: c.usageCoreNanoSeconds === undefined ? undefined : c.usageCoreNanoSeconds / 1e9,
    time: c.time,
  };
const memory = ({ memory: m }: Usage): Reading | undefined => m && { value: m.workingSetBytes, time: m.time };
const swap = ({ swap: s }: Usage): Reading | undefined => s && { value: s.swapUsageBytes, time: s.time };
const swapLimit = ({ swap: s }: Usage): Reading | undefined =>
  s?.swapAvailableBytes === undefined
    ? undefined
    : { value: s.swapAvailableBytes + (s.swapUsageBytes ?? 0), time: s.time };
const started = ({ startTime }: ContainerStats): Reading | undefined => {
  const seconds = Date.parse(startTime) / 1000;
  return seconds > 0 ? { value: seconds } : undefined;
};

function sample(labels: Labels, reading: Reading | undefined): Sample[] {
  if (reading?.value === undefined) return [];
  return [
    { labels, value: reading.value, ...(reading.time !== undefined && { time: wallTime(reading.time) }) },
  ];
}

function labelsOf({ podRef }: PodStats): { namespace: string; pod: string } {
  return { namespace: podRef.namespace, pod: podRef.name };
}

function counter(name: string, help: string, samples: Sample[]): Family {
  return { name, help, type: "counter", samples };
}

function gauge(name: string, help: string, samples: Sample[]): Family {
  return { name, help, type: "gauge", samples };
}
