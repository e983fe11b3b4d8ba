import { type FlagGroup, field, own } from "./spec.ts";

/** Flags about pods: where they come from, their images, containers and volumes. */
export const podFlags: readonly FlagGroup[] = [
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
        "kubeconfig to request the first client certificate with",
      ),
      field("pod-manifest-path", "string", "staticPodPath", "static pod file, or a directory of them"),
      field(
        "file-check-frequency",
        "duration",
        "fileCheckFrequency",
        "time between two scans of the manifest directory",
      ),
      field("manifest-url", "string", "staticPodURL", "URL of further static pods"),
      field("manifest-url-header", "headers", "staticPodURLHeader", "headers for that URL, name:value,…"),
      field(
        "http-check-frequency",
        "duration",
        "httpCheckFrequency",
        "time between two requests to that URL",
      ),
      own(
        "local-objects",
        "string",
        "localObjects",
        "directory of ConfigMaps and Secrets for pods, without an API server (kubelet-ts only)",
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
        "credential provider settings, a file or directory",
      ),
      own(
        "image-credential-provider-bin-dir",
        "string",
        "imageCredentialProviderBinDir",
        "directory of credential provider programs",
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
        "max-parallel-starts",
        "int32",
        "maxParallelStarts",
        "sandboxes and containers to make at once, 0 for as many as suit the CPUs (kubelet-ts only)",
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
    title: "Volumes",
    flags: [
      field("volume-plugin-dir", "string", "volumePluginDir", "directory of flexvolume plugins"),
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
];
