import { create, type DescMethodUnary, type MessageInitShape, type MessageShape } from "@bufbuild/protobuf";
import { type Clock, sleep } from "../../src/lib/base/clock.ts";
import { abortError } from "../../src/lib/base/errors.ts";
import type {
  CallOptions,
  ContainerId,
  ImageService,
  RuntimeService,
  SandboxId,
} from "../../src/lib/clients/cri/cri.ts";
import { CriError } from "../../src/lib/clients/cri/cri-error.ts";
import {
  type ContainerConfig,
  type ContainerEventResponse,
  ImageService as Images,
  type PodSandboxConfig,
  RuntimeService as Runtime,
} from "../../src/lib/gen/runtime/v1/api_pb.js";
import { EventFeed } from "./event-feed.ts";
import { RuntimeFailure } from "./failure.ts";
import { type FakeImage, FakeImages, type RegistryEntry } from "./images.ts";
import { type Exec, methodHandlers } from "./methods.ts";
import { FakePods } from "./pods.ts";
import type { Program } from "./program.ts";

/** Simulated behavior of a call. */
export interface CallBehavior {
  /** How long the runtime takes before it acts. */
  beforeMs?: number;
  /** How long the response takes. */
  afterMs?: number;
  /** The call is not executed, or its response is lost, or the caller gets an error before it is executed. */
  fault?: "not executed" | "response lost" | "executed late";
}

export interface InMemoryOptions {
  clock: Clock;
  images?: Record<string, FakeImage>;
  registry?: Record<string, RegistryEntry>;
  program?: (config: ContainerConfig, sandbox: PodSandboxConfig) => Program | undefined;
  /** Overrides the result of a command in a container. */
  exec?: Exec;
  /** Offers the event stream, which old runtimes do not. */
  events?: boolean;
}

export interface InMemoryClientOptions {
  /** Decides the behavior of each call. */
  behavior?: (method: string, request: unknown) => CallBehavior;
  /** Called before a call takes effect; `late` if its caller has already received an error. */
  onCall?: (method: string, request: unknown, late: boolean) => void;
}

type Client = RuntimeService & ImageService;

/** The fake runtime without a socket: whole nodes run on it in simulated time. */
export class InMemoryRuntime {
  readonly pods: FakePods;
  readonly images: FakeImages;
  readonly #clock: Clock;
  readonly #events: EventFeed | undefined;
  readonly #handlers: ReturnType<typeof methodHandlers>;
  readonly #streams = new Set<AbortController>();
  #down = false;

  constructor(options: InMemoryOptions) {
    const { clock, program, exec, events = false } = options;
    this.#clock = clock;
    this.images = new FakeImages(clock, options.images ?? { "busybox:1": {} }, options.registry ?? {});
    const feed = new EventFeed();
    if (events) this.#events = feed;
    this.pods = new FakePods({ clock, images: this.images, events: feed, program });
    this.#handlers = methodHandlers({
      clock,
      pods: this.pods,
      images: this.images,
      conditions: { runtimeReady: true, networkReady: true },
      events: false,
      version: "1.0.0",
      exec,
    });
  }

  /** Starts or ends an outage; containers keep running. */
  set down(down: boolean) {
    this.#down = down;
    if (down) for (const stream of this.#streams) stream.abort();
  }

  get down(): boolean {
    return this.#down;
  }

  /** A client of one agent. After kill() nothing reaches the agent, and nothing new reaches the runtime. */
  client(options: InMemoryClientOptions = {}): Client & { kill(): void } {
    let killed = false;
    const never = new Promise<never>(() => {});

    const act = async <M extends DescMethodUnary>(
      method: M,
      request: MessageInitShape<M["input"]>,
      { late = false, signal }: { late?: boolean; signal?: AbortSignal } = {},
    ): Promise<MessageShape<M["output"]>> => {
      options.onCall?.(method.name, request, late);
      const handler = this.#handlers.get(method.name)!;
      try {
        const message = create(method.input, request);
        const result = await handler(message, signal ?? new AbortController().signal);
        return result as MessageShape<M["output"]>;
      } catch (error) {
        if (error instanceof RuntimeFailure) throw new CriError(error.grpcCode, method.name, error.message);
        throw error;
      }
    };

    const call = async <M extends DescMethodUnary>(
      method: M,
      request: MessageInitShape<M["input"]>,
      { signal }: CallOptions = {},
    ): Promise<MessageShape<M["output"]>> => {
      if (killed) return never;
      if (signal?.aborted) throw abortError(signal.reason);
      const { beforeMs = 0, afterMs = 0, fault } = options.behavior?.(method.name, request) ?? {};
      const work = async () => {
        if (fault === "not executed") throw new CriError("UNAVAILABLE", method.name, "not executed");
        if (fault === "executed late") {
          void sleep(this.#clock, 2000 + beforeMs)
            .then(() => act(method, request, { late: true }))
            .catch(() => {});
          throw new CriError("DEADLINE_EXCEEDED", method.name, "will be executed late");
        }
        const result = await act(method, request, { signal });
        if (fault === "response lost") throw new CriError("UNAVAILABLE", method.name, "response lost");
        return result;
      };
      if (beforeMs > 0) await sleep(this.#clock, beforeMs, signal);
      if (killed) return never;
      if (this.#down) throw new CriError("UNAVAILABLE", method.name, "connection refused");
      try {
        const result = await work();
        if (afterMs > 0) await sleep(this.#clock, afterMs, signal);
        return killed ? never : result;
      } catch (error) {
        if (afterMs > 0 && !signal?.aborted) await sleep(this.#clock, afterMs, signal);
        if (killed) return never;
        throw error;
      }
    };

    const listen = (signal: AbortSignal): AsyncIterable<ContainerEventResponse> => {
      if (!this.#events) throw new CriError("UNIMPLEMENTED", "GetContainerEvents", "no events");
      if (this.#down) throw new CriError("UNAVAILABLE", "GetContainerEvents", "connection refused");
      return this.#listen(this.#events, signal);
    };

    const r = Runtime.method;
    const i = Images.method;
    const gone = (error: unknown) => {
      if (!(error instanceof CriError && error.grpcCode === "NOT_FOUND")) throw error;
    };
    return {
      kill: () => {
        killed = true;
      },
      version: (o) => call(r.version, {}, o),
      status: (verbose, o) => call(r.status, { verbose }, o),
      runtimeConfig: (o) => call(r.runtimeConfig, {}, o),
      updateRuntimeConfig: async (podCidr, o) =>
        void (await call(r.updateRuntimeConfig, { runtimeConfig: { networkConfig: { podCidr } } }, o)),
      runPodSandbox: async (config, runtimeHandler, o) =>
        (await call(r.runPodSandbox, { config, runtimeHandler }, o)).podSandboxId as SandboxId,
      stopPodSandbox: async (id, o) =>
        void (await call(r.stopPodSandbox, { podSandboxId: id }, o).catch(gone)),
      removePodSandbox: async (id, o) =>
        void (await call(r.removePodSandbox, { podSandboxId: id }, o).catch(gone)),
      podSandboxStatus: (id, o) => call(r.podSandboxStatus, { podSandboxId: id }, o),
      listPodSandboxes: async (filter, o) => (await call(r.listPodSandbox, { filter }, o)).items,
      createContainer: async (podSandboxId, config, sandboxConfig, o) =>
        (await call(r.createContainer, { podSandboxId, config, sandboxConfig }, o))
          .containerId as ContainerId,
      startContainer: async (id, o) => void (await call(r.startContainer, { containerId: id }, o)),
      stopContainer: async (id, graceSeconds, o) =>
        void (await call(r.stopContainer, { containerId: id, timeout: BigInt(graceSeconds) }, o).catch(gone)),
      removeContainer: async (id, o) =>
        void (await call(r.removeContainer, { containerId: id }, o).catch(gone)),
      listContainers: async (filter, o) => (await call(r.listContainers, { filter }, o)).containers,
      containerStatus: (id, o) => call(r.containerStatus, { containerId: id }, o),
      updateContainerResources: async (id, linux, o) =>
        void (await call(r.updateContainerResources, { containerId: id, linux }, o)),
      updatePodSandboxResources: async (id, overhead, resources, o) => {
        await call(r.updatePodSandboxResources, { podSandboxId: id, overhead, resources }, o);
      },
      checkpointContainer: async (id, location, timeoutSeconds, o) => {
        const request = { containerId: id, location, timeout: BigInt(timeoutSeconds) };
        await call(r.checkpointContainer, request, o);
      },
      reopenContainerLog: async (id, o) => void (await call(r.reopenContainerLog, { containerId: id }, o)),
      execSync: (id, cmd, timeoutSeconds, o) =>
        call(r.execSync, { containerId: id, cmd, timeout: BigInt(timeoutSeconds) }, o),
      containerEvents: listen,
      listImages: async (o) => (await call(i.listImages, {}, o)).images,
      imageStatus: async (image, o) => (await call(i.imageStatus, { image }, o)).image,
      pullImage: async (image, auth, sandboxConfig, o) =>
        (await call(i.pullImage, { image, auth, sandboxConfig }, o)).imageRef,
      removeImage: async (image, o) => void (await call(i.removeImage, { image }, o)),
      imageFsInfo: (o) => call(i.imageFsInfo, {}, o),
    };
  }

  async *#listen(feed: EventFeed, signal: AbortSignal): AsyncGenerator<ContainerEventResponse> {
    const broken = new AbortController();
    this.#streams.add(broken);
    const queue: ContainerEventResponse[] = [];
    let wake = () => {};
    const leave = feed.listen((event) => {
      queue.push(event);
      wake();
    });
    const onEnd = () => wake();
    for (const end of [signal, broken.signal]) end.addEventListener("abort", onEnd);
    try {
      while (!signal.aborted) {
        const event = queue.shift();
        if (event) yield event;
        else if (broken.signal.aborted)
          throw new CriError("UNAVAILABLE", "GetContainerEvents", "connection broke");
        else
          await new Promise<void>((resolve) => {
            wake = resolve;
          });
      }
    } finally {
      leave();
      signal.removeEventListener("abort", onEnd);
      this.#streams.delete(broken);
    }
  }
}
