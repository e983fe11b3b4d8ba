import type { ConsoleNode, NodeConsole } from "../../console/console-node.ts";
import type { Clock } from "../../lib/base/clock.ts";
import type { Logger } from "../../lib/base/logger.ts";
import type { Metrics } from "../../lib/base/metrics.ts";
import type { KubeletFlags } from "../../lib/config/flags/kubelet-flags.ts";
import type { KubeletConfiguration } from "../../lib/config/kubelet-configuration.ts";
import type { CgroupLayout } from "../../lib/host/cgroups/layout.ts";
import type { KernelLog } from "../../lib/host/kernel-log.ts";
import type { ServiceManager } from "../../lib/host/sd-notify.ts";
import type { IdentityFiles } from "../../lib/host/system-identity.ts";
import type { ClusterOptions } from "../certs/cluster-access.ts";
import type { ServingCertificate } from "../certs/serving-certificate.ts";
import type { PodOverview } from "../explain/pod-overview.ts";
import type { PodSource, SourceProblem } from "../pipeline/sources/source.ts";
import type { ContainerGcPolicy } from "../pods/garbage/container-plan.ts";
import type { LoadedProviders } from "../pods/images/providers/load-providers.ts";
import type { Tracing } from "./tracing.ts";

export interface GateState {
  name: string;
  stage: string;
  enabled: boolean;
}

export interface AgentOptions {
  config: KubeletConfiguration;
  rootDir: string;
  /** Where device plugins register; `<root-dir>/device-plugins` unless set. */
  devicePluginDir?: string | undefined;
  /** The directory of the symlinks to container logs. */
  containerLogsDir?: string;
  hostnameOverride?: string;
  nodeIp?: string;
  /** Flags about the node as part of a cluster. */
  nodeFlags?: Partial<
    Pick<
      KubeletFlags,
      | "nodeLabels"
      | "cloudProvider"
      | "experimentalAllocatableIgnoreEviction"
      | "experimentalMounterPath"
      | "runtimeCgroups"
    >
  >;
  /** The cluster to join; without it the agent runs static and applied pods only. */
  cluster?: ClusterOptions;
  /** True if the cluster is this machine only, with the embedded API. */
  isSingleNode?: boolean;
  /** The directory of the serving certificate; without it the agent has none. */
  certDir?: string;
  /** The kubelet API, at the configured address and port; it needs a certificate. */
  server?: {
    version: string;
    /** Command line flags with their values. */
    flags?: Readonly<Record<string, string>>;
    /** Whether manifests can be applied there. */
    manifests?: boolean;
    /** Whether heap snapshots can be taken there. */
    heapSnapshots?: boolean;
  };
  /** The version that the console shows if nothing else has it. */
  version?: string;
  /** The node console; without it every path of it is unknown. */
  console?: ConsoleOptions;
  /** The directory of manifests applied over HTTP or by `kubelet apply`; `<root-dir>/applied` unless set. */
  appliedDir?: string;
  /** A directory of ConfigMaps and Secrets, for a node without a cluster. */
  localObjects?: string;
  /** Changes the log verbosity at runtime. */
  setVerbosity?: (level: number) => void;
  /** Credential provider plugins for image registries. */
  credentialProviders?: LoadedProviders;
  /** Replace the configured sources and applied manifests. The pods of the cluster are added to them. */
  sources?: (nodeName: string) => PodSource[];
  /** Set for the kubelet of a machine, which checks swap, sets kernel tunables and protects itself from the OOM killer. */
  host?: {
    keepsKernelTunables: boolean;
    /** The kernel's list of swap devices; /proc/swaps unless set. */
    swapsFile?: string;
  };
  /** True if the agent creates the cgroup root. */
  createsCgroupRoot?: boolean;
  /** Which dead containers to keep; unless set, the last one of each name. */
  deadContainers?: ContainerGcPolicy;
  /** How many sandboxes and containers are started in parallel; 0 derives it from the number of CPUs. */
  maxParallelStarts?: number;
  /** False if images are pulled only when a container needs them, as the reference does. */
  prefetchImages?: boolean;
  /** Records an event a minute about an image pull that takes longer. */
  imagePullEvents?: boolean;
  /** Overrides the configured port for /healthz; 0 for any free port. */
  healthPort?: number;
  /** False if other processes run pods in the same runtime: unknown pods are then left alone. */
  terminatesOrphans?: boolean;
  /** True if an API server may have pods for this node that the agent cannot see: pods from the API are then left alone. */
  keepsApiPods?: boolean;
  /** Passed in if components were created before the agent; otherwise created. */
  metrics?: Metrics;
  /** Passed in by a caller that has one; otherwise created as configured. */
  tracing?: Tracing | undefined;
  /** Where the IDs of machine and boot are; the usual files unless set. */
  identityFiles?: IdentityFiles;
  /** Where cgroups are mounted; read from the mount table unless set. */
  cgroupLayout?: CgroupLayout;
  /** Where sysfs is mounted, for CPUs and NUMA nodes; /sys unless set. */
  sysDir?: string;
  /** Replaces the system bus and the configuration directory of logind. */
  logind?: { socketPath: string; confDir: string };
  /** Replaces the log of the kernel. */
  kernelLog?: () => Promise<KernelLog>;
  /** Aborts a start that is not complete, which then fails. A started agent is stopped by `Agent.stop`. */
  stopping?: AbortSignal;
  clock: Clock;
  logger: Logger;
  serviceManager?: ServiceManager;
  gates: { enabled(name: string): boolean; list?(): GateState[] };
}

export interface ConsoleOptions {
  readonly create: (node: ConsoleNode) => NodeConsole;
  /** A port of its own on the loopback interface, without TLS; 0 for any. Undefined: the port of the kubelet API. */
  readonly loopbackPort?: number;
  /** The command that prints a link to it. */
  readonly linkCommand: string;
}

export interface Agent {
  readonly nodeName: string;
  readonly overview: PodOverview;
  readonly metrics: Metrics;
  /** Probe metrics are served separately. */
  readonly probeMetrics: Metrics;
  readonly healthPort: number | undefined;
  /** The port of the kubelet API, if it is served. */
  readonly serverPort: number | undefined;
  /** The certificate of the kubelet API, if it is served. */
  readonly servingCertificate: ServingCertificate | undefined;
  /** A new link to the console, which logs in once; undefined if it is not served. */
  consoleLink(): string | undefined;
  problems(): SourceProblem[];
  /** Terminates all pods and cleans up after them. Resolves when they are gone, or after `withinMs`. */
  terminatePods(options: { graceSeconds: number; withinMs: number }): Promise<void>;
  /** Stops the agent. Pods keep running. */
  stop(): Promise<void>;
}
