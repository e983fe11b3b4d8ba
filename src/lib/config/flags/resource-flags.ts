import { type FlagGroup, field, own } from "./spec.ts";

/** Flags about cgroups, CPUs, memory and eviction. */
export const resourceFlags: readonly FlagGroup[] = [
  {
    title: "Cgroups, CPUs and memory",
    flags: [
      field("cgroup-driver", "string", "cgroupDriver", "cgroupfs or systemd"),
      field("cgroup-root", "string", "cgroupRoot", "cgroup below which pods run"),
      field("cgroups-per-qos", "bool", "cgroupsPerQOS", "a cgroup for each QoS class and pod"),
      field("fail-cgroupv1", "bool", "failCgroupV1", "refuse to start on a host with cgroup v1"),
      field("kubelet-cgroups", "string", "kubeletCgroups", "cgroup for the kubelet"),
      field("system-cgroups", "string", "systemCgroups", "cgroup for other system processes"),
      own("runtime-cgroups", "string", "runtimeCgroups", "cgroup of the container runtime"),
      field("cpu-cfs-quota", "bool", "cpuCFSQuota", "enforce CPU limits"),
      field("cpu-cfs-quota-period", "duration", "cpuCFSQuotaPeriod", "period of CPU limits"),
      field("pod-max-pids", "int64", "podPidsLimit", "most processes in a pod, -1 for the node's limit"),
      field("qos-reserved", "map", "qosReserved", "share of memory requests held back for better classes"),
      field("cpu-manager-policy", "string", "cpuManagerPolicy", "none or static"),
      field(
        "cpu-manager-policy-options",
        "mapOfOne",
        "cpuManagerPolicyOptions",
        "option of that policy, key=value, repeatable",
      ),
      field(
        "cpu-manager-reconcile-period",
        "duration",
        "cpuManagerReconcilePeriod",
        "time between two CPU reconciliations",
      ),
      field("memory-manager-policy", "string", "memoryManagerPolicy", "None or Static"),
      field(
        "reserved-memory",
        "reservedMemory",
        "reservedMemory",
        "memory set aside on a NUMA node, 0:memory=1Gi,…",
      ),
      field(
        "topology-manager-policy",
        "string",
        "topologyManagerPolicy",
        "none, best-effort, restricted or single-numa-node",
      ),
      field(
        "topology-manager-policy-options",
        "map",
        "topologyManagerPolicyOptions",
        "options of that policy, key=value,…",
      ),
      field("topology-manager-scope", "string", "topologyManagerScope", "container or pod"),
    ],
  },
  {
    title: "Reservations and eviction",
    flags: [
      field(
        "enforce-node-allocatable",
        "strings",
        "enforceNodeAllocatable",
        "levels at which reservations are enforced",
      ),
      field("system-reserved", "map", "systemReserved", "resources for the system, cpu=200m,memory=500Mi,…"),
      field("system-reserved-cgroup", "string", "systemReservedCgroup", "cgroup of the system"),
      field("kube-reserved", "map", "kubeReserved", "resources for Kubernetes, cpu=200m,memory=500Mi,…"),
      field("kube-reserved-cgroup", "string", "kubeReservedCgroup", "cgroup of Kubernetes"),
      field("reserved-cpus", "string", "reservedSystemCPUs", "CPUs for system and Kubernetes, such as 0-1"),
      field("eviction-hard", "mapLess", "evictionHard", "evict at once below, memory.available<1Gi,…"),
      field(
        "eviction-soft",
        "mapLess",
        "evictionSoft",
        "evict after a grace period below, memory.available<1Gi,…",
      ),
      field(
        "eviction-soft-grace-period",
        "map",
        "evictionSoftGracePeriod",
        "those grace periods, memory.available=1m30s,…",
      ),
      field(
        "eviction-max-pod-grace-period",
        "int32",
        "evictionMaxPodGracePeriod",
        "most seconds a pod gets to end when evicted",
      ),
      field(
        "eviction-minimum-reclaim",
        "map",
        "evictionMinimumReclaim",
        "least to win back, imagefs.available=2Gi,…",
      ),
      field(
        "eviction-pressure-transition-period",
        "duration",
        "evictionPressureTransitionPeriod",
        "how long pressure must be gone",
      ),
      field(
        "kernel-memcg-notification",
        "bool",
        "kernelMemcgNotification",
        "receive memory threshold notifications from the kernel",
      ),
      own(
        "experimental-allocatable-ignore-eviction",
        "bool",
        "experimentalAllocatableIgnoreEviction",
        "leave eviction thresholds out of allocatable",
      ),
    ],
  },
];
