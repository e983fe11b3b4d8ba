import { epochMs } from "../../../lib/base/time.ts";
import type { ProcessUsage } from "../../../lib/host/process-usage.ts";
import type { Family, MetricType } from "./exposition.ts";

/** Metrics of this process. */
export function processFamilies(usage: ProcessUsage): Family[] {
  const one = (type: MetricType, name: string, help: string, value: number): Family => ({
    name: `process_${name}`,
    help,
    type,
    samples: [{ labels: {}, value }],
  });
  return [
    one("counter", "cpu_seconds_total", "Total user and system CPU time spent in seconds.", usage.cpuSeconds),
    one("gauge", "max_fds", "Maximum number of open file descriptors.", usage.maxFiles),
    one("gauge", "open_fds", "Number of open file descriptors.", usage.openFiles),
    one("gauge", "resident_memory_bytes", "Resident memory size in bytes.", usage.residentBytes),
    startTimeFamily(usage),
    one("gauge", "virtual_memory_bytes", "Virtual memory size in bytes.", usage.virtualBytes),
    one(
      "gauge",
      "virtual_memory_max_bytes",
      "Maximum amount of virtual memory available in bytes.",
      usage.maxVirtualBytes,
    ),
    one(
      "counter",
      "network_receive_bytes_total",
      "Number of bytes received by the process over the network.",
      usage.receivedBytes,
    ),
    one(
      "counter",
      "network_transmit_bytes_total",
      "Number of bytes sent by the process over the network.",
      usage.sentBytes,
    ),
  ];
}

export function startTimeFamily({ startedAt }: Pick<ProcessUsage, "startedAt">): Family {
  return {
    name: "process_start_time_seconds",
    help: "Start time of the process since unix epoch in seconds.",
    type: "gauge",
    samples: [{ labels: {}, value: epochMs(startedAt) / 1000 }],
  };
}
