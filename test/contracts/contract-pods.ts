import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { mkdir, rm } from "node:fs/promises";
import { join } from "node:path";
import type { TestContext } from "node:test";
import type {
  ContainerConfigInit,
  ContainerId,
  CriClient,
  PodSandboxConfigInit,
  SandboxId,
} from "../../src/lib/clients/cri/cri.ts";
import { CriError } from "../../src/lib/clients/cri/cri-error.ts";
import { ContainerState, type ContainerStatus, NamespaceMode } from "../../src/lib/gen/runtime/v1/api_pb.js";
import { eventually } from "./eventually.ts";

/** A runtime to run the contract suite on. */
export interface ContractRuntime {
  client: CriClient;
  /** An image with /bin/sh, /bin/sleep, /bin/true and /bin/echo. */
  busybox: string;
  /** A directory for the logs of pods. */
  logDir: string;
  /** The cgroup parent of pods. */
  cgroupParent?: string;
  /** Whether pods can have their own network. */
  podNetwork: boolean;
  /** The runtime is CRI-O. */
  isCrio?: boolean;
  stop(): Promise<void>;
}

export const UNKNOWN_ID = "f".repeat(64);
export const FOREVER = ["/bin/sleep", "3600"];
/** Exits on SIGTERM, once it has written "ready". */
export const EXITS_ON_TERM = sh("trap 'exit 0' TERM; echo ready; while true; do sleep 0.1; done");

export function sh(script: string): string[] {
  return ["/bin/sh", "-c", script];
}

export interface Pod {
  id: SandboxId;
  uid: string;
  config: Extract<PodSandboxConfigInit, { $typeName?: never }> & {
    metadata: { name: string; namespace: string; uid: string; attempt: number };
  };
  logDirectory: string;
}

export interface PodOptions {
  attempt?: number;
  uid?: string;
  network?: NamespaceMode;
}

export type ContainerOptions = Partial<Extract<ContainerConfigInit, { $typeName?: never }>> & {
  attempt?: number;
};

/** Pods and containers for the tests of a contract. */
export class ContractPods {
  #runtime: ContractRuntime | undefined;

  async open(setup: () => Promise<ContractRuntime>): Promise<void> {
    this.#runtime = await setup();
  }

  async close(): Promise<void> {
    await this.#runtime?.stop();
  }

  get runtime(): ContractRuntime {
    assert.ok(this.#runtime, "the runtime under test has not started");
    return this.#runtime;
  }

  get client(): CriClient {
    return this.runtime.client;
  }

  /** A pod for one test, removed after it. */
  async pod(t: TestContext, options: PodOptions = {}): Promise<Pod> {
    const { attempt = 0, uid = randomUUID(), network = NamespaceMode.NODE } = options;
    const logDirectory = join(this.runtime.logDir, `contract_pod_${uid}`);
    await mkdir(logDirectory, { recursive: true });
    const config = {
      metadata: { name: "pod", namespace: "contract", uid, attempt },
      logDirectory,
      labels: { "io.kubernetes.pod.uid": uid, suite: "contract" },
      annotations: { "example.com/note": "a = b; ü" },
      linux: {
        cgroupParent: this.runtime.cgroupParent ?? "",
        securityContext: { namespaceOptions: { network, pid: NamespaceMode.CONTAINER } },
      },
    };
    const id = await this.client.runPodSandbox(config, "");
    t.after(async () => {
      await this.client.removePodSandbox(id);
      await rm(logDirectory, { recursive: true, force: true });
    });
    return { id, uid, config, logDirectory };
  }

  create(pod: Pod, command: string[], options: ContainerOptions = {}): Promise<ContainerId> {
    const { attempt = 0, ...config } = options;
    return this.client.createContainer(
      pod.id,
      {
        metadata: { name: "main", attempt },
        image: { image: this.runtime.busybox },
        command,
        labels: { "io.kubernetes.container.name": "main" },
        annotations: { "example.com/hash": "1234" },
        logPath: `main/${attempt}.log`,
        linux: {
          securityContext: {
            namespaceOptions: { network: NamespaceMode.NODE, pid: NamespaceMode.CONTAINER },
          },
        },
        ...config,
      },
      pod.config,
    );
  }

  async start(pod: Pod, command: string[], options: ContainerOptions = {}): Promise<ContainerId> {
    const id = await this.create(pod, command, options);
    await this.client.startContainer(id);
    return id;
  }

  async status(id: ContainerId): Promise<ContainerStatus> {
    const { status } = await this.client.containerStatus(id);
    assert.ok(status);
    return status;
  }

  exit(id: ContainerId): Promise<ContainerStatus> {
    return eventually(async () => {
      const status = await this.status(id);
      return status.state === ContainerState.CONTAINER_EXITED ? status : undefined;
    });
  }
}

/** The error that the runtime reports. */
export async function errorOf(call: Promise<unknown>): Promise<CriError> {
  const error = await call.then(
    () => assert.fail("the runtime did not reject the call"),
    (reason: unknown) => reason,
  );
  assert.ok(error instanceof CriError, String(error));
  return error;
}
