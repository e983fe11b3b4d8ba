import { epochMs } from "../../../lib/base/time.ts";
import type { ProcessUsage } from "../../../lib/host/process-usage.ts";
import type { Family, MetricType } from "./exposition.ts";

/** Metrics of this process. */
export function processFamilies(usage: ProcessUsage): Family[] {
  const one = (type: MetricType, name: string, help: string, value: number): Family => ({
    ...{ name: `process_${name}`, help, type, samples: [{ labels: {}, value }] },
  });
  return [
    one("counter", "cpu_seconds_total", "CPU time taken", usage.cpuSeconds),
    one("gauge", "max_fds", "Files that may be open", usage.maxFiles),
    one("gauge", "open_fds", "Open files", usage.openFiles),
    one("gauge", "resident_memory_bytes", "Resident memory", usage.residentBytes),
    startTimeFamily(usage),
    one("gauge", "virtual_memory_bytes", "Virtual memory", usage.virtualBytes),
    one("gauge", "virtual_memory_max_bytes", "Virtual memory that there may be", usage.maxVirtualBytes),
    one(
      "counter",
      "network_receive_bytes_total",
      "Bytes received by the process's network",
      usage.receivedBytes,
    ),
    one("counter", "network_transmit_bytes_total", "Bytes sent by the process's network", usage.sentBytes),
  ];
}

export function startTimeFamily({ startedAt }: Pick<ProcessUsage, "startedAt">): Family {
  return {
    name: "process_start_time_seconds",
    help: "When the process was started",
    type: "gauge",
    samples: [{ labels: {}, value: epochMs(startedAt) / 1000 }],
  };
}
