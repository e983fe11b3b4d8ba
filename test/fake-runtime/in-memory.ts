import { create, type DescMethodUnary, type MessageInitShape, type MessageShape } from "@bufbuild/protobuf";
import { type Clock, sleep } from "../../src/base/clock.ts";
import type { ContainerId, ImageService, RuntimeService, SandboxId } from "../../src/clients/cri/cri.ts";
import { CriError } from "../../src/clients/cri/cri-error.ts";
import {
  type ContainerConfig,
  ImageService as Images,
  type PodSandboxConfig,
  RuntimeService as Runtime,
} from "../../src/gen/runtime/v1/api_pb.js";
import { EventFeed } from "./event-feed.ts";
import { RuntimeFailure } from "./failure.ts";
import { type FakeImage, FakeImages } from "./images.ts";
import { methodHandlers } from "./methods.ts";
import { FakePods } from "./pods.ts";
import type { Program } from "./program.ts";

/** What happens to a call besides what it asks for. */
export interface Fate {
  /** How long the runtime takes before it acts. */
  beforeMs?: number;
  /** How long the answer takes. */
  afterMs?: number;
  /** Nothing is done, or it is done and the answer is lost, or the caller is told so before it is done. */
  trouble?: "not done" | "answer lost" | "done late";
}

export interface InMemoryOptions {
  clock: Clock;
  images?: Record<string, FakeImage>;
  program?: (config: ContainerConfig, sandbox: PodSandboxConfig) => Program | undefined;
}

export interface InMemoryClientOptions {
  fate?: (method: string) => Fate;
  /** Before a call takes effect; late if its caller was told before that it had failed. */
  onCall?: (method: string, request: unknown, late: boolean) => void;
}

type Client = RuntimeService & Pick<ImageService, "imageStatus" | "pullImage">;

/** The fake runtime without a socket: whole nodes run on it in simulated time. */
export class InMemoryRuntime {
  readonly pods: FakePods;
  readonly images: FakeImages;
  readonly #clock: Clock;
  readonly #handlers: ReturnType<typeof methodHandlers>;

  constructor(options: InMemoryOptions) {
    const { clock, program } = options;
    this.#clock = clock;
    this.images = new FakeImages(clock, options.images ?? { "busybox:1": {} }, {});
    this.pods = new FakePods({ clock, images: this.images, events: new EventFeed(), program });
    this.#handlers = methodHandlers({
      clock,
      pods: this.pods,
      images: this.images,
      conditions: { runtimeReady: true, networkReady: true },
      events: false,
      version: "1.0.0",
    });
  }

  /** A client of one agent. After kill() nothing reaches the agent, and nothing new reaches the runtime. */
  client(options: InMemoryClientOptions = {}): Client & { kill(): void } {
    let killed = false;
    const never = new Promise<never>(() => {});

    const act = async <M extends DescMethodUnary>(
      method: M,
      request: MessageInitShape<M["input"]>,
      late = false,
    ): Promise<MessageShape<M["output"]>> => {
      options.onCall?.(method.name, request, late);
      const handler = this.#handlers.get(method.name)!;
      try {
        const message = create(method.input, request);
        return (await handler(message, new AbortController().signal)) as MessageShape<M["output"]>;
      } catch (error) {
        if (error instanceof RuntimeFailure) throw new CriError(error.grpcCode, method.name, error.message);
        throw error;
      }
    };

    const call = async <M extends DescMethodUnary>(
      method: M,
      request: MessageInitShape<M["input"]>,
    ): Promise<MessageShape<M["output"]>> => {
      if (killed) return never;
      const { beforeMs = 0, afterMs = 0, trouble } = options.fate?.(method.name) ?? {};
      const work = async () => {
        if (trouble === "not done") throw new CriError("UNAVAILABLE", method.name, "not done");
        if (trouble === "done late") {
          void sleep(this.#clock, 2000 + beforeMs)
            .then(() => act(method, request, true))
            .catch(() => {});
          throw new CriError("DEADLINE_EXCEEDED", method.name, "will be done late");
        }
        const answer = await act(method, request);
        if (trouble === "answer lost") throw new CriError("UNAVAILABLE", method.name, "answer lost");
        return answer;
      };
      if (beforeMs > 0) await sleep(this.#clock, beforeMs);
      try {
        const answer = await work();
        if (afterMs > 0) await sleep(this.#clock, afterMs);
        return killed ? never : answer;
      } catch (error) {
        if (afterMs > 0) await sleep(this.#clock, afterMs);
        if (killed) return never;
        throw error;
      }
    };

    const r = Runtime.method;
    const i = Images.method;
    const unused = (): never => {
      throw new Error("not offered by the runtime in memory");
    };
    const gone = (error: unknown) => {
      if (!(error instanceof CriError && error.grpcCode === "NOT_FOUND")) throw error;
    };
    return {
      kill: () => {
        killed = true;
      },
      version: () => call(r.version, {}),
      status: (verbose) => call(r.status, { verbose }),
      runtimeConfig: () => call(r.runtimeConfig, {}),
      updateRuntimeConfig: unused,
      runPodSandbox: async (config, runtimeHandler) =>
        (await call(r.runPodSandbox, { config, runtimeHandler })).podSandboxId as SandboxId,
      stopPodSandbox: async (id) => void (await call(r.stopPodSandbox, { podSandboxId: id }).catch(gone)),
      removePodSandbox: async (id) => void (await call(r.removePodSandbox, { podSandboxId: id }).catch(gone)),
      podSandboxStatus: (id) => call(r.podSandboxStatus, { podSandboxId: id }),
      listPodSandboxes: async (filter) => (await call(r.listPodSandbox, { filter })).items,
      createContainer: async (podSandboxId, config, sandboxConfig) =>
        (await call(r.createContainer, { podSandboxId, config, sandboxConfig })).containerId as ContainerId,
      startContainer: async (id) => void (await call(r.startContainer, { containerId: id })),
      stopContainer: async (id, graceSeconds) =>
        void (await call(r.stopContainer, { containerId: id, timeout: BigInt(graceSeconds) }).catch(gone)),
      removeContainer: async (id) => void (await call(r.removeContainer, { containerId: id }).catch(gone)),
      listContainers: async (filter) => (await call(r.listContainers, { filter })).containers,
      containerStatus: (id) => call(r.containerStatus, { containerId: id }),
      updateContainerResources: unused,
      reopenContainerLog: unused,
      execSync: unused,
      containerEvents: unused,
      imageStatus: async (image) => (await call(i.imageStatus, { image })).image,
      pullImage: async (image) => (await call(i.pullImage, { image })).imageRef,
    };
  }
}
