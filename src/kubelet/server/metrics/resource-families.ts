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
    counter("node_cpu_usage_seconds_total", "CPU time that the node has taken", sample({}, cpu(node))),
    gauge("node_memory_working_set_bytes", "Working set of the node", sample({}, memory(node))),
    gauge("node_swap_usage_bytes", "Swap that the node uses", sample({}, swap(node))),
    gauge("container_start_time_seconds", "When the container was started", ofContainers(started)),
    counter("container_cpu_usage_seconds_total", "CPU time that the container has taken", ofContainers(cpu)),
    gauge("container_memory_working_set_bytes", "Working set of the container", ofContainers(memory)),
    gauge("container_swap_usage_bytes", "Swap that the container uses", ofContainers(swap)),
    gauge("container_swap_limit_bytes", "Swap that the container may use", ofContainers(swapLimit)),
    counter("pod_cpu_usage_seconds_total", "CPU time that the pod has taken", ofPods(cpu)),
    gauge("pod_memory_working_set_bytes", "Working set of the pod", ofPods(memory)),
    gauge("pod_swap_usage_bytes", "Swap that the pod uses", ofPods(swap)),
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
