import { rm } from "node:fs/promises";
import { createServer, type Server as NetServer, type Socket } from "node:net";
import { create, type DescMethod, type JsonValue, type Message, toJson } from "@bufbuild/protobuf";
import {
  Server,
  ServerCredentials,
  type ServerUnaryCall,
  type ServerWritableStream,
  type sendUnaryData,
  status,
} from "@grpc/grpc-js";
import { type Clock, systemClock } from "../../src/lib/base/clock.ts";
import { abortError, isAbort, messageOf } from "../../src/lib/base/errors.ts";
import { epochMs } from "../../src/lib/base/time.ts";
import { serviceDefinition } from "../../src/lib/clients/cri/service-definition.ts";
import {
  type ContainerConfig,
  type ContainerEventResponse,
  ImageService,
  type PodSandboxConfig,
  RuntimeService,
} from "../../src/lib/gen/runtime/v1/api_pb.js";
import { crioHandlers } from "./crio.ts";
import { EventFeed } from "./event-feed.ts";
import { RuntimeFailure } from "./failure.ts";
import { type Fault, Faults } from "./faults.ts";
import { type FakeImage, FakeImages, type RegistryEntry } from "./images.ts";
import { type Exec, methodHandlers, type RuntimeState, type StreamUrl } from "./methods.ts";
import { FakePods } from "./pods.ts";
import type { Program } from "./program.ts";

/** The default images of a fake runtime. */
export const fakeImages = { pause: "localhost/fake/pause:1", busybox: "localhost/fake/busybox:1" };

export interface FakeRuntimeOptions {
  socketPath: string;
  /** The clock of containers, grace periods and timestamps; by default the system's. */
  clock?: Clock;
  /** Offers the event stream, which old runtimes do not. */
  events?: boolean;
  /** Behaves like CRI-O instead of containerd. Without events it ends the event stream at once. */
  crio?: boolean;
  /** Streams lists, which most runtimes do not. */
  streamsLists?: boolean;
  /** Lists the statistics of containers and sandboxes, and the metrics of sandboxes, with no values. */
  stats?: boolean;
  images?: Record<string, FakeImage>;
  registry?: Record<string, RegistryEntry>;
  /** Overrides the program of a container. */
  program?: (config: ContainerConfig, sandbox: PodSandboxConfig) => Program | undefined;
  /** Overrides the result of a command in a container. */
  exec?: Exec;
  /** The streaming server for exec, attach and port-forward, which are not supported without it. */
  streamUrl?: StreamUrl;
  faults?: Fault[];
  version?: string;
  /** The cgroup driver that it reports. It creates no cgroups. */
  cgroupDriver?: "cgroupfs" | "systemd";
}

export interface RecordedCall {
  readonly method: string;
  /** The request in protobuf's JSON, names in camelCase, zero values omitted. */
  readonly request: JsonValue;
  readonly atMs: number;
  /** The trace context of the caller, if there is one. */
  readonly traceparent?: string;
  /** Undefined while the call waits; "OK" or the name of a gRPC code after that. */
  result?: string;
}

/** An in-memory container runtime on a real gRPC socket. Its state survives stop() and start(). */
export interface FakeRuntime {
  readonly endpoint: string;
  readonly calls: RecordedCall[];
  readonly faults: Faults;
  readonly pods: FakePods;
  readonly images: FakeImages;
  readonly conditions: RuntimeState["conditions"];
  /** The number of open event streams. */
  readonly eventReaders: number;
  /** Calls of these methods, in order. */
  callsOf(...methods: string[]): RecordedCall[];
  /** Makes a container exit. */
  exit(containerId: string, code: number): void;
  /** OOM-kills a container. */
  oomKill(containerId: string): void;
  /** Breaks every connection; new ones are accepted. */
  dropConnections(): void;
  /** The runtime stops and its containers keep running. */
  stop(): Promise<void>;
  start(): Promise<void>;
  /** Stops everything. */
  close(): Promise<void>;
}

export async function startFakeRuntime(options: FakeRuntimeOptions): Promise<FakeRuntime> {
  const { socketPath, clock = systemClock, events = false } = options;
  const feed = new EventFeed();
  const images = new FakeImages(
    clock,
    options.images ?? {
      [fakeImages.pause]: { pinned: true },
      [fakeImages.busybox]: { command: ["/bin/sh"] },
    },
    options.registry ?? {},
  );
  const pods = new FakePods({ clock, images, events: feed, program: options.program });
  const conditions = { runtimeReady: true, networkReady: true };
  const sockets = new Set<Socket>();
  const calls: RecordedCall[] = [];
  const dropConnections = () => {
    for (const socket of sockets) socket.destroy();
  };
  const faults = new Faults(clock, dropConnections);
  faults.add(...(options.faults ?? []));

  const grpc = new Server({
    "grpc.max_receive_message_length": 16 * 1024 * 1024,
    "grpc.max_send_message_length": -1,
    "grpc.enable_channelz": 0,
  });
  const state: RuntimeState = {
    clock,
    pods,
    images,
    conditions,
    events,
    stats: options.stats,
    version: options.version ?? "1.0.0",
    cgroupDriver: options.cgroupDriver,
    exec: options.exec,
    streamUrl: options.streamUrl,
  };
  const standard = methodHandlers(state);
  const handlers = options.crio ? crioHandlers(state, standard) : standard;
  const record = (method: DescMethod, request: Message, traceparent?: string): RecordedCall => {
    const call: RecordedCall = {
      method: method.name,
      request: toJson(method.input, request),
      atMs: epochMs(clock.wall()),
      ...(traceparent !== undefined && { traceparent }),
    };
    calls.push(call);
    return call;
  };
  const serve =
    (method: DescMethod) =>
    async (request: Message, signal: AbortSignal, traceparent?: string): Promise<Message> => {
      const call = record(method, request, traceparent);
      try {
        const fault = faults.take(method.name, request);
        if (fault && !fault.after) await faults.apply(fault, signal);
        const handler = handlers.get(streamedLists.get(method.name)?.unary ?? method.name);
        if (!handler) throw new RuntimeFailure("UNIMPLEMENTED", `method ${method.name} not implemented`);
        const result = await handler(request, signal);
        if (fault?.after) await faults.apply(fault, signal);
        call.result = "OK";
        return result;
      } catch (error) {
        call.result = codeOf(error);
        throw error;
      }
    };
  for (const service of [RuntimeService, ImageService]) {
    const implementation = Object.fromEntries(
      service.methods.map((method) => [
        method.name,
        method.methodKind === "unary" ? unary(serve(method)) : unimplemented(method.name),
      ]),
    );
    if (events && service === RuntimeService) implementation.GetContainerEvents = streaming(feed);
    else if (options.crio && service === RuntimeService)
      implementation.GetContainerEvents = (call: ServerWritableStream<Message, Message>) => {
        record(service.method.getContainerEvents, call.request).result = "OK";
        call.end();
      };
    if (options.streamsLists)
      for (const method of service.methods)
        if (streamedLists.has(method.name)) implementation[method.name] = streamedList(method, serve(method));
    grpc.addService(serviceDefinition(service), implementation as never);
  }
  const injector = grpc.createConnectionInjector(ServerCredentials.createInsecure());

  let listener: NetServer | undefined;
  const start = async () => {
    await rm(socketPath, { force: true });
    const server = createServer((socket) => {
      sockets.add(socket);
      socket.once("close", () => sockets.delete(socket));
      // Broken connections are part of the tests.
      socket.on("error", () => {});
      injector.injectConnection(socket);
    });
    await new Promise<void>((resolve, reject) => {
      server.once("error", reject);
      server.listen(socketPath, resolve);
    });
    listener = server;
  };
  const stop = async () => {
    const server = listener;
    listener = undefined;
    if (!server) return;
    const closed = new Promise((resolve) => server.close(resolve));
    dropConnections();
    await closed;
  };
  await start();
  return {
    endpoint: `unix://${socketPath}`,
    calls,
    faults,
    pods,
    images,
    conditions,
    get eventReaders() {
      return feed.listeners;
    },
    callsOf: (...methods) => calls.filter(({ method }) => methods.includes(method)),
    exit: (containerId, code) => pods.container(containerId).process?.end(code),
    oomKill: (containerId) => pods.oomKill(containerId),
    dropConnections,
    stop,
    start,
    close: async () => {
      await stop();
      pods.end();
      injector.destroy();
      grpc.forceShutdown();
    },
  };
}

function unary(serve: (request: Message, signal: AbortSignal, traceparent?: string) => Promise<Message>) {
  return (call: ServerUnaryCall<Message, Message>, callback: sendUnaryData<Message>) => {
    const canceled = new AbortController();
    call.once("cancelled", () => canceled.abort(abortError("canceled by the caller")));
    const [traceparent] = call.metadata.get("traceparent");
    serve(call.request, canceled.signal, traceparent?.toString()).then(
      (message) => callback(null, message),
      (error: unknown) => callback({ code: status[codeOf(error)], details: messageOf(error) }),
    );
  };
}

function unimplemented(method: string) {
  return (call: ServerWritableStream<Message, Message>) => {
    call.emit("error", { code: status.UNIMPLEMENTED, details: `method ${method} not implemented` });
  };
}

function streaming(feed: EventFeed) {
  return (call: ServerWritableStream<Message, ContainerEventResponse>) => {
    const leave = feed.listen((event) => call.write(event));
    call.once("cancelled", () => {
      leave();
      call.end();
    });
  };
}

/** The lists that can be streamed: the method that returns all at once, the field of its list, and the field in each message. */
const streamedLists = new Map([
  ["StreamPodSandboxes", { unary: "ListPodSandbox", list: "items", part: "podSandboxes" }],
  ["StreamContainers", { unary: "ListContainers", list: "containers", part: "containers" }],
  ["StreamContainerStats", { unary: "ListContainerStats", list: "stats", part: "containerStats" }],
  ["StreamPodSandboxStats", { unary: "ListPodSandboxStats", list: "stats", part: "podSandboxStats" }],
  [
    "StreamPodSandboxMetrics",
    { unary: "ListPodSandboxMetrics", list: "podMetrics", part: "podSandboxMetrics" },
  ],
  ["StreamImages", { unary: "ListImages", list: "images", part: "images" }],
]);

/** One item in each message. */
function streamedList(
  method: DescMethod,
  serve: (request: Message, signal: AbortSignal, traceparent?: string) => Promise<Message>,
) {
  const { list, part } = streamedLists.get(method.name)!;
  return (call: ServerWritableStream<Message, Message>) => {
    const canceled = new AbortController();
    call.once("cancelled", () => canceled.abort(abortError("canceled by the caller")));
    const [traceparent] = call.metadata.get("traceparent");
    serve(call.request, canceled.signal, traceparent?.toString()).then(
      (message) => {
        const items = (message as unknown as Record<string, Message[]>)[list]!;
        for (const item of items) call.write(create(method.output, { [part]: [item] }));
        call.end();
      },
      (error: unknown) => call.emit("error", { code: status[codeOf(error)], details: messageOf(error) }),
    );
  };
}

function codeOf(error: unknown): Exclude<keyof typeof status, "OK"> {
  if (error instanceof RuntimeFailure) return error.grpcCode;
  return isAbort(error) ? "CANCELLED" : "INTERNAL";
}
