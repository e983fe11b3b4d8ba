import { type Accepted, differences, type Facts, unexplained } from "./facts.ts";
import type { Kind, Place } from "./kinds.ts";

const absent = /^-$/;

const noLimit = /^(?:-|\{\}|"9007199254740988Ki")$/;

/** Differences between the two kubelets on one machine, and between two runs of the reference kubelet. */
const intended: Partial<Record<Kind, readonly Accepted[]>> = {
  "pod statuses": [
    {
      name: /^j-termmsg\..*terminated\.message$/,
      expected: /line/,
      actual: /line/,
      why: "the container writes to both streams, which the runtime reads in any order",
    },
    {
      name: /^(?:g-init-done|j-termmsg)\.resources(?:\.limits\.memory)?$/,
      expected: noLimit,
      actual: noLimit,
      why: "with cgroup v1, pods that end at once may end before the cgroup is read",
    },
  ],
  "/stats/summary": [
    {
      name: /^\.pods\[(?:d-podlevel|f-sidecar|s-security)\]\.containers\[\w+\]\..*\.psi\./,
      expected: absent,
      why: "the reference kubelet may not find one of several containers of a pod among those of its cAdvisor",
    },
    {
      name: /^\.pods\[(?:d-podlevel|f-sidecar|s-security)\]\.containers\[\w+\]\.(?:memory\.a|swap\.swapA)vailableBytes$/,
      actual: absent,
      why: "the reference kubelet may not find one of several containers of a pod among those of its cAdvisor",
    },
  ],
  events: [
    {
      name: / Unhealthy: (?:Readiness|Startup) probe failed/,
      why: "a probe may be earlier than the server in the container",
    },
    {
      name: /FailedMount: .* not registered$/,
      actual: absent,
      why: "the reference kubelet mounts volumes before it watches their objects",
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
    {
      name: /^\/metrics\/cadvisor container_.*"id":"\/kubelet-ts-\{node\}"/,
      actual: absent,
      why: "a kubelet in the root cgroup has series for all cgroups",
    },
    {
      name: /^\/metrics kubelet_metrics_provider$/,
      expected: absent,
      why: "the reference kubelet sets it while it registers its metrics, and may be too early",
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
      name: /^device-plugins[/ ]/,
      expected: absent,
      why: "tests on a host keep the device plugins of kubelet-ts below its root directory",
    },
    {
      name: /^pods\/\{q-toobig\}/,
      actual: absent,
      why: "the reference kubelet mounts the volumes of a rejected pod for a moment",
    },
    {
      name: /^pods\/\{[\w-]+\}(?:\/volumes)? directory$/,
      expected: /^75[05]$/,
      actual: /^75[05]$/,
      why: "two goroutines of the reference kubelet create them, each with its own mode",
    },
    {
      name: /\/volumes\/kubernetes\.io~projected directory$/,
      actual: absent,
      why: "the empty directory of removed volumes is removed",
    },
  ],
};

const startedTooEarly =
  "containerd 1.6 may start a container before it knows the process of a slow sandbox: then it is started again";

/** Differences in a guest, besides those. */
const inGuest: Partial<Record<Kind, readonly Accepted[]>> = {
  events: [
    {
      name: /^Node machine .*Node ?Allocatable/,
      why: "the guest's kernel has no cpuset, and the reference kubelet does not write the other limits then",
    },
    {
      name: /FailedMount: .*failed to fetch token: .*(?:no response within|the connection is dead)/,
      expected: absent,
      why: "the API server, which is outside the guest, is late on a busy machine, and the mount is retried",
    },
    { name: / Failed: Error: .*lstat \/proc\/0\/ns\//, why: startedTooEarly },
    {
      name: /^Node machine .* (?:NodeHas\w+|NodeReady): /,
      why: "which events a slow node sends depends on whether the response to its registration and the runtime were in time",
    },
  ],
  "/stats/summary": [
    {
      name: /^\.pods\[[\w-]+\]\.network\./,
      expected: absent,
      why: "the reference kubelet gives up on sandboxes for which containerd takes too long, as in a guest",
    },
  ],
  metrics: [
    {
      name: /container_spec_.*cri-containerd-\{[^}]+\}\.scope","image":""/,
      actual: absent,
      why: "the reference kubelet gives up on containers for which containerd takes too long, as in a guest",
    },
    {
      name: /container_spec_.*cri-containerd-\{[^}]+\}\.scope","image":"(?!")/,
      expected: absent,
      why: "the reference kubelet gives up on containers for which containerd takes too long, as in a guest",
    },
  ],
  "pod statuses": [{ name: /\.lastState(?:\.terminated\.\w+)?$/, why: startedTooEarly }],
  "CRI requests": [
    { name: /(?:\.container\.restartCount|\.logPath|\.metadata\.attempt)$/, why: startedTooEarly },
  ],
};

/** Values of metrics that depend on the machine. */
const machineValue: Accepted = {
  name: /^\S+ (?!kube(?:rnetes|let)_|volume_)\w+\{/,
  why: "values of another machine",
};

/** Differences between the machine of a record, which has systemd and one CPU, and any other with the same version of cgroups. */
const ofMachine: Partial<Record<Kind, readonly Accepted[]>> = {
  "node object": [
    {
      name: /^\.spec/,
      why: "taints are removed by a controller, which one machine of a record did not have",
    },
    {
      name: /^\.status\.(?:capacity|allocatable)\.hugepages-/,
      why: "sizes of huge pages depend on the kernel",
    },
  ],
  "/stats/summary": [
    { name: /\.psi\./, why: "PSI depends on the kernel" },
    {
      name: /^\.node\.systemContainers\[(?:runtime|kubelet)\]/,
      actual: absent,
      why: "runtime and kubelet are no services here",
    },
    { name: /\.capacityBytes$/, expected: /^\d+$/, actual: /^\d+$/, why: "another disk" },
  ],
  metrics: [
    machineValue,
    { name: /_pressure_/, why: "PSI depends on the kernel" },
    {
      name: /container_blkio_device_usage|container_fs_(?:reads|writes)_bytes/,
      why: "I/O by cgroup depends on the kernel and on the disk",
    },
    {
      name: /kubelet_evictions$/,
      actual: absent,
      why: "another pod of a record caused it",
    },
  ],
  "files and modes": [
    { name: /^(?:[^/ ]+\/){5}/, expected: absent, why: "a record has the upper levels only" },
  ],
};

/** The part of a value by which two runs on one machine may differ. */
const sameMachine = { relative: 0.05 };

function acceptedIn(kind: Kind, place: Place): readonly Accepted[] {
  return [...(intended[kind] ?? []), ...((place === "guest" ? inGuest[kind] : undefined) ?? [])];
}

/** Each value that is not what a kubelet on the same machine shows. */
export const unintendedDifferences = (
  kind: Kind,
  expected: Facts,
  actual: Facts,
  place: Place = "host",
): string[] => unexplained(differences(expected, actual, sameMachine), acceptedIn(kind, place));

/** Each value that is not what the record has, for whatever reason but the machine. All guests are the same machine. */
export const unexplainedDifferences = (
  kind: Kind,
  expected: Facts,
  actual: Facts,
  place: Place = "host",
): string[] =>
  unexplained(differences(expected, actual, place === "guest" ? sameMachine : undefined), [
    ...acceptedIn(kind, place),
    ...(place === "guest" ? [machineValue] : (ofMachine[kind] ?? [])),
  ]);

/** The facts of a record: without values of the machine. */
export function recordable(facts: Facts): Facts {
  return Object.fromEntries(Object.entries(facts).filter(([name]) => !machineValue.name.test(name)));
}
