import { create, type DescMethodUnary, type MessageInitShape, type MessageShape } from "@bufbuild/protobuf";
import { sleep } from "../../src/lib/base/clock.ts";
import { epochMs } from "../../src/lib/base/time.ts";
import {
  type ContainerConfig,
  ContainerState,
  type PodSandboxConfig,
  PodSandboxState,
  RuntimeService,
} from "../../src/lib/gen/runtime/v1/api_pb.js";
import { crioStats } from "./crio-stats.ts";
import { RuntimeFailure } from "./failure.ts";
import type { Handler, RuntimeState } from "./methods.ts";
import { byId, type FakeContainer, sandboxStatus } from "./pod-records.ts";

/** The names of CRI-O's handlers: the second is the default. */
const handlerNames = ["crun", ""];
/** It unmounts and removes namespaces: other requests are served in the meantime. */
const removalMs = 50;
const containerNameLabel = "io.kubernetes.container.name";
const stateNames: Readonly<Record<ContainerState, string>> = {
  [ContainerState.CONTAINER_CREATED]: "created",
  [ContainerState.CONTAINER_RUNNING]: "running",
  [ContainerState.CONTAINER_EXITED]: "stopped",
  [ContainerState.CONTAINER_UNKNOWN]: "unknown",
};

/**
 * The methods in which CRI-O 1.36 with crun, conmon and without infra containers differs from containerd: codes and messages are its
 * server's. A request with a name that is in use is treated as a repeated request, CreateContainer fails if the program does not exist, and
 * if two callers remove a sandbox at once, the second gets an error.
 */
export function crioHandlers(
  state: RuntimeState,
  defaults: ReadonlyMap<string, Handler>,
): Map<string, Handler> {
  const { pods, conditions, clock } = state;
  const handlers = new Map(defaults);
  const on = <M extends DescMethodUnary>(
    method: M,
    handle: (
      request: MessageShape<M["input"]>,
      standard: () => Promise<MessageShape<M["output"]>>,
    ) => MessageInitShape<M["output"]> | Promise<MessageInitShape<M["output"]>>,
  ) => {
    handlers.set(method.name, async (request, signal) => {
      const standard = async () =>
        (await defaults.get(method.name)!(request, signal)) as MessageShape<M["output"]>;
      return create(method.output, await handle(request as MessageShape<M["input"]>, standard));
    });
  };
  const r = RuntimeService.method;
  const removing = new Set<string>();

  on(r.version, () => ({
    version: "0.1.0",
    runtimeName: "cri-o",
    runtimeVersion: "1.36.3",
    runtimeApiVersion: "v1",
  }));
  on(r.status, () => ({
    status: {
      conditions: [
        { type: "RuntimeReady", status: conditions.runtimeReady },
        conditions.networkReady
          ? { type: "NetworkReady", status: true }
          : {
              type: "NetworkReady",
              status: false,
              reason: "NetworkPluginNotReady",
              message:
                "Network plugin returns error: No CNI configuration file in /etc/cni/net.d/. Has your network provider started?",
            },
      ],
    },
    features: { supplementalGroupsPolicy: true, userNamespacesHostNetwork: true },
    runtimeHandlers: handlerNames.map((name) => ({
      name,
      features: { recursiveReadOnlyMounts: true, userNamespaces: true },
    })),
  }));

  on(r.runPodSandbox, ({ config, runtimeHandler }) => {
    const same = config && [...pods.sandboxes.values()].find((one) => samePod(one.config, config));
    if (same) return { podSandboxId: same.id };
    if (!handlerNames.includes(runtimeHandler))
      throw new RuntimeFailure(
        "UNKNOWN",
        `failed to find runtime handler ${runtimeHandler} from runtime list map[crun:0xc000123456]`,
      );
    if (!config) throw new RuntimeFailure("UNKNOWN", "config is nil");
    const labels = { ...config.labels, [containerNameLabel]: "POD" };
    return { podSandboxId: pods.run({ ...config, labels }, "").id };
  });
  on(r.podSandboxStatus, ({ podSandboxId, verbose }, standard) => {
    const sandbox = byId(pods.sandboxes, podSandboxId);
    if (!sandbox)
      throw new RuntimeFailure(
        "NOT_FOUND",
        `could not find pod "${podSandboxId}": PodSandbox with ID starting with ${podSandboxId} not found: ID does not exist`,
      );
    if (!verbose) return standard();
    // Without an infra container there is no image and no process.
    const info = {
      runtimeSpec: { ociVersion: "1.2.1", annotations: { "io.kubernetes.cri-o.Spoofed": "true" } },
    };
    return { status: sandboxStatus(sandbox), info: { info: JSON.stringify(info) } };
  });
  on(r.removePodSandbox, async ({ podSandboxId }, standard) => {
    const sandbox = byId(pods.sandboxes, podSandboxId);
    if (!sandbox) return {};
    if (removing.has(sandbox.id))
      throw new RuntimeFailure(
        "UNKNOWN",
        `failed to delete pod sandbox ${sandbox.id} from index: no such id: '${sandbox.id}'`,
      );
    removing.add(sandbox.id);
    try {
      await sleep(clock, removalMs);
      return await standard();
    } finally {
      removing.delete(sandbox.id);
    }
  });
  on(r.stopPodSandbox, async ({ podSandboxId }, standard) => {
    const found = await standard();
    const sandbox = byId(pods.sandboxes, podSandboxId);
    // The process of a container that was created waits for its start: it is killed, too.
    for (const container of pods.containers.values())
      if (container.sandbox === sandbox && container.state === ContainerState.CONTAINER_CREATED)
        killed(container);
    return found;
  });

  on(r.createContainer, async ({ podSandboxId, config }, standard) => {
    const sandbox = byId(pods.sandboxes, podSandboxId);
    if (!sandbox)
      throw new RuntimeFailure(
        "UNKNOWN",
        `specified sandbox not found: ${podSandboxId}: PodSandbox with ID starting with ${podSandboxId} not found: ID does not exist`,
      );
    if (sandbox.state !== PodSandboxState.SANDBOX_READY)
      throw new RuntimeFailure("UNKNOWN", `CreateContainer failed as the sandbox was stopped: ${sandbox.id}`);
    const same = [...pods.containers.values()].find(
      (one) => one.sandbox === sandbox && config && sameContainer(one.config, config),
    );
    if (same) return { containerId: same.id };
    const created = await standard();
    const container = pods.container(created.containerId);
    if (container.program) return created;
    await pods.remove(container.id);
    const [binary = ""] = [...container.config.command, ...container.config.args];
    throw new RuntimeFailure(
      "UNKNOWN",
      `container create failed: executable file \`${binary}\` not found: No such file or directory`,
    );
  });
  on(r.startContainer, ({ containerId }, standard) => {
    const container = known(containerId);
    if (container.state !== ContainerState.CONTAINER_CREATED)
      throw new RuntimeFailure(
        "UNKNOWN",
        `container ${container.id} is not in created state: ${stateNames[container.state]}`,
      );
    return standard();
  });
  on(r.stopContainer, async ({ containerId }, standard) => {
    const container = byId(pods.containers, containerId);
    if (container?.state === ContainerState.CONTAINER_CREATED) killed(container);
    return standard();
  });
  on(r.containerStatus, ({ containerId }, standard) => {
    known(containerId);
    return standard();
  });
  on(r.execSync, async ({ containerId, cmd }, standard) => {
    const container = known(containerId);
    if (container.state !== ContainerState.CONTAINER_RUNNING)
      throw new RuntimeFailure(
        "NOT_FOUND",
        `container is not created or running: checking if PID of ${container.id} is running failed: container process not found`,
      );
    try {
      return await standard();
    } catch (error) {
      if (!(error instanceof RuntimeFailure)) throw error;
      // conmon has killed the command: it is no error.
      if (error.grpcCode === "DEADLINE_EXCEEDED")
        return { exitCode: -1, stderr: Buffer.from("command timed out") };
      throw new RuntimeFailure(
        "UNKNOWN",
        `command error: executable file \`${cmd[0]}\` not found: No such file or directory: OCI runtime attempted to invoke a command that was not found, stdout: , stderr: , exit code -1`,
      );
    }
  });
  for (const method of [r.reopenContainerLog, r.updateContainerResources] as const)
    on(method, ({ containerId }, standard) => {
      if (!byId(pods.containers, containerId))
        throw new RuntimeFailure(
          "UNKNOWN",
          `could not find container ${containerId}: ${unknownId(containerId)}`,
        );
      return standard();
    });
  for (const [method, handler] of crioStats(state)) handlers.set(method, handler);
  return handlers;

  function known(id: string): FakeContainer {
    const found = byId(pods.containers, id);
    if (!found) throw new RuntimeFailure("NOT_FOUND", `could not find container "${id}": ${unknownId(id)}`);
    return found;
  }

  function killed(container: FakeContainer): void {
    container.state = ContainerState.CONTAINER_EXITED;
    container.finishedAt = BigInt(epochMs(clock.wall())) * 1_000_000n;
    container.exitCode = 137;
    container.reason = "Error";
  }
}

function samePod({ metadata: a }: PodSandboxConfig, { metadata: b }: PodSandboxConfig): boolean {
  return (
    a?.name === b?.name && a?.namespace === b?.namespace && a?.uid === b?.uid && a?.attempt === b?.attempt
  );
}

function sameContainer({ metadata: a }: ContainerConfig, { metadata: b }: ContainerConfig): boolean {
  return a?.name === b?.name && a?.attempt === b?.attempt;
}

function unknownId(id: string): string {
  return `container with ID starting with ${id} not found: ID does not exist`;
}
