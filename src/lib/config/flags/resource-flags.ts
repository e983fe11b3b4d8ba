import { deprecated, type FlagGroup, field, flagOnly } from "./spec.ts";

/** Flags about cgroups, CPUs, memory and eviction. */
export const resourceFlags: readonly FlagGroup[] = [
  {
    title: "Cgroups, CPUs and memory",
    flags: [
      field("cgroup-driver", "string", "cgroupDriver", "cgroupfs or systemd"),
      field("cgroup-root", "string", "cgroupRoot", "root cgroup of the pods"),
      field("cgroups-per-qos", "bool", "cgroupsPerQOS", "create the QoS and pod cgroup hierarchy"),
      field("fail-cgroupv1", "bool", "failCgroupV1", "refuse to start on a host with cgroup v1"),
      field("kubelet-cgroups", "string", "kubeletCgroups", "cgroup to run the kubelet in"),
      field(
        "system-cgroups",
        "string",
        "systemCgroups",
        "cgroup for non-kernel processes that are not in a container",
      ),
      flagOnly("runtime-cgroups", "string", "runtimeCgroups", "cgroup of the container runtime"),
      field("cpu-cfs-quota", "bool", "cpuCFSQuota", "enforce CPU limits of containers with CFS quota"),
      field("cpu-cfs-quota-period", "duration", "cpuCFSQuotaPeriod", "CFS quota period, cpu.cfs_period_us"),
      field(
        "pod-max-pids",
        "int64",
        "podPidsLimit",
        "maximum number of processes per pod, -1 for the node's limit",
      ),
      field(
        "qos-reserved",
        "map",
        "qosReserved",
        "percentage of memory requests reserved for a higher QoS class, memory=50%",
      ),
      field("cpu-manager-policy", "string", "cpuManagerPolicy", "CPU manager policy: none or static"),
      field(
        "cpu-manager-policy-options",
        "mapOfOne",
        "cpuManagerPolicyOptions",
        "CPU manager policy option, key=value, repeatable",
      ),
      field(
        "cpu-manager-reconcile-period",
        "duration",
        "cpuManagerReconcilePeriod",
        "interval of CPU manager reconciliation",
      ),
      field(
        "memory-manager-policy",
        "string",
        "memoryManagerPolicy",
        "memory manager policy: None or Static",
      ),
      field(
        "reserved-memory",
        "reservedMemory",
        "reservedMemory",
        "memory reserved on NUMA nodes, 0:memory=1Gi,…",
      ),
      field(
        "topology-manager-policy",
        "string",
        "topologyManagerPolicy",
        "topology manager policy: none, best-effort, restricted or single-numa-node",
      ),
      field(
        "topology-manager-policy-options",
        "map",
        "topologyManagerPolicyOptions",
        "topology manager policy options, key=value,…",
      ),
      field(
        "topology-manager-scope",
        "string",
        "topologyManagerScope",
        "scope of topology hints: container or pod",
      ),
    ],
  },
  {
    title: "Reservations and eviction",
    flags: [
      field(
        "enforce-node-allocatable",
        "strings",
        "enforceNodeAllocatable",
        "levels of node allocatable enforcement: none, pods, system-reserved, kube-reserved",
      ),
      field(
        "system-reserved",
        "map",
        "systemReserved",
        "resources reserved for system daemons, cpu=200m,memory=500Mi,…",
      ),
      field(
        "system-reserved-cgroup",
        "string",
        "systemReservedCgroup",
        "cgroup that system-reserved is enforced on",
      ),
      field(
        "kube-reserved",
        "map",
        "kubeReserved",
        "resources reserved for Kubernetes components, cpu=200m,memory=500Mi,…",
      ),
      field(
        "kube-reserved-cgroup",
        "string",
        "kubeReservedCgroup",
        "cgroup that kube-reserved is enforced on",
      ),
      field(
        "reserved-cpus",
        "string",
        "reservedSystemCPUs",
        "CPUs reserved for the system and Kubernetes, such as 0-1",
      ),
      field("eviction-hard", "mapLess", "evictionHard", "hard eviction thresholds, memory.available<1Gi,…"),
      field("eviction-soft", "mapLess", "evictionSoft", "soft eviction thresholds, memory.available<1.5Gi,…"),
      field(
        "eviction-soft-grace-period",
        "map",
        "evictionSoftGracePeriod",
        "grace periods of soft eviction thresholds, memory.available=1m30s,…",
      ),
      field(
        "eviction-max-pod-grace-period",
        "int32",
        "evictionMaxPodGracePeriod",
        "maximum grace period in seconds of pods evicted by a soft threshold",
      ),
      field(
        "eviction-minimum-reclaim",
        "map",
        "evictionMinimumReclaim",
        "minimum amount to reclaim in an eviction, imagefs.available=2Gi,…",
      ),
      field(
        "eviction-pressure-transition-period",
        "duration",
        "evictionPressureTransitionPeriod",
        "time to wait before leaving a pressure condition",
      ),
      field(
        "kernel-memcg-notification",
        "bool",
        "kernelMemcgNotification",
        "use memcg notifications of the kernel for memory eviction thresholds",
      ),
      deprecated(
        flagOnly(
          "experimental-allocatable-ignore-eviction",
          "bool",
          "experimentalAllocatableIgnoreEviction",
          "ignore hard eviction thresholds in node allocatable",
        ),
        "will be removed in 1.25 or later.",
      ),
    ],
  },
];
