import { type Accepted, differences, type Facts, unexplained } from "./facts.ts";
import type { Kind } from "./kinds.ts";

const absent = /^-$/;

/** Differences between the two kubelets on one machine. */
const intended: Partial<Record<Kind, readonly Accepted[]>> = {
  "pod statuses": [
    {
      name: /^j-termmsg\..*terminated\.message$/,
      expected: /line/,
      actual: /line/,
      why: "the container writes to both streams, which the runtime reads in any order",
    },
  ],
  events: [
    {
      name: / Unhealthy: (?:Readiness|Startup) probe failed/,
      why: "a probe may be earlier than the server in the container",
    },
    {
      name: /FailedMount: .*failed to sync \w+ cache/,
      actual: absent,
      why: "volumes are mounted once the cache has synced",
    },
  ],
  metrics: [
    {
      name: / (?:rest_client_request_retries_total|kubelet_runtime_operations_errors_total)$/,
      why: "counts only what went wrong",
    },
    { name: /^\/metrics go_/, actual: absent, why: "no Go runtime (docs/METRICS.md)" },
    {
      name: /^\/metrics kubelet_(?:ts_|sync_loop_lag_)/,
      expected: absent,
      why: "own metrics (docs/METRICS.md)",
    },
  ],
  "files and modes": [
    {
      name: /^(?:kubelet\.(?:sock|lock)|probe-results\.json) /,
      expected: absent,
      why: "own files (docs/OPERATING.md)",
    },
    {
      name: /\/volumes\/kubernetes\.io~projected directory$/,
      actual: absent,
      why: "the empty directory of removed volumes is removed",
    },
  ],
};

/** Differences between the machine of the record (cgroup v2, systemd, PSI, one CPU) and any other. */
const ofMachine: Partial<Record<Kind, readonly Accepted[]>> = {
  "node object": [
    {
      name: /^\.spec/,
      why: "taints are removed by a controller, which the machine of the record did not have",
    },
    {
      name: /^\.status\.(?:capacity|allocatable)\.hugepages-/,
      why: "sizes of huge pages depend on the kernel",
    },
  ],
  "pod statuses": [
    {
      name: /^(?!r-noimage|t-badconfig)[\w-]+\.resources(?:\.|$)/,
      why: "limits are read from cgroups, and those of v1 have other values",
    },
  ],
  events: [{ name: / CgroupV1: /, expected: absent, why: "cgroup v1" }],
  "/stats/summary": [
    { name: /\.psi\./, why: "PSI depends on the kernel" },
    { name: /\.swap\.swapAvailableBytes$/, why: "cgroup v1 limits memory and swap together" },
    {
      name: /^\.node\.systemContainers\[(?:runtime|kubelet)\]/,
      actual: absent,
      why: "runtime and kubelet are no services here",
    },
    { name: /\.capacityBytes$/, expected: /^\d+$/, actual: /^\d+$/, why: "another disk" },
  ],
  metrics: [
    { name: /^\S+ (?!kubernetes_)\w+\{/, why: "values of another machine" },
    {
      name: /_pressure_|container_blkio_device_usage|container_fs_(?:reads|writes)_bytes/,
      actual: absent,
      why: "cgroup v1, without PSI",
    },
    {
      name: /kubelet_evictions$/,
      actual: absent,
      why: "another pod of the record caused it",
    },
  ],
};

/** Each value that is not what a kubelet on the same machine shows. */
export const unintendedDifferences = (kind: Kind, expected: Facts, actual: Facts): string[] =>
  unexplained(differences(expected, actual, { relative: 0.05 }), intended[kind] ?? []);

/** Each value that is not what the record has, for whatever reason but the machine. */
export const unexplainedDifferences = (kind: Kind, expected: Facts, actual: Facts): string[] =>
  unexplained(differences(expected, actual), [...(intended[kind] ?? []), ...(ofMachine[kind] ?? [])]);
