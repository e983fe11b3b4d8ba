import type { KubeletFlags } from "./kubelet-flags.ts";
import type { FlagType } from "./values.ts";

/** Where the value goes: a configuration field, a command-line setting, or nowhere. */
export type FlagTarget =
  | { readonly in: "config"; readonly path: readonly string[] }
  | { readonly in: "flags"; readonly key: keyof KubeletFlags }
  | { readonly in: "nowhere"; readonly default: string };

export interface FlagSpec {
  readonly name: string;
  readonly shorthand?: string;
  readonly type: FlagType;
  readonly target: FlagTarget;
  readonly help: string;
}

export interface FlagGroup {
  readonly title: string;
  readonly flags: readonly FlagSpec[];
}

function field(name: string, type: FlagType, path: string, help: string): FlagSpec {
  return { name, type, target: { in: "config", path: path.split(".") }, help };
}
function own(name: string, type: FlagType, key: keyof KubeletFlags, help: string): FlagSpec {
  return { name, type, target: { in: "flags", key }, help };
}
function unused(name: string, type: FlagType, fallback: string): FlagSpec {
  const help = "no effect, accepted so that old command lines work";
  return { name, type, target: { in: "nowhere", default: fallback }, help };
}

/** All flags of kubelet v1.36, by subject. */
export const flagGroups: readonly FlagGroup[] = [
  {
    title: "General",
    flags: [
      own("config", "string", "config", "configuration file (KubeletConfiguration v1beta1)"),
      own("config-dir", "string", "configDir", "folder of *.conf drop-ins that change the configuration"),
      field("feature-gates", "gates", "featureGates", "features to switch on or off, Name=true,Other=false"),
      own("root-dir", "string", "rootDir", "folder for the state of pods and volumes"),
      own("lock-file", "string", "lockFile", "file that only one kubelet at a time may lock"),
      own(
        "exit-on-lock-contention",
        "bool",
        "exitOnLockContention",
        "end when another process wants the lock",
      ),
      field("runonce", "bool", "runOnce", "no longer possible, see `kubelet run`"),
      { ...own("help", "bool", "help", "show this text"), shorthand: "h" },
      own(
        "version",
        "version",
        "version",
        "show the version; =raw shows it in full, =vX.Y.Z reports another",
      ),
    ],
  },
  {
    title: "Logs",
    flags: [
      { ...field("v", "level", "logging.verbosity", "how much to log, 0 is the least"), shorthand: "v" },
      field("vmodule", "vmodule", "logging.vmodule", "verbosity by file, pattern=N,…"),
      field("logging-format", "string", "logging.format", "text or json"),
      field(
        "log-flush-frequency",
        "duration",
        "logging.flushFrequency",
        "longest time a line waits to be written",
      ),
      field(
        "log-text-split-stream",
        "bool",
        "logging.options.text.splitStream",
        "text: errors to stderr, the rest to stdout",
      ),
      field(
        "log-text-info-buffer-size",
        "quantity",
        "logging.options.text.infoBufferSize",
        "text: bytes to buffer when split",
      ),
      field(
        "log-json-split-stream",
        "bool",
        "logging.options.json.splitStream",
        "json: errors to stderr, the rest to stdout",
      ),
      field(
        "log-json-info-buffer-size",
        "quantity",
        "logging.options.json.infoBufferSize",
        "json: bytes to buffer when split",
      ),
    ],
  },
  {
    title: "Where pods come from",
    flags: [
      own(
        "kubeconfig",
        "string",
        "kubeconfig",
        "how to reach the API server; without it the node stands alone",
      ),
      own(
        "bootstrap-kubeconfig",
        "string",
        "bootstrapKubeconfig",
        "how to ask for the first client certificate",
      ),
      field("pod-manifest-path", "string", "staticPodPath", "static pod file, or a folder of them"),
      field(
        "file-check-frequency",
        "duration",
        "fileCheckFrequency",
        "time between two looks at the manifest folder",
      ),
      field("manifest-url", "string", "staticPodURL", "URL of further static pods"),
      field("manifest-url-header", "headers", "staticPodURLHeader", "headers for that URL, name:value,…"),
      field(
        "http-check-frequency",
        "duration",
        "httpCheckFrequency",
        "time between two requests to that URL",
      ),
      field("sync-frequency", "duration", "syncFrequency", "longest time between two syncs of a pod"),
      field("kube-api-content-type", "string", "contentType", "encoding of requests to the API server"),
      field("kube-api-qps", "int32", "kubeAPIQPS", "requests a second to the API server"),
      field("kube-api-burst", "int32", "kubeAPIBurst", "requests to the API server in a burst"),
      field("event-qps", "int32", "eventRecordQPS", "events a second"),
      field("event-burst", "int32", "eventBurst", "events in a burst"),
    ],
  },
  {
    title: "Node",
    flags: [
      own("hostname-override", "string", "hostnameOverride", "name of the node, instead of the host name"),
      own("node-ip", "string", "nodeIP", "address of the node, or one of each family"),
      own("node-labels", "labels", "nodeLabels", "labels to register with, key=value,…"),
      own("cloud-provider", "string", "cloudProvider", "empty, or external"),
      field("provider-id", "string", "providerID", "name of this machine at its provider"),
      field("register-node", "bool", "registerNode", "register with the API server"),
      field(
        "register-with-taints",
        "taints",
        "registerWithTaints",
        "taints to register with, key=value:effect,…",
      ),
      field(
        "node-status-update-frequency",
        "duration",
        "nodeStatusUpdateFrequency",
        "time between two node status checks",
      ),
      field(
        "node-status-max-images",
        "int32",
        "nodeStatusMaxImages",
        "images to list in the node status, -1 for all",
      ),
      field("max-pods", "int32", "maxPods", "most pods on this node"),
      field("pods-per-core", "int32", "podsPerCore", "most pods for each core, 0 for no such limit"),
      field("pod-cidr", "string", "podCIDR", "addresses for pods when the node stands alone"),
      field("cluster-dns", "strings", "clusterDNS", "name servers for pods"),
      field("cluster-domain", "string", "clusterDomain", "DNS domain of the cluster"),
      field("resolv-conf", "string", "resolvConf", "resolver file that pods start from"),
      field("hairpin-mode", "string", "hairpinMode", "promiscuous-bridge, hairpin-veth or none"),
      field(
        "make-iptables-util-chains",
        "bool",
        "makeIPTablesUtilChains",
        "keep the shared iptables chains in place",
      ),
      field("fail-swap-on", "bool", "failSwapOn", "refuse to start while swap is on"),
      field(
        "protect-kernel-defaults",
        "bool",
        "protectKernelDefaults",
        "refuse kernel settings other than wanted",
      ),
      field("max-open-files", "int64", "maxOpenFiles", "files that the kubelet may have open"),
      field("oom-score-adj", "int32", "oomScoreAdj", "oom_score_adj of the kubelet"),
    ],
  },
  {
    title: "Runtime, images and container logs",
    flags: [
      field(
        "container-runtime-endpoint",
        "string",
        "containerRuntimeEndpoint",
        "socket of the container runtime",
      ),
      field(
        "image-service-endpoint",
        "string",
        "imageServiceEndpoint",
        "socket of the image service, if it is another",
      ),
      field(
        "runtime-request-timeout",
        "duration",
        "runtimeRequestTimeout",
        "deadline of a call to the runtime",
      ),
      field("serialize-image-pulls", "bool", "serializeImagePulls", "pull one image at a time"),
      field("registry-qps", "int32", "registryPullQPS", "image pulls a second, 0 for no limit"),
      field("registry-burst", "int32", "registryBurst", "image pulls in a burst"),
      own(
        "image-credential-provider-config",
        "string",
        "imageCredentialProviderConfig",
        "credential provider settings, a file or folder",
      ),
      own(
        "image-credential-provider-bin-dir",
        "string",
        "imageCredentialProviderBinDir",
        "folder of credential provider programs",
      ),
      field(
        "image-gc-high-threshold",
        "int32",
        "imageGCHighThresholdPercent",
        "disk use in percent that starts image removal",
      ),
      field(
        "image-gc-low-threshold",
        "int32",
        "imageGCLowThresholdPercent",
        "disk use in percent that ends image removal",
      ),
      field(
        "minimum-image-ttl-duration",
        "duration",
        "imageMinimumGCAge",
        "how long an unused image is kept at least",
      ),
      own(
        "minimum-container-ttl-duration",
        "duration",
        "minimumContainerTTLDuration",
        "how long a dead container is kept at least",
      ),
      own(
        "maximum-dead-containers",
        "int32",
        "maximumDeadContainers",
        "dead containers to keep, -1 for no limit",
      ),
      own(
        "maximum-dead-containers-per-container",
        "int32",
        "maximumDeadContainersPerContainer",
        "dead instances of a container to keep",
      ),
      field(
        "container-log-max-size",
        "string",
        "containerLogMaxSize",
        "size at which a container log is rotated",
      ),
      field("container-log-max-files", "int32", "containerLogMaxFiles", "log files to keep for a container"),
      own(
        "seccomp-default",
        "bool",
        "seccompDefault",
        "RuntimeDefault seccomp profile for pods that name none",
      ),
      field("allowed-unsafe-sysctls", "strings", "allowedUnsafeSysctls", "unsafe sysctls that pods may set"),
    ],
  },
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
        "let the kernel tell about memory thresholds",
      ),
      own(
        "experimental-allocatable-ignore-eviction",
        "bool",
        "experimentalAllocatableIgnoreEviction",
        "leave eviction thresholds out of allocatable",
      ),
    ],
  },
  {
    title: "Volumes",
    flags: [
      field("volume-plugin-dir", "string", "volumePluginDir", "folder of flexvolume plugins"),
      field(
        "volume-stats-agg-period",
        "duration",
        "volumeStatsAggPeriod",
        "time between two measurements of volumes",
      ),
      field(
        "enable-controller-attach-detach",
        "bool",
        "enableControllerAttachDetach",
        "let the controller attach volumes",
      ),
      field(
        "local-storage-capacity-isolation",
        "bool",
        "localStorageCapacityIsolation",
        "enforce limits of local storage",
      ),
      own("experimental-mounter-path", "string", "experimentalMounterPath", "mount program to use"),
    ],
  },
  {
    title: "Server",
    flags: [
      field("enable-server", "bool", "enableServer", "serve the kubelet API"),
      field("address", "ip", "address", "address of the kubelet API"),
      field("port", "int32", "port", "port of the kubelet API"),
      field("read-only-port", "int32", "readOnlyPort", "port without authentication, 0 for none"),
      field("healthz-bind-address", "ip", "healthzBindAddress", "address of /healthz"),
      field("healthz-port", "int32", "healthzPort", "port of /healthz, 0 for none"),
      field(
        "anonymous-auth",
        "bool",
        "authentication.anonymous.enabled",
        "let requests without credentials in as anonymous",
      ),
      field(
        "authentication-token-webhook",
        "bool",
        "authentication.webhook.enabled",
        "check bearer tokens with the API server",
      ),
      field(
        "authentication-token-webhook-cache-ttl",
        "duration",
        "authentication.webhook.cacheTTL",
        "how long such an answer holds",
      ),
      field("authorization-mode", "string", "authorization.mode", "AlwaysAllow or Webhook"),
      field(
        "authorization-webhook-cache-authorized-ttl",
        "duration",
        "authorization.webhook.cacheAuthorizedTTL",
        "how long a yes holds",
      ),
      field(
        "authorization-webhook-cache-unauthorized-ttl",
        "duration",
        "authorization.webhook.cacheUnauthorizedTTL",
        "how long a no holds",
      ),
      field(
        "client-ca-file",
        "string",
        "authentication.x509.clientCAFile",
        "authorities of client certificates",
      ),
      own("cert-dir", "string", "certDir", "folder of certificates that the kubelet makes or gets"),
      field("tls-cert-file", "string", "tlsCertFile", "serving certificate"),
      field("tls-private-key-file", "string", "tlsPrivateKeyFile", "key of the serving certificate"),
      field("tls-cipher-suites", "strings", "tlsCipherSuites", "cipher suites to offer"),
      field("tls-min-version", "string", "tlsMinVersion", "oldest TLS version, such as VersionTLS12"),
      field("rotate-certificates", "bool", "rotateCertificates", "renew the client certificate in time"),
      field(
        "rotate-server-certificates",
        "bool",
        "serverTLSBootstrap",
        "ask the API server for the serving certificate",
      ),
      field(
        "streaming-connection-idle-timeout",
        "duration",
        "streamingConnectionIdleTimeout",
        "idle time that ends a stream",
      ),
      field(
        "enable-debugging-handlers",
        "bool",
        "enableDebuggingHandlers",
        "serve exec, attach, logs and the like",
      ),
      field("contention-profiling", "bool", "enableContentionProfiling", "profile lock contention"),
    ],
  },
  {
    title: "Container statistics",
    flags: [
      own(
        "housekeeping-interval",
        "duration",
        "housekeepingInterval",
        "time between two measurements of a container",
      ),
      unused("application-metrics-count-limit", "int64", "100"),
      unused("boot-id-file", "string", "/proc/sys/kernel/random/boot_id"),
      unused("container-hints", "string", "/etc/cadvisor/container_hints.json"),
      unused("containerd", "string", "/run/containerd/containerd.sock"),
      unused("containerd-namespace", "string", "k8s.io"),
      unused("enable-load-reader", "bool", "false"),
      unused("event-storage-age-limit", "string", "default=0"),
      unused("event-storage-event-limit", "string", "default=0"),
      unused("global-housekeeping-interval", "duration", "1m0s"),
      unused("log-cadvisor-usage", "bool", "false"),
      unused("machine-id-file", "string", "/etc/machine-id,/var/lib/dbus/machine-id"),
      unused("storage-driver-buffer-duration", "duration", "1m0s"),
      unused("storage-driver-db", "string", "cadvisor"),
      unused("storage-driver-host", "string", "localhost:8086"),
      unused("storage-driver-password", "string", "root"),
      unused("storage-driver-secure", "bool", "false"),
      unused("storage-driver-table", "string", "stats"),
      unused("storage-driver-user", "string", "root"),
    ],
  },
];

export const flagTable: ReadonlyMap<string, FlagSpec> = new Map(
  flagGroups.flatMap(({ flags }) => flags).map((flag) => [flag.name, flag]),
);
