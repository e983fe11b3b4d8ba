import { createHash } from "node:crypto";
import { type Clock, sleep } from "../../src/lib/base/clock.ts";
import { isAbort } from "../../src/lib/base/errors.ts";
import { epochMs } from "../../src/lib/base/time.ts";
import {
  type Container,
  type ContainerConfig,
  ContainerEventType,
  type ContainerFilter,
  ContainerState,
  type ContainerStatus,
  NamespaceMode,
  type PodSandbox,
  type PodSandboxConfig,
  type PodSandboxFilter,
  PodSandboxState,
} from "../../src/lib/gen/runtime/v1/api_pb.js";
import type { EventFeed } from "./event-feed.ts";
import { RuntimeFailure } from "./failure.ts";
import { type FakeImages, programOf } from "./images.ts";
import { LogFile } from "./log-file.ts";
import {
  byId,
  containerItem,
  containerMatches,
  containerStatus,
  type FakeContainer,
  type FakeSandbox,
  isLive,
  logPathOf,
  sandboxItem,
  sandboxMatches,
  sandboxStatus,
} from "./pod-records.ts";
import { FakeProcess } from "./process.ts";
import { type Program, parseCommand } from "./program.ts";

export interface FakePodsOptions {
  clock: Clock;
  images: FakeImages;
  events: EventFeed;
  /** Overrides the program of a container. */
  program?: (config: ContainerConfig, sandbox: PodSandboxConfig) => Program | undefined;
}

/** Sandboxes and containers, with the rules and messages of containerd. */
export class FakePods {
  readonly sandboxes = new Map<string, FakeSandbox>();
  readonly containers = new Map<string, FakeContainer>();
  readonly #options: FakePodsOptions;
  readonly #reserved = new Map<string, string>();
  #ids = 0;

  constructor(options: FakePodsOptions) {
    this.#options = options;
  }

  run(config: PodSandboxConfig, handler: string): FakeSandbox {
    const { name = "", namespace = "", uid = "", attempt = 0 } = config.metadata ?? {};
    if (!name || !namespace || !uid)
      throw new RuntimeFailure("UNKNOWN", "sandbox config must include metadata");
    if (handler !== "" && handler !== "runc") {
      throw new RuntimeFailure(
        "UNKNOWN",
        `failed to get sandbox runtime: no runtime for "${handler}" is configured`,
      );
    }
    const fullName = `${name}_${namespace}_${uid}_${attempt}`;
    const id = this.#reserve("sandbox", fullName);
    const onHost = config.linux?.securityContext?.namespaceOptions?.network === NamespaceMode.NODE;
    const sandbox: FakeSandbox = {
      id,
      name: fullName,
      config,
      handler,
      createdAt: this.#now(),
      state: PodSandboxState.SANDBOX_READY,
      ip: onHost ? "" : this.#freeAddress(),
    };
    this.sandboxes.set(id, sandbox);
    this.#emit(sandbox, id, ContainerEventType.CONTAINER_CREATED_EVENT);
    this.#emit(sandbox, id, ContainerEventType.CONTAINER_STARTED_EVENT);
    return sandbox;
  }

  async stopSandbox(id: string): Promise<void> {
    const sandbox = this.#findSandbox(id);
    if (!sandbox) return;
    for (const container of this.#in(sandbox)) await this.#kill(container);
    this.loseSandbox(id);
  }

  /** The sandbox's process has exited; its containers continue. */
  loseSandbox(id: string): void {
    const sandbox = this.sandbox(id);
    if (sandbox.state === PodSandboxState.SANDBOX_NOTREADY) return;
    sandbox.state = PodSandboxState.SANDBOX_NOTREADY;
    sandbox.ip = "";
    this.#emit(sandbox, id, ContainerEventType.CONTAINER_STOPPED_EVENT);
  }

  async removeSandbox(id: string): Promise<void> {
    const sandbox = this.#findSandbox(id);
    if (!sandbox) return;
    await this.stopSandbox(id);
    for (const container of this.#in(sandbox)) await this.remove(container.id);
    this.sandboxes.delete(sandbox.id);
    this.#reserved.delete(sandbox.name);
    this.#emit(sandbox, sandbox.id, ContainerEventType.CONTAINER_DELETED_EVENT);
  }

  sandbox(id: string): FakeSandbox {
    const found = this.#findSandbox(id);
    if (!found)
      throw new RuntimeFailure("NOT_FOUND", "an error occurred when try to find sandbox: not found");
    return found;
  }

  container(id: string): FakeContainer {
    const found = byId(this.containers, id);
    if (!found) {
      throw new RuntimeFailure(
        "NOT_FOUND",
        `an error occurred when try to find container "${id}": not found`,
      );
    }
    return found;
  }

  create(sandboxId: string, config: ContainerConfig): FakeContainer {
    const sandbox = this.#findSandbox(sandboxId);
    if (!sandbox)
      throw new RuntimeFailure("NOT_FOUND", `failed to find sandbox id "${sandboxId}": not found`);
    const { name = "", attempt = 0 } = config.metadata ?? {};
    const { name: pod, namespace, uid } = sandbox.config.metadata!;
    if (!name) throw new RuntimeFailure("UNKNOWN", "container config must include metadata");
    const fullName = `${name}_${pod}_${namespace}_${uid}_${attempt}`;
    const image = this.#options.images.find(config.image?.image ?? "");
    const id = this.#reserve("container", fullName);
    if (!image) {
      this.#reserved.delete(fullName);
      throw new RuntimeFailure("NOT_FOUND", `failed to resolve image "${config.image?.image}": not found`);
    }
    const command = [...config.command, ...config.args];
    const container: FakeContainer = {
      id,
      name: fullName,
      sandbox,
      config,
      imageId: image.id,
      createdAt: this.#now(),
      program:
        this.#options.program?.(config, sandbox.config) ??
        (command.length > 0 ? parseCommand(command) : programOf(image)),
      log: new LogFile(logPathOf(sandbox, config), this.#options.clock),
      process: undefined,
      state: ContainerState.CONTAINER_CREATED,
      startedAt: 0n,
      finishedAt: 0n,
      exitCode: 0,
      reason: "",
      message: "",
    };
    this.containers.set(id, container);
    this.#emit(sandbox, id, ContainerEventType.CONTAINER_CREATED_EVENT);
    return container;
  }

  start(id: string): void {
    const container = this.container(id);
    if (container.state !== ContainerState.CONTAINER_CREATED) {
      throw new RuntimeFailure(
        "UNKNOWN",
        `failed to set starting state for container "${container.id}": container is in ${ContainerState[container.state]} state`,
      );
    }
    if (container.sandbox.state !== PodSandboxState.SANDBOX_READY) {
      throw this.#startFailed(container, `sandbox container "${container.sandbox.id}" is not running`);
    }
    const { program, config, log } = container;
    if (!program) {
      const binary = config.command[0] ?? config.args[0] ?? "";
      throw this.#startFailed(
        container,
        `failed to create containerd task: failed to create shim task: OCI runtime create failed: runc create failed: unable to start container process: exec: "${binary}": stat ${binary}: no such file or directory: unknown`,
      );
    }
    log.open();
    const process = new FakeProcess({
      program,
      clock: this.#options.clock,
      pidOne: config.linux?.securityContext?.namespaceOptions?.pid === NamespaceMode.CONTAINER,
      print: (to, line) => log.write(to, line),
    });
    container.process = process;
    container.state = ContainerState.CONTAINER_RUNNING;
    container.startedAt = this.#now();
    this.#emit(container.sandbox, container.id, ContainerEventType.CONTAINER_STARTED_EVENT);
    void process.exited.then((code) => this.#exited(container, code));
    process.start();
  }

  async stop(id: string, graceSeconds: number, signal: AbortSignal): Promise<void> {
    const container = byId(this.containers, id);
    if (!container?.process || !isLive(container)) return;
    if (graceSeconds > 0) {
      container.process.signal("TERM");
      const timedOut = new AbortController();
      const giveUp = AbortSignal.any([signal, timedOut.signal]);
      const waited = sleep(this.#options.clock, graceSeconds * 1000, giveUp).catch((error: unknown) => {
        if (!isAbort(error)) throw error;
      });
      await Promise.race([container.process.exited, waited]);
      timedOut.abort();
      // A caller that stopped waiting has not requested a kill.
      signal.throwIfAborted();
    }
    await this.#kill(container);
  }

  async remove(id: string): Promise<void> {
    const container = byId(this.containers, id);
    if (!container) return;
    await this.#kill(container);
    this.containers.delete(container.id);
    this.#reserved.delete(container.name);
    this.#emit(container.sandbox, container.id, ContainerEventType.CONTAINER_DELETED_EVENT);
  }

  reopenLog(id: string): void {
    const container = this.container(id);
    if (container.state !== ContainerState.CONTAINER_RUNNING) {
      throw new RuntimeFailure("UNKNOWN", "container is not running");
    }
    container.log.open();
  }

  /** Cancels all pending timers. */
  end(): void {
    for (const container of this.containers.values()) {
      container.process?.forget();
      container.log.close();
    }
  }

  listSandboxes(filter: PodSandboxFilter | undefined): PodSandbox[] {
    return [...this.sandboxes.values()].filter((one) => sandboxMatches(one, filter)).map(sandboxItem);
  }

  listContainers(filter: ContainerFilter | undefined): Container[] {
    return [...this.containers.values()].filter((one) => containerMatches(one, filter)).map(containerItem);
  }

  statusesIn(sandbox: FakeSandbox): ContainerStatus[] {
    return this.#in(sandbox).map(containerStatus);
  }

  #in(sandbox: FakeSandbox): FakeContainer[] {
    return [...this.containers.values()].filter((container) => container.sandbox === sandbox);
  }

  async #kill(container: FakeContainer): Promise<void> {
    container.process?.signal("KILL");
    await container.process?.exited;
  }

  /** It was OOM-killed. */
  oomKill(id: string): void {
    const container = this.container(id);
    if (container.state !== ContainerState.CONTAINER_RUNNING) return;
    container.reason = "OOMKilled";
    container.process?.end(137);
  }

  /** The runtime no longer knows its state, and it continues. */
  setUnknown(id: string): void {
    const container = this.container(id);
    if (container.state === ContainerState.CONTAINER_RUNNING)
      container.state = ContainerState.CONTAINER_UNKNOWN;
  }

  #exited(container: FakeContainer, code: number): void {
    container.state = ContainerState.CONTAINER_EXITED;
    container.finishedAt = this.#now();
    container.exitCode = code;
    container.reason ||= code === 0 ? "Completed" : "Error";
    container.log.close();
    this.#emit(container.sandbox, container.id, ContainerEventType.CONTAINER_STOPPED_EVENT);
  }

  #startFailed(container: FakeContainer, message: string): RuntimeFailure {
    container.state = ContainerState.CONTAINER_EXITED;
    container.finishedAt = this.#now();
    container.exitCode = 128;
    container.reason = "StartError";
    container.message = message;
    return new RuntimeFailure("UNKNOWN", message);
  }

  #reserve(kind: "sandbox" | "container", name: string): string {
    const holder = this.#reserved.get(name);
    if (holder !== undefined) {
      throw new RuntimeFailure(
        "FAILED_PRECONDITION",
        `failed to reserve ${kind} name "${name}": name "${name}" is reserved for "${holder}"`,
      );
    }
    this.#ids += 1;
    const id = createHash("sha256").update(`${kind} ${this.#ids} ${name}`).digest("hex");
    this.#reserved.set(name, id);
    return id;
  }

  #freeAddress(): string {
    const taken = new Set([...this.sandboxes.values()].map((sandbox) => sandbox.ip));
    for (let n = 2; ; n++) {
      const ip = `10.88.${n >> 8}.${n & 255}`;
      if (!taken.has(ip)) return ip;
    }
  }

  #findSandbox(id: string): FakeSandbox | undefined {
    return byId(this.sandboxes, id);
  }

  #emit(sandbox: FakeSandbox, containerId: string, type: ContainerEventType): void {
    this.#options.events.emit({
      containerId,
      containerEventType: type,
      createdAt: this.#now(),
      podSandboxStatus: sandboxStatus(sandbox),
      containersStatuses: this.statusesIn(sandbox),
    });
  }

  #now(): bigint {
    return BigInt(epochMs(this.#options.clock.wall())) * 1_000_000n;
  }
}
