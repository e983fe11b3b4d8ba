import type {
  DescMessage,
  DescMethod,
  DescMethodServerStreaming,
  DescMethodUnary,
  MessageInitShape,
  MessageShape,
} from "@bufbuild/protobuf";
import type { Client } from "@grpc/grpc-js";
import { type Clock, msSince } from "../../base/clock.ts";
import { isAbort } from "../../base/errors.ts";
import { KeyedLocks } from "../../base/keyed-locks.ts";
import { Listeners } from "../../base/listeners.ts";
import type { Logger } from "../../base/logger.ts";
import type { Metrics } from "../../base/metrics.ts";
import type { Tracer } from "../../base/tracing/tracer.ts";
import { ImageService as Images, RuntimeService as Runtime } from "../../gen/runtime/v1/api_pb.js";
import type { CallOptions, ContainerId, CriClient, SandboxId } from "./cri.ts";
import { CriError, hasGrpcCode, toCriError } from "./cri-error.ts";
import { socketPathOf } from "./endpoint.ts";
import { streamEvents } from "./event-stream.ts";
import { type CallLimits, openChannel } from "./grpc-call.ts";
import { createOperationMetrics } from "./operation-metrics.ts";
import { streamCalls, unaryCalls } from "./traced-call.ts";

/** The kubelet API version, which every runtime expects. */
const KUBELET_API_VERSION = "0.1.0";

/** The maximum of a timer; no call takes that long. */
const maxTimerSeconds = 2_147_483;

export interface CriClientOptions {
  runtimeEndpoint: string;
  /** The endpoint of the image service; by default the runtime's own endpoint. */
  imageEndpoint?: string;
  /** The default deadline of a call. */
  requestTimeoutMs: number;
  logger: Logger;
  clock: Clock;
  metrics: Metrics;
  /** Absent: no spans are created. */
  tracer?: Tracer | undefined;
  /** Requests lists as streams, which have no size limit, from services that have them (CRIListStreaming). */
  streamsLists?: boolean;
  /** Counts ImageFsInfo among the operations of the runtime, as the reference kubelet does for CRI-O. */
  countsImageFs?: boolean;
}

interface Limits extends CallOptions {
  defaultTimeoutMs?: number | "none";
  /** NOT_FOUND is a success. */
  notFoundIsSuccess?: boolean;
}

export function createCriClient(options: CriClientOptions): CriClient {
  const { requestTimeoutMs, clock } = options;
  const logger = options.logger.with({ component: "cri" });
  const operations = createOperationMetrics(options.metrics, options);
  const callUnary = unaryCalls(options.tracer);
  const callStream = streamCalls(options.tracer);
  /** The services that stream lists, as far as is known. */
  const streaming = new Set(options.streamsLists ? [Runtime.typeName, Images.typeName] : []);
  const runtimePath = socketPathOf(options.runtimeEndpoint);
  const imagePath = options.imageEndpoint ? socketPathOf(options.imageEndpoint) : runtimePath;
  const runtimeChannel = openChannel(runtimePath);
  const imageChannel = imagePath === runtimePath ? runtimeChannel : openChannel(imagePath);
  const ending = new KeyedLocks();
  const unavailable = new Listeners();
  let closed = false;

  const onFailure = (method: string, error: unknown) => {
    if (isAbort(error)) return;
    logger.debug(4, "Runtime call failed", { method, err: error });
    if (hasGrpcCode(error, "UNAVAILABLE")) unavailable.notify();
  };

  const perform = async <T>(
    method: DescMethod,
    o: Limits,
    run: (channel: Client, limits: CallLimits) => Promise<T>,
  ): Promise<T> => {
    const standard = o.defaultTimeoutMs ?? requestTimeoutMs;
    const timeoutMs = o.timeoutMs ?? (standard === "none" ? undefined : standard);
    const channel = method.parent.typeName === Images.typeName ? imageChannel : runtimeChannel;
    if (closed) throw new CriError("CANCELLED", method.name, "the connection to the runtime is closed");
    const startedAt = clock.monotonic();
    let failed = false;
    try {
      return await run(channel, { clock, timeoutMs, signal: o.signal });
    } catch (error) {
      failed = !(o.notFoundIsSuccess && hasGrpcCode(error, "NOT_FOUND"));
      if (failed) onFailure(method.name, error);
      throw error;
    } finally {
      if (o.isCounted ?? true) operations.record(method.name, msSince(clock, startedAt) / 1000, failed);
    }
  };

  const call = <I extends DescMessage, O extends DescMessage>(
    method: DescMethodUnary<I, O>,
    request: MessageInitShape<I>,
    o: Limits = {},
  ): Promise<MessageShape<O>> =>
    perform(method, o, (channel, limits) => callUnary(channel, method, request, limits));

  /** A list, as the messages of a stream or as one response. */
  const list = <I extends DescMessage, O extends DescMessage, SI extends DescMessage, SO extends DescMessage>(
    unary: DescMethodUnary<I, O>,
    stream: DescMethodServerStreaming<SI, SO>,
    request: MessageInitShape<I> & MessageInitShape<SI>,
    o: Limits = {},
  ): Promise<(MessageShape<O> | MessageShape<SO>)[]> =>
    perform(unary, o, async (channel, limits) => {
      const service = unary.parent.typeName;
      if (streaming.has(service)) {
        try {
          return await callStream(channel, stream, request, limits);
        } catch (error) {
          if (!hasGrpcCode(error, "UNIMPLEMENTED")) throw error;
          logger.info("Runtime does not stream lists, falling back", { method: stream.name });
          streaming.delete(service);
        }
      }
      return [await callUnary(channel, unary, request, limits)];
    });

  /** Stop and remove are idempotent in the CRI: NOT_FOUND is a success. */
  const end = async <I extends DescMessage>(
    method: DescMethodUnary<I, DescMessage>,
    request: MessageInitShape<I>,
    o?: Limits,
  ): Promise<void> => {
    try {
      await call(method, request, { ...o, notFoundIsSuccess: true });
    } catch (error) {
      if (!hasGrpcCode(error, "NOT_FOUND")) throw error;
    }
  };

  /** Calls that end the same object run one at a time: if two calls remove it at once, CRI-O rejects the second. */
  const endOne = async <I extends DescMessage>(
    id: SandboxId | ContainerId,
    method: DescMethodUnary<I, DescMessage>,
    request: MessageInitShape<I>,
    o?: Limits,
  ): Promise<void> => {
    using _ = await ending.acquire([id], o?.signal);
    await end(method, request, o);
  };

  const r = Runtime.method;
  const i = Images.method;
  return {
    version: (o) => call(r.version, { version: KUBELET_API_VERSION }, o),
    status: (verbose, o) => call(r.status, { verbose }, o),
    runtimeConfig: (o) => call(r.runtimeConfig, {}, o),
    updateRuntimeConfig: async (podCidr, o) => {
      await call(r.updateRuntimeConfig, { runtimeConfig: { networkConfig: { podCidr } } }, o);
    },

    runPodSandbox: async (config, runtimeHandler, o) => {
      const startedAt = clock.monotonic();
      let failed = true;
      try {
        // A sandbox may have to pull its image and set up a network first.
        const limits = { ...o, defaultTimeoutMs: 2 * requestTimeoutMs };
        const { podSandboxId } = await call(r.runPodSandbox, { config, runtimeHandler }, limits);
        if (!podSandboxId)
          throw toCriError(r.runPodSandbox.name, new Error("the runtime returned no sandbox ID"));
        failed = false;
        return podSandboxId as SandboxId;
      } finally {
        operations.recordSandboxRun(runtimeHandler, msSince(clock, startedAt) / 1000, failed);
      }
    },
    stopPodSandbox: (id, o) => endOne(id, r.stopPodSandbox, { podSandboxId: id }, o),
    removePodSandbox: (id, o) => endOne(id, r.removePodSandbox, { podSandboxId: id }, o),
    podSandboxStatus: (id, { verbose = false, ...o } = {}) =>
      call(r.podSandboxStatus, { podSandboxId: id, verbose }, o),
    listPodSandboxes: async (filter, o) =>
      (await list(r.listPodSandbox, r.streamPodSandboxes, { filter }, o)).flatMap((part) =>
        "items" in part ? part.items : part.podSandboxes,
      ),

    createContainer: async (sandbox, config, sandboxConfig, o) => {
      const { containerId } = await call(
        r.createContainer,
        { podSandboxId: sandbox, config, sandboxConfig },
        o,
      );
      if (!containerId)
        throw toCriError(r.createContainer.name, new Error("the runtime returned no container ID"));
      return containerId as ContainerId;
    },
    startContainer: async (id, o) => {
      await call(r.startContainer, { containerId: id }, o);
    },
    stopContainer: (id, graceSeconds, o) =>
      end(
        r.stopContainer,
        { containerId: id, timeout: BigInt(Math.max(0, Math.ceil(graceSeconds))) },
        { ...o, defaultTimeoutMs: graceSeconds * 1000 + requestTimeoutMs },
      ),
    removeContainer: (id, o) => endOne(id, r.removeContainer, { containerId: id }, o),
    listContainers: async (filter, o) =>
      (await list(r.listContainers, r.streamContainers, { filter }, o)).flatMap((part) => part.containers),
    containerStatus: (id, o) => call(r.containerStatus, { containerId: id }, o),
    exec: (request, o) => call(r.exec, request, o),
    attach: (request, o) => call(r.attach, request, o),
    portForward: (request, o) => call(r.portForward, request, o),
    updateContainerResources: async (id, linux, o) => {
      await call(r.updateContainerResources, { containerId: id, linux }, o);
    },
    updatePodSandboxResources: async (id, overhead, resources, o) => {
      await call(r.updatePodSandboxResources, { podSandboxId: id, overhead, resources }, o);
    },
    reopenContainerLog: async (id, o) => {
      await call(r.reopenContainerLog, { containerId: id }, o);
    },
    checkpointContainer: async (id, location, timeoutSeconds, o) => {
      const least = Math.floor(requestTimeoutMs / 1000);
      const seconds = Math.min(Math.max(timeoutSeconds, least), maxTimerSeconds);
      const request = { containerId: id, location, timeout: BigInt(seconds) };
      await call(r.checkpointContainer, request, {
        ...o,
        defaultTimeoutMs: Math.max(seconds * 1000, requestTimeoutMs),
      });
    },

    // Without its own timeout a command may run forever, as lifecycle hooks may.
    execSync: (id, command, timeoutSeconds, o) =>
      call(
        r.execSync,
        { containerId: id, cmd: command, timeout: BigInt(Math.max(0, Math.ceil(timeoutSeconds))) },
        { ...o, defaultTimeoutMs: timeoutSeconds > 0 ? timeoutSeconds * 1000 + requestTimeoutMs : "none" },
      ),

    containerEvents: (signal) =>
      streamEvents(runtimeChannel, signal, (error) => {
        if (error) onFailure(r.getContainerEvents.name, error);
      }),

    listImages: async (o) => (await list(i.listImages, i.streamImages, {}, o)).flatMap((part) => part.images),
    imageStatus: async (image, o) => (await call(i.imageStatus, { image }, o)).image,
    // A large image on a slow connection may take hours; only the caller may abort it.
    pullImage: async (image, auth, sandboxConfig, o) => {
      const limits: Limits = { ...o, defaultTimeoutMs: "none" };
      const { imageRef } = await call(i.pullImage, { image, auth, sandboxConfig }, limits);
      if (!imageRef) throw toCriError(i.pullImage.name, new Error("the runtime returned no image reference"));
      return imageRef;
    },
    removeImage: (image, o) => end(i.removeImage, { image }, o),
    imageFsInfo: (o) => call(i.imageFsInfo, {}, o),

    listContainerStats: async (o) =>
      (await list(r.listContainerStats, r.streamContainerStats, {}, o)).flatMap((part) =>
        "stats" in part ? part.stats : part.containerStats,
      ),
    listPodSandboxStats: async (o) =>
      (await list(r.listPodSandboxStats, r.streamPodSandboxStats, {}, o)).flatMap((part) =>
        "stats" in part ? part.stats : part.podSandboxStats,
      ),
    listMetricDescriptors: async (o) => (await call(r.listMetricDescriptors, {}, o)).descriptors,
    listPodSandboxMetrics: async (o) =>
      (await list(r.listPodSandboxMetrics, r.streamPodSandboxMetrics, {}, o)).flatMap((part) =>
        "podMetrics" in part ? part.podMetrics : part.podSandboxMetrics,
      ),

    onUnavailable: (listener) => unavailable.add(listener),
    close: () => {
      closed = true;
      runtimeChannel.close();
      imageChannel.close();
    },
  };
}
