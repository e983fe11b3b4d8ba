import { deprecated, type FlagGroup, field, flagOnly } from "./spec.ts";

const containersAreEvicted =
  "Use --eviction-hard or --eviction-soft instead. Will be removed in a future version.";

/** Flags about pods: where they come from, their images, containers and volumes. */
export const podFlags: readonly FlagGroup[] = [
  {
    title: "Pod sources and API server",
    flags: [
      flagOnly(
        "kubeconfig",
        "string",
        "kubeconfig",
        "kubeconfig of the API server; omit it for standalone mode",
      ),
      flagOnly(
        "bootstrap-kubeconfig",
        "string",
        "bootstrapKubeconfig",
        "kubeconfig for TLS bootstrapping, if --kubeconfig does not exist",
      ),
      field(
        "pod-manifest-path",
        "string",
        "staticPodPath",
        "static pod manifest, or a directory of manifests",
      ),
      field(
        "file-check-frequency",
        "duration",
        "fileCheckFrequency",
        "interval of scans for static pod manifests",
      ),
      field("manifest-url", "string", "staticPodURL", "URL of a static pod manifest"),
      field(
        "manifest-url-header",
        "headers",
        "staticPodURLHeader",
        "HTTP headers for --manifest-url, name:value,…",
      ),
      field(
        "http-check-frequency",
        "duration",
        "httpCheckFrequency",
        "interval of requests to --manifest-url",
      ),
      flagOnly(
        "local-objects",
        "string",
        "localObjects",
        "directory of ConfigMaps and Secrets for pods, without an API server (kubelet-ts only)",
      ),
      field("sync-frequency", "duration", "syncFrequency", "maximum time between syncs of running pods"),
      field("kube-api-content-type", "string", "contentType", "content type of requests to the API server"),
      field("kube-api-qps", "int32", "kubeAPIQPS", "maximum QPS to the API server"),
      field("kube-api-burst", "int32", "kubeAPIBurst", "maximum burst of requests to the API server"),
      field(
        "event-qps",
        "int32",
        "eventRecordQPS",
        "maximum event creations per second, 0 for the default of 5",
      ),
      field("event-burst", "int32", "eventBurst", "maximum burst of event creations"),
    ],
  },
  {
    title: "Runtime, images and container logs",
    flags: [
      field(
        "container-runtime-endpoint",
        "string",
        "containerRuntimeEndpoint",
        "CRI endpoint of the container runtime, unix:///path",
      ),
      field(
        "image-service-endpoint",
        "string",
        "imageServiceEndpoint",
        "CRI endpoint of the image service, if it differs",
      ),
      field(
        "runtime-request-timeout",
        "duration",
        "runtimeRequestTimeout",
        "timeout of runtime requests, except long-running ones",
      ),
      field("serialize-image-pulls", "bool", "serializeImagePulls", "pull one image at a time"),
      field("registry-qps", "int32", "registryPullQPS", "maximum image pulls per second, 0 for no limit"),
      field("registry-burst", "int32", "registryBurst", "maximum burst of image pulls"),
      flagOnly(
        "image-credential-provider-config",
        "string",
        "imageCredentialProviderConfig",
        "credential provider configuration, a file or directory",
      ),
      flagOnly(
        "image-credential-provider-bin-dir",
        "string",
        "imageCredentialProviderBinDir",
        "directory of credential provider plugin binaries",
      ),
      field(
        "image-gc-high-threshold",
        "int32",
        "imageGCHighThresholdPercent",
        "disk usage in percent above which image garbage collection always runs",
      ),
      field(
        "image-gc-low-threshold",
        "int32",
        "imageGCLowThresholdPercent",
        "disk usage in percent that image garbage collection frees down to",
      ),
      field(
        "minimum-image-ttl-duration",
        "duration",
        "imageMinimumGCAge",
        "minimum age of an unused image before it is garbage collected",
      ),
      flagOnly(
        "max-parallel-starts",
        "int32",
        "maxParallelStarts",
        "maximum sandboxes and containers created in parallel, 0 to size by CPUs (kubelet-ts only)",
      ),
      flagOnly(
        "prefetch-images",
        "bool",
        "prefetchImages",
        "pull the images of a pod before its containers need them (kubelet-ts only)",
      ),
      flagOnly(
        "image-pull-events",
        "bool",
        "imagePullEvents",
        "record an event a minute about an image pull that takes longer (kubelet-ts only)",
      ),
      deprecated(
        flagOnly(
          "minimum-container-ttl-duration",
          "duration",
          "minimumContainerTTLDuration",
          "minimum age of a dead container before it is garbage collected",
        ),
        containersAreEvicted,
      ),
      deprecated(
        flagOnly(
          "maximum-dead-containers",
          "int32",
          "maximumDeadContainers",
          "maximum number of dead containers to retain, -1 for no limit",
        ),
        containersAreEvicted,
      ),
      deprecated(
        flagOnly(
          "maximum-dead-containers-per-container",
          "int32",
          "maximumDeadContainersPerContainer",
          "maximum number of dead instances to retain per container",
        ),
        containersAreEvicted,
      ),
      field(
        "container-log-max-size",
        "string",
        "containerLogMaxSize",
        "maximum size of a container log file before it is rotated",
      ),
      field(
        "container-log-max-files",
        "int32",
        "containerLogMaxFiles",
        "maximum number of log files per container",
      ),
      flagOnly(
        "seccomp-default",
        "bool",
        "seccompDefault",
        "use RuntimeDefault as the default seccomp profile of all workloads",
      ),
      field(
        "allowed-unsafe-sysctls",
        "strings",
        "allowedUnsafeSysctls",
        "allowlist of unsafe sysctls or patterns (ending in *)",
      ),
    ],
  },
  {
    title: "Volumes",
    flags: [
      field("volume-plugin-dir", "string", "volumePluginDir", "directory of flexvolume plugins"),
      field(
        "volume-stats-agg-period",
        "duration",
        "volumeStatsAggPeriod",
        "interval of disk usage calculation for volumes",
      ),
      field(
        "enable-controller-attach-detach",
        "bool",
        "enableControllerAttachDetach",
        "let the attach/detach controller manage attachment of volumes",
      ),
      field(
        "local-storage-capacity-isolation",
        "bool",
        "localStorageCapacityIsolation",
        "enforce local ephemeral storage limits",
      ),
      deprecated(
        flagOnly(
          "experimental-mounter-path",
          "string",
          "experimentalMounterPath",
          "path of the mounter binary",
        ),
        "will be removed in 1.25 or later. in favor of using CSI.",
      ),
    ],
  },
];
