import type { Milliseconds } from "../duration.ts";

/** Settings that exist on the command line only. */
export interface KubeletFlags {
  config: string;
  configDir: string;
  help: boolean;
  /** "true" and "raw" request the version; "v1.2.3" changes the version that is reported; "" requests nothing. */
  version: string;
  rootDir: string;
  certDir: string;
  kubeconfig: string;
  bootstrapKubeconfig: string;
  hostnameOverride: string;
  nodeIP: string;
  nodeLabels: Record<string, string>;
  cloudProvider: string;
  runtimeCgroups: string;
  imageCredentialProviderConfig: string;
  imageCredentialProviderBinDir: string;
  seccompDefault: boolean;
  lockFile: string;
  exitOnLockContention: boolean;
  minimumContainerTTLDuration: Milliseconds;
  maximumDeadContainers: number;
  maximumDeadContainersPerContainer: number;
  experimentalMounterPath: string;
  experimentalAllocatableIgnoreEviction: boolean;
  housekeepingInterval: Milliseconds;
  machineIDFile: string;
  bootIDFile: string;
  /** kubelet-ts only: how many sandboxes and containers are created in parallel; 0: depends on the CPUs. */
  maxParallelStarts: number;
  /** kubelet-ts only: pulls the images of a pod before its containers need them. */
  prefetchImages: boolean;
  /** kubelet-ts only: records an event a minute about an image pull that takes longer. */
  imagePullEvents: boolean;
  /** kubelet-ts only: serves /manifests on the kubelet API. */
  enableManifestsHandler: boolean;
  /** kubelet-ts only: serves the node console on the kubelet API. */
  enableConsole: boolean;
  /** kubelet-ts only: serves heap snapshots, which contain all that the process has in memory. */
  enableHeapSnapshots: boolean;
  /** kubelet-ts only: a directory of ConfigMaps and Secrets; "" for none. */
  localObjects: string;
  /** kubelet-ts only: kernel settings that differ are reported, and not changed. */
  keepKernelTunables: boolean;
}

export function defaultFlags(): KubeletFlags {
  return {
    config: "",
    configDir: "",
    help: false,
    version: "",
    rootDir: "/var/lib/kubelet",
    certDir: "/var/lib/kubelet/pki",
    kubeconfig: "",
    bootstrapKubeconfig: "",
    hostnameOverride: "",
    nodeIP: "",
    nodeLabels: {},
    cloudProvider: "",
    runtimeCgroups: "",
    imageCredentialProviderConfig: "",
    imageCredentialProviderBinDir: "",
    seccompDefault: false,
    lockFile: "",
    exitOnLockContention: false,
    minimumContainerTTLDuration: 0,
    maximumDeadContainers: -1,
    maximumDeadContainersPerContainer: 1,
    experimentalMounterPath: "",
    experimentalAllocatableIgnoreEviction: false,
    housekeepingInterval: 10_000,
    machineIDFile: "/etc/machine-id,/var/lib/dbus/machine-id",
    bootIDFile: "/proc/sys/kernel/random/boot_id",
    maxParallelStarts: 0,
    prefetchImages: true,
    imagePullEvents: false,
    enableManifestsHandler: false,
    enableConsole: false,
    enableHeapSnapshots: false,
    localObjects: "",
    keepKernelTunables: false,
  };
}
