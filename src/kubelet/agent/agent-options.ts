import type { Clock } from "../../lib/base/clock.ts";
import type { Logger } from "../../lib/base/logger.ts";
import type { Metrics } from "../../lib/base/metrics.ts";
import type { KubeletFlags } from "../../lib/config/flags/kubelet-flags.ts";
import type { KubeletConfiguration } from "../../lib/config/kubelet-configuration.ts";
import type { ServiceManager } from "../../lib/host/sd-notify.ts";
import type { PodSource, SourceProblem } from "../pipeline/sources/source.ts";
import type { ContainerGcPolicy } from "../pods/garbage/container-plan.ts";
import type { LoadedProviders } from "../pods/images/providers/load-providers.ts";
import type { ClusterOptions } from "./cluster-view.ts";
import type { PodBoard } from "./pod-board.ts";
import type { ServingCertificate } from "./serving-certificate.ts";
import type { Tracing } from "./tracing.ts";

export interface GateState {
  name: string;
  stage: string;
  enabled: boolean;
}

export interface AgentOptions {
  config: KubeletConfiguration;
  rootDir: string;
  /** Where the links to container logs go. */
  containerLogsDir?: string;
  hostnameOverride?: string;
  nodeIp?: string;
  /** What flags say of the node as part of a cluster. */
  nodeFlags?: Partial<
    Pick<
      KubeletFlags,
      "nodeLabels" | "cloudProvider" | "experimentalAllocatableIgnoreEviction" | "runtimeCgroups"
    >
  >;
  /** The cluster to be a node of; without it the agent runs its own pods only. */
  cluster?: ClusterOptions;
  /** True if the cluster is this machine alone, with an API of its own. */
  isSingleNode?: boolean;
  /** Where the certificate of the agent's own server is kept; absent: it has none. */
  certDir?: string;
  /** The agent's own API, at the configured address and port; it needs a certificate. */
  server?: {
    version: string;
    /** Of the command line, with their values. */
    flags?: Readonly<Record<string, string>>;
    /** Whether pods may be put there. */
    manifests?: boolean;
  };
  /** Where manifests are kept that were put by HTTP or by `kubelet apply`; `<root-dir>/applied` unless told. */
  appliedDir?: string;
  /** A folder of config maps and secrets, for a node that is part of no cluster. */
  localObjects?: string;
  /** How much is logged from now on. */
  setVerbosity?: (level: number) => void;
  /** Programs that know credentials of registries. */
  credentialProviders?: LoadedProviders;
  /** Instead of those that the configuration names and of applied manifests. The cluster's pods come besides. */
  sources?: (nodeName: string) => PodSource[];
  /** True if the cgroup root is ours to make. */
  createsCgroupRoot?: boolean;
  /** Which dead containers to keep; the last one of each name unless told. */
  deadContainers?: ContainerGcPolicy;
  /** How many sandboxes and containers are made at once; 0 for as many as suit the CPUs. */
  maxParallelStarts?: number;
  /** Instead of the configured port for /healthz; 0 for any that is free. */
  healthPort?: number;
  /** False if others may run pods in the same runtime: what is not ours is then left alone. */
  terminatesOrphans?: boolean;
  /** True if an API server may want pods that we do not hear of: those that came from one are then left alone. */
  keepsApiPods?: boolean;
  /** Of an agent of which something was made before; else they are made. */
  metrics?: Metrics;
  /** The same; else what the configuration says. */
  tracing?: Tracing | undefined;
  /** Ends a start that is not complete, which then fails. Whoever has an agent stops it. */
  stopping?: AbortSignal;
  clock: Clock;
  logger: Logger;
  serviceManager?: ServiceManager;
  gates: { enabled(name: string): boolean; list?(): GateState[] };
}

export interface Agent {
  readonly nodeName: string;
  readonly board: PodBoard;
  readonly metrics: Metrics;
  /** Those of the probes are read apart from the others. */
  readonly probeMetrics: Metrics;
  readonly healthPort: number | undefined;
  /** Of the agent's own API, if it has one. */
  readonly serverPort: number | undefined;
  /** For the agent's own server, if it has one. */
  readonly servingCertificate: ServingCertificate | undefined;
  problems(): SourceProblem[];
  /** Ends all pods and removes what they left. Resolves when they are gone, or when it has taken too long. */
  terminatePods(options: { graceSeconds: number; withinMs: number }): Promise<void>;
  /** Ends the agent. Pods run on. */
  stop(): Promise<void>;
}
