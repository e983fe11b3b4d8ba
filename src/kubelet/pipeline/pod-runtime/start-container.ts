import { isAbort, KubeletError, messageOf } from "../../../lib/base/errors.ts";
import type { ContainerId } from "../../../lib/clients/cri/cri.ts";
import { startPriority } from "../../../lib/model/critical-pod.ts";
import { isImageReason } from "../../../lib/model/image-reasons.ts";
import { type Container, type Pod, podRef } from "../../../lib/model/pod.ts";
import type { SyncReport } from "../../../lib/model/pod-sync.ts";
import {
  newestContainer,
  type ObservedContainer,
  type ObservedSandbox,
  type StartedContainer,
} from "../../state/observed-pods.ts";
import type { StartAction } from "./plan/pod-plan.ts";
import type { PodRuntimeOptions } from "./pod-runtime.ts";

export interface StartContainerOptions
  extends Pick<
    PodRuntimeOptions,
    | "runtime"
    | "images"
    | "requests"
    | "files"
    | "limiter"
    | "events"
    | "observed"
    | "pleg"
    | "clock"
    | "logger"
    | "hooks"
    | "starting"
    | "onStarted"
    | "resizing"
    | "metrics"
  > {
  /** A container replaces one that exited. */
  onRestart(pod: Pod, container: Container, exited: ObservedContainer): void;
  /** Stops a container whose postStart hook failed. */
  kill(pod: Pod, container: { id: ContainerId; name: string }, signal: AbortSignal): Promise<void>;
}

/** Starts one container: its image, its files and request, create, start, and its postStart hook. */
export class ContainerStarter {
  readonly #o: StartContainerOptions;

  constructor(options: StartContainerOptions) {
    this.#o = options;
  }

  /** Fails with a KubeletError whose code is the reason that users see. */
  async start(
    pod: Pod,
    sandbox: ObservedSandbox,
    action: StartAction,
    report: SyncReport,
    signal: AbortSignal,
  ): Promise<StartedContainer> {
    const { metrics } = this.#o;
    metrics?.containerStarting(action.containerType);
    try {
      return await this.#start(pod, sandbox, action, report, signal);
    } catch (error) {
      if (!isAbort(error))
        metrics?.containerFailed(action.containerType, reasonOf(error) ?? "RunContainerError");
      throw error;
    }
  }

  async #start(
    pod: Pod,
    sandbox: ObservedSandbox,
    action: StartAction,
    report: SyncReport,
    signal: AbortSignal,
  ): Promise<StartedContainer> {
    const { images, requests, files, events, logger } = this.#o;
    const { container } = action;
    const observed = this.#o.observed.get(pod.metadata.uid);
    const exited = newestContainer(observed, container.name);
    const attempt = exited ? action.attempt : await files.restartsByLogs(pod, container.name);
    const failed = (error: unknown, code: string) => {
      if (isAbort(error)) return error;
      const reason = reasonOf(error) ?? code;
      // The image manager has reported image errors in detail; only the reason is repeated here.
      const text = isImageReason(reason) ? reason : messageOf(error);
      events.warning(pod, "Failed", `Error: ${text}`, container.name);
      return reasonOf(error) ? error : new KubeletError(code, messageOf(error), { cause: error });
    };
    const sandboxConfig = await requests.sandbox(pod, sandbox.attempt);
    const step = { kind: "image", container: container.name } as const;
    report.blockedOn(`checking for image ${container.image}`, step);
    const image = await images
      .ensure(pod, container, sandboxConfig, {
        signal,
        onPull: (waitsFor) => report.blockedOn(waitsFor, step),
      })
      .catch((error) => {
        throw failed(error, "ErrImagePull");
      });
    report.blockedOn(`starting container ${container.name}`, {
      kind: "container",
      container: container.name,
    });
    const config = await requests
      .container(pod, container, { attempt, image, podIPs: sandbox.ips, observed, signal })
      .catch((error) => {
        throw failed(error, "CreateContainerConfigError");
      });
    await files.createContainerDirs(pod, container.name);
    if (action.containerType !== "ephemeral")
      await this.#o.resizing?.allocation.containerStarts(pod, container);
    const id = await this.#o.limiter.run(
      async () => {
        // The pod may have been terminated while it waited.
        signal.throwIfAborted();
        const counted = (mountFailed: boolean) => this.#countImageVolumes(config, mountFailed);
        const id = await this.#o.runtime.createContainer(sandbox.id, config, sandboxConfig).catch((error) => {
          counted(/(^|desc = )ImageVolumeMountFailed/.test(messageOf(error)));
          throw failed(error, "CreateContainerError");
        });
        counted(false);
        events.normal(pod, "Created", "Container created", container.name);
        // A failed start is counted too, or a container that cannot start would have no back-off.
        if (exited?.state === "exited") this.#o.onRestart(pod, container, exited);
        if (container.lifecycle?.postStart) this.#o.starting.add(pod.metadata.uid, id);
        try {
          await this.#o.runtime.startContainer(id);
        } catch (error) {
          this.#o.starting.delete(id);
          throw failed(error, "RunContainerError");
        } finally {
          // The link is for log collectors: without it the container is still started.
          await files.linkLog(pod, container.name, attempt, id).catch((error) => {
            logger.error("Failed to create container log symlink", {
              pod: podRef(pod),
              id,
              err: messageOf(error),
            });
          });
        }
        return id;
      },
      {
        signal,
        owner: pod.metadata.uid,
        priority: startPriority(pod),
        kind: exited ? "restart" : "container",
      },
    );
    if (action.containerType !== "ephemeral") this.#o.onStarted?.(pod, container);
    events.normal(pod, "Started", "Container started", container.name);
    await this.#postStart(pod, container, id, sandbox, report, signal);
    return { id, sandboxId: sandbox.id, image: config.image?.image ?? "" };
  }

  #countImageVolumes(
    { mounts = [] }: { readonly mounts?: readonly { image?: unknown }[] },
    failed: boolean,
  ): void {
    const volumes = mounts.filter(({ image }) => image !== undefined).length;
    if (volumes > 0) this.#o.metrics?.imageVolumes?.(volumes, failed);
  }

  async #postStart(
    pod: Pod,
    container: Container,
    id: ContainerId,
    sandbox: ObservedSandbox,
    report: SyncReport,
    signal: AbortSignal,
  ): Promise<void> {
    const { hooks, events, starting, logger } = this.#o;
    const handler = container.lifecycle?.postStart;
    if (!handler) return;
    report.blockedOn(`waiting for the postStart hook of ${container.name}`, {
      kind: "hook",
      container: container.name,
    });
    try {
      await hooks.run({ pod, container, id, handler, podIps: sandbox.ips, signal });
    } catch (error) {
      // The pod is being terminated: the container is never reported as started.
      if (isAbort(error)) throw error;
      // The hook's output may contain secrets: it goes to the node's log, not to an event.
      logger.info("postStart hook failed", {
        pod: podRef(pod),
        container: container.name,
        err: messageOf(error),
      });
      events.warning(pod, "FailedPostStartHook", "PostStartHook failed", container.name);
      await this.#killAfterHook(pod, container, id, signal);
      throw new KubeletError("PostStartHookError", messageOf(error), { cause: error });
    }
    starting.delete(id);
  }

  async #killAfterHook(pod: Pod, { name }: Container, id: ContainerId, signal: AbortSignal): Promise<void> {
    const { kill, pleg, logger, starting } = this.#o;
    try {
      await kill(pod, { id, name }, signal);
      // Its exit must be observed before it is removed from the starting containers.
      await pleg.refresh(pod.metadata.uid);
    } catch (error) {
      if (isAbort(error)) throw error;
      const fields = { pod: podRef(pod), container: name, err: messageOf(error) };
      logger.error("Failed to kill container after failed postStart hook", fields);
    }
    starting.delete(id);
  }
}

function reasonOf(error: unknown): string | undefined {
  return error instanceof KubeletError && error.name === "KubeletError" ? error.code : undefined;
}
