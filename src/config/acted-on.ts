/** Flags that change what the agent does today. Add a name here together with the code that acts on it. */
export const actedOnFlags: ReadonlySet<string> = new Set([
  "cgroup-driver",
  "cgroup-root",
  "cgroups-per-qos",
  "cluster-dns",
  "cluster-domain",
  "config",
  "config-dir",
  "container-runtime-endpoint",
  "cpu-cfs-quota",
  "cpu-cfs-quota-period",
  "enforce-node-allocatable",
  "fail-cgroupv1",
  "feature-gates",
  "file-check-frequency",
  "healthz-bind-address",
  "healthz-port",
  "help",
  "hostname-override",
  "http-check-frequency",
  "image-service-endpoint",
  "logging-format",
  "manifest-url",
  "manifest-url-header",
  "node-ip",
  "pod-manifest-path",
  "pod-max-pids",
  "registry-burst",
  "registry-qps",
  "resolv-conf",
  "root-dir",
  "runtime-request-timeout",
  "seccomp-default",
  "serialize-image-pulls",
  "sync-frequency",
  "v",
  "version",
]);

/** Configuration fields that change what the agent does today; objects by their inner fields. */
export const actedOnFields: ReadonlySet<string> = new Set([
  "cgroupDriver",
  "cgroupRoot",
  "cgroupsPerQOS",
  "clusterDNS",
  "clusterDomain",
  "containerRuntimeEndpoint",
  "cpuCFSQuota",
  "cpuCFSQuotaPeriod",
  "crashLoopBackOff.maxContainerRestartPeriod",
  "enforceNodeAllocatable",
  "failCgroupV1",
  "featureGates",
  "fileCheckFrequency",
  "healthzBindAddress",
  "healthzPort",
  "httpCheckFrequency",
  "imageServiceEndpoint",
  "logging.format",
  "logging.verbosity",
  "maxParallelImagePulls",
  "memoryReservationPolicy",
  "memorySwap.swapBehavior",
  "memoryThrottlingFactor",
  "podLogsDir",
  "podPidsLimit",
  "registryBurst",
  "registryPullQPS",
  "resolvConf",
  "runtimeRequestTimeout",
  "seccompDefault",
  "serializeImagePulls",
  "singleProcessOOMKill",
  "staticPodPath",
  "staticPodURL",
  "staticPodURLHeader",
  "syncFrequency",
]);

/** One line that names everything that was accepted and changes nothing yet, or none. */
export function notActedOn(flags: Iterable<string>, fields: Iterable<string>): string | undefined {
  const idleFlags = [...new Set(flags)].filter((name) => !actedOnFlags.has(name)).map((name) => `--${name}`);
  const idleFields = [...new Set(fields)]
    .filter((name) => !actedOnFields.has(name))
    .map((name) => `config ${name}`);
  const idle = [...idleFlags, ...idleFields];
  return idle.length > 0 ? `accepted but not acted on yet: ${idle.join(", ")}` : undefined;
}
