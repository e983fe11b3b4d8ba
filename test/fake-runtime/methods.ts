import { writeFile } from "node:fs/promises";
import {
  create,
  type DescMethodUnary,
  type Message,
  type MessageInitShape,
  type MessageShape,
} from "@bufbuild/protobuf";
import { type Clock, sleep } from "../../src/lib/base/clock.ts";
import { epochMs } from "../../src/lib/base/time.ts";
import { ContainerState, ImageService, RuntimeService } from "../../src/lib/gen/runtime/v1/api_pb.js";
import { RuntimeFailure } from "./failure.ts";
import type { FakeImages } from "./images.ts";
import { containerStatus, type FakeContainer, sandboxStatus } from "./pod-records.ts";
import type { FakePods } from "./pods.ts";
import { type Program, parseCommand } from "./program.ts";

export type Handler = (request: Message, signal: AbortSignal) => Promise<Message>;

/** The result of a command in a container, and its duration. */
export interface ExecResult {
  exitCode: number;
  stdout?: string;
  stderr?: string;
  takesMs?: number;
}

export type Exec = (container: FakeContainer, command: readonly string[]) => ExecResult | undefined;

/** The address of a stream, by call and command, if there is one. */
export type StreamUrl = (kind: "exec" | "attach" | "portForward", command: readonly string[]) => string;

export interface RuntimeState {
  clock: Clock;
  pods: FakePods;
  images: FakeImages;
  /** The response of Status; tests may change it. */
  conditions: { runtimeReady: boolean; networkReady: boolean };
  /** Whether pod statuses include the statuses of their containers, as with runtimes that have events. */
  events: boolean;
  /** Lists the statistics of containers and sandboxes, and the metrics of sandboxes, with no values. */
  stats?: boolean | undefined;
  version: string;
  /** The cgroup driver that RuntimeConfig reports; cgroupfs unless set. */
  cgroupDriver?: "cgroupfs" | "systemd";
  /** Overrides the result of a command in a container. */
  exec?: Exec;
  /** The streaming server; without one, streams are not supported. */
  streamUrl?: StreamUrl;
}

/** The implementation of each method, by its name in the .proto file. */
export function methodHandlers(state: RuntimeState): Map<string, Handler> {
  const { pods, images, clock, conditions } = state;
  const handlers = new Map<string, Handler>();
  const on = <M extends DescMethodUnary>(
    method: M,
    handle: (
      request: MessageShape<M["input"]>,
      signal: AbortSignal,
    ) => MessageInitShape<M["output"]> | Promise<MessageInitShape<M["output"]>>,
  ) => {
    handlers.set(method.name, async (request, signal) =>
      create(method.output, await handle(request as MessageShape<M["input"]>, signal)),
    );
  };
  const r = RuntimeService.method;
  const i = ImageService.method;

  on(r.version, () => ({
    version: "0.1.0",
    runtimeName: "fake",
    runtimeVersion: state.version,
    runtimeApiVersion: "v1",
  }));
  on(r.status, () => ({
    status: {
      conditions: [
        {
          type: "RuntimeReady",
          status: conditions.runtimeReady,
          reason: conditions.runtimeReady ? "" : "FakeNotReady",
        },
        conditions.networkReady
          ? { type: "NetworkReady", status: true }
          : {
              type: "NetworkReady",
              status: false,
              reason: "NetworkPluginNotReady",
              message: "Network plugin returns error: cni plugin not initialized",
            },
      ],
    },
    runtimeHandlers: [{ name: "" }, { name: "runc" }],
  }));
  on(r.runtimeConfig, () => ({ linux: { cgroupDriver: state.cgroupDriver === "systemd" ? 0 : 1 } }));
  on(r.updateRuntimeConfig, () => ({}));

  on(r.runPodSandbox, ({ config, runtimeHandler }) => {
    if (!config) throw new RuntimeFailure("UNKNOWN", "sandbox config must include metadata");
    return { podSandboxId: pods.run(config, runtimeHandler).id };
  });
  on(r.stopPodSandbox, async ({ podSandboxId }) => {
    await pods.stopSandbox(podSandboxId);
    return {};
  });
  on(r.removePodSandbox, async ({ podSandboxId }) => {
    await pods.removeSandbox(podSandboxId);
    return {};
  });
  on(r.podSandboxStatus, ({ podSandboxId }) => {
    const sandbox = pods.sandbox(podSandboxId);
    const status = sandboxStatus(sandbox);
    if (!state.events) return { status };
    return {
      status,
      containersStatuses: pods.statusesIn(sandbox),
      timestamp: BigInt(epochMs(clock.wall())) * 1_000_000n,
    };
  });
  on(r.listPodSandbox, ({ filter }) => ({ items: pods.listSandboxes(filter) }));

  on(r.createContainer, ({ podSandboxId, config }) => {
    if (!config) throw new RuntimeFailure("UNKNOWN", "container config must include metadata");
    return { containerId: pods.create(podSandboxId, config).id };
  });
  on(r.startContainer, ({ containerId }) => {
    pods.start(containerId);
    return {};
  });
  on(r.stopContainer, async ({ containerId, timeout }, signal) => {
    await pods.stop(containerId, Number(timeout), signal);
    return {};
  });
  on(r.removeContainer, async ({ containerId }) => {
    await pods.remove(containerId);
    return {};
  });
  on(r.listContainers, ({ filter }) => ({ containers: pods.listContainers(filter) }));
  on(r.containerStatus, ({ containerId }) => ({ status: containerStatus(pods.container(containerId)) }));
  on(r.updateContainerResources, ({ containerId, linux }) => {
    const { config } = pods.container(containerId);
    if (config.linux) config.linux.resources = linux;
    return {};
  });
  if (state.stats) {
    on(r.listContainerStats, () => ({
      stats: pods.listContainers(undefined).map(({ id }) => ({ attributes: { id } })),
    }));
    on(r.listPodSandboxStats, () => ({
      stats: pods.listSandboxes(undefined).map(({ id }) => ({ attributes: { id } })),
    }));
    on(r.listPodSandboxMetrics, () => ({
      podMetrics: pods.listSandboxes(undefined).map(({ id }) => ({ podSandboxId: id })),
    }));
  }
  on(r.updatePodSandboxResources, () => {
    throw new RuntimeFailure("UNKNOWN", "not implemented yet");
  });
  on(r.reopenContainerLog, ({ containerId }) => {
    pods.reopenLog(containerId);
    return {};
  });
  on(r.checkpointContainer, async ({ containerId, location }) => {
    const { id, state } = pods.container(containerId);
    if (state !== ContainerState.CONTAINER_RUNNING)
      throw new RuntimeFailure("UNKNOWN", `container "${id}" is not running`);
    await writeFile(location, `checkpoint of ${id}\n`, { mode: 0o600 });
    return {};
  });
  on(r.execSync, ({ containerId, cmd, timeout }, signal) =>
    exec(state, pods.container(containerId), cmd, Number(timeout), signal),
  );

  const { streamUrl } = state;
  if (streamUrl) {
    on(r.exec, ({ cmd }) => ({ url: streamUrl("exec", cmd) }));
    on(r.attach, () => ({ url: streamUrl("attach", []) }));
    on(r.portForward, () => ({ url: streamUrl("portForward", []) }));
  }

  on(i.listImages, ({ filter }) => {
    if (!filter?.image?.image) return { images: images.list() };
    const image = images.status(filter.image);
    return { images: image ? [image] : [] };
  });
  on(i.imageStatus, ({ image }) => ({ image: images.status(image) }));
  on(i.pullImage, async ({ image }, signal) => ({ imageRef: await images.pull(image, signal) }));
  on(i.removeImage, ({ image }) => {
    images.remove(image);
    return {};
  });
  on(i.imageFsInfo, () => ({
    imageFilesystems: [
      {
        timestamp: BigInt(epochMs(clock.wall())) * 1_000_000n,
        fsId: { mountpoint: "/fake/images" },
        usedBytes: { value: images.usedBytes() },
        inodesUsed: { value: BigInt(images.list().length) },
      },
    ],
  }));
  return handlers;
}

async function exec(
  state: RuntimeState,
  container: FakeContainer,
  command: string[],
  timeoutSeconds: number,
  signal: AbortSignal,
): Promise<MessageInitShape<typeof RuntimeService.method.execSync.output>> {
  if (container.state !== ContainerState.CONTAINER_RUNNING) {
    const state = ContainerState[container.state];
    throw new RuntimeFailure("UNKNOWN", `failed to exec in container: container is in ${state} state`);
  }
  const { clock } = state;
  const result = state.exec?.(container, command);
  const program = result ? programOf(result) : parseCommand(command);
  if (!program) {
    throw new RuntimeFailure(
      "UNKNOWN",
      `failed to exec in container: failed to start exec "fake": OCI runtime exec failed: exec failed: unable to start container process: exec: "${command[0]}": stat ${command[0]}: no such file or directory: unknown`,
    );
  }
  const written = { stdout: "", stderr: "" };
  let left = timeoutSeconds > 0 ? timeoutSeconds * 1000 : Number.POSITIVE_INFINITY;
  let exitCode = 0;
  for (const step of program.steps) {
    if (step.do === "print") written[step.to] += `${step.line}\n`;
    if (step.do === "exit") {
      exitCode = step.code;
      break;
    }
    if (step.do === "print") continue;
    const ms = step.do === "wait" ? step.ms : Number.POSITIVE_INFINITY;
    if (ms > 0) await sleep(clock, Math.min(ms, left), signal);
    left -= ms;
    if (left < 0) {
      throw new RuntimeFailure(
        "DEADLINE_EXCEEDED",
        `failed to exec in container: timeout ${timeoutSeconds}s exceeded: context deadline exceeded`,
      );
    }
  }
  return { stdout: Buffer.from(written.stdout), stderr: Buffer.from(written.stderr), exitCode };
}

function programOf({ exitCode, stdout, stderr, takesMs = 0 }: ExecResult): Program {
  const lines = (to: "stdout" | "stderr", text: string | undefined) =>
    text === undefined ? [] : [{ do: "print", to, line: text } as const];
  return {
    steps: [
      { do: "wait", ms: takesMs },
      ...lines("stdout", stdout),
      ...lines("stderr", stderr),
      { do: "exit", code: exitCode },
    ],
    onTerm: "default",
  };
}
