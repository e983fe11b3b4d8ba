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
  /** Ours alone: how many sandboxes and containers are made at once; 0 for as many as suit the CPUs. */
  maxParallelStarts: number;
  /** Ours alone: pods may be put over the kubelet API. */
  enableManifestsHandler: boolean;
  /** Ours alone: a folder of config maps and secrets; "" for none. */
  localObjects: string;
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
    maxParallelStarts: 0,
    enableManifestsHandler: false,
    localObjects: "",
  };
}
