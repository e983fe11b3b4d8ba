import type { MessageInitShape } from "@bufbuild/protobuf";
import type { Brand } from "../../base/brand.ts";
import type * as api from "../../gen/runtime/v1/api_pb.js";

export type SandboxId = Brand<string, "SandboxId">;
export type ContainerId = Brand<string, "ContainerId">;

export type PodSandboxConfigInit = MessageInitShape<typeof api.PodSandboxConfigSchema>;
export type ContainerConfigInit = MessageInitShape<typeof api.ContainerConfigSchema>;
export type LinuxContainerResourcesInit = MessageInitShape<typeof api.LinuxContainerResourcesSchema>;
export type ImageSpecInit = MessageInitShape<typeof api.ImageSpecSchema>;
export type AuthConfigInit = MessageInitShape<typeof api.AuthConfigSchema>;

export interface CallOptions {
  signal?: AbortSignal;
  /** Overrides the deadline that the client would choose. */
  timeoutMs?: number;
  /** False for a call that the reference kubelet does not count among the operations of the runtime. */
  isCounted?: boolean;
}

/** Calls to the runtime service about sandboxes and containers. `createCriClient` implements them. Every call has a deadline and may be aborted. */
export interface RuntimeService {
  version(o?: CallOptions): Promise<api.VersionResponse>;
  status(verbose: boolean, o?: CallOptions): Promise<api.StatusResponse>;
  runtimeConfig(o?: CallOptions): Promise<api.RuntimeConfigResponse>;
  updateRuntimeConfig(podCidr: string, o?: CallOptions): Promise<void>;

  runPodSandbox(config: PodSandboxConfigInit, runtimeHandler: string, o?: CallOptions): Promise<SandboxId>;
  stopPodSandbox(id: SandboxId, o?: CallOptions): Promise<void>;
  removePodSandbox(id: SandboxId, o?: CallOptions): Promise<void>;
  /** `verbose`: with additional information, which the runtime may be slow to collect. */
  podSandboxStatus(
    id: SandboxId,
    o?: CallOptions & { verbose?: boolean },
  ): Promise<api.PodSandboxStatusResponse>;
  listPodSandboxes(
    filter?: MessageInitShape<typeof api.PodSandboxFilterSchema>,
    o?: CallOptions,
  ): Promise<api.PodSandbox[]>;

  createContainer(
    sandbox: SandboxId,
    config: ContainerConfigInit,
    sandboxConfig: PodSandboxConfigInit,
    o?: CallOptions,
  ): Promise<ContainerId>;
  startContainer(id: ContainerId, o?: CallOptions): Promise<void>;
  /** Sends the stop signal, and SIGKILL after the grace period. */
  stopContainer(id: ContainerId, graceSeconds: number, o?: CallOptions): Promise<void>;
  removeContainer(id: ContainerId, o?: CallOptions): Promise<void>;
  listContainers(
    filter?: MessageInitShape<typeof api.ContainerFilterSchema>,
    o?: CallOptions,
  ): Promise<api.Container[]>;
  containerStatus(id: ContainerId, o?: CallOptions): Promise<api.ContainerStatusResponse>;
  updateContainerResources(
    id: ContainerId,
    linux: LinuxContainerResourcesInit,
    o?: CallOptions,
  ): Promise<void>;
  /** Informs the runtime of new resources of a pod. Many runtimes do not implement it. */
  updatePodSandboxResources(
    id: SandboxId,
    overhead: LinuxContainerResourcesInit,
    resources: LinuxContainerResourcesInit,
    o?: CallOptions,
  ): Promise<void>;
  reopenContainerLog(id: ContainerId, o?: CallOptions): Promise<void>;
  /** Checkpoints the container into an archive. A timeout below the default deadline is ignored. */
  checkpointContainer(
    id: ContainerId,
    location: string,
    timeoutSeconds: number,
    o?: CallOptions,
  ): Promise<void>;

  execSync(
    id: ContainerId,
    command: string[],
    timeoutSeconds: number,
    o?: CallOptions,
  ): Promise<api.ExecSyncResponse>;

  /** The runtime's event stream. Ends when aborted; throws when the stream breaks or the runtime has none. */
  containerEvents(signal: AbortSignal): AsyncIterable<api.ContainerEventResponse>;
}

/** Streams of containers and pods. */
export interface StreamingService {
  /** The URL of a stream: valid for one connection, and for a short time. */
  exec(request: MessageInitShape<typeof api.ExecRequestSchema>, o?: CallOptions): Promise<api.ExecResponse>;
  attach(
    request: MessageInitShape<typeof api.AttachRequestSchema>,
    o?: CallOptions,
  ): Promise<api.AttachResponse>;
  portForward(
    request: MessageInitShape<typeof api.PortForwardRequestSchema>,
    o?: CallOptions,
  ): Promise<api.PortForwardResponse>;
}

/** Calls of the image service. */
export interface ImageService {
  listImages(o?: CallOptions): Promise<api.Image[]>;
  /** Undefined if the runtime does not have the image. */
  imageStatus(image: ImageSpecInit, o?: CallOptions): Promise<api.Image | undefined>;
  /** Resolves with the reference of the pulled image. */
  pullImage(
    image: ImageSpecInit,
    auth: AuthConfigInit | undefined,
    sandboxConfig: PodSandboxConfigInit | undefined,
    o?: CallOptions,
  ): Promise<string>;
  removeImage(image: ImageSpecInit, o?: CallOptions): Promise<void>;
  imageFsInfo(o?: CallOptions): Promise<api.ImageFsInfoResponse>;
}

/** Calls about the resource usage of pods. Old runtimes do not have them (UNIMPLEMENTED). */
export interface StatsService {
  listContainerStats(o?: CallOptions): Promise<api.ContainerStats[]>;
  listPodSandboxStats(o?: CallOptions): Promise<api.PodSandboxStats[]>;
}

/** Metrics of pods and containers in the form of Prometheus. Old runtimes do not have them (UNIMPLEMENTED). */
export interface MetricsService {
  /** The metrics that the runtime has, without values; static. */
  listMetricDescriptors(o?: CallOptions): Promise<api.MetricDescriptor[]>;
  listPodSandboxMetrics(o?: CallOptions): Promise<api.PodSandboxMetrics[]>;
}

/** A client of one runtime. It connects with the first call, and reconnects when needed. */
export interface CriClient
  extends RuntimeService,
    ImageService,
    StatsService,
    MetricsService,
    StreamingService {
  /** Calls back after each call that failed because the runtime is unavailable; the returned function unsubscribes. */
  onUnavailable(listener: () => void): () => void;
  /** Rejects new calls, and closes the connection when no call is pending. */
  close(): void;
}
