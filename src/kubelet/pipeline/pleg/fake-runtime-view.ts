import { create } from "@bufbuild/protobuf";
import type { RuntimeService } from "../../../lib/clients/cri/cri.ts";
import { CriError } from "../../../lib/clients/cri/cri-error.ts";
import {
  ContainerSchema,
  ContainerState,
  ContainerStatusResponseSchema,
  PodSandboxSchema,
  PodSandboxState,
  PodSandboxStatusResponseSchema,
} from "../../../lib/gen/runtime/v1/api_pb.js";
import {
  labelContainerName,
  labelPodName,
  labelPodNamespace,
  labelPodUid,
} from "../../../lib/model/labels.ts";

type FakeState = "created" | "running" | "exited";

export interface FakeContainer {
  id: string;
  uid: string;
  name?: string;
  state: FakeState;
  attempt?: number;
  createdAt?: number;
  memoryLimit?: number;
  /** If it has exited. */
  end?: { exitCode: number; reason: string; finishedAt: number };
}

export interface FakeSandbox {
  id: string;
  uid: string;
  ready: boolean;
  /** True if no kubelet created it. */
  isForeign?: boolean;
  ip?: string;
  attempt?: number;
  createdAt?: number;
}

const states: Record<FakeState, ContainerState> = {
  created: ContainerState.CONTAINER_CREATED,
  running: ContainerState.CONTAINER_RUNNING,
  exited: ContainerState.CONTAINER_EXITED,
};

/** A runtime for tests of PLEG: its content can be changed, and its responses can be delayed. */
export class FakeRuntimeView {
  containers: FakeContainer[] = [];
  sandboxes: FakeSandbox[] = [];
  readonly calls: string[] = [];
  /** Called before each call; may throw or wait. The content of a list is fixed before that. */
  before: (call: string) => void | Promise<void> = () => {};

  readonly runtime: Pick<
    RuntimeService,
    "listPodSandboxes" | "listContainers" | "podSandboxStatus" | "containerStatus"
  > = {
    listPodSandboxes: async (filter) => {
      const uid = filter?.labelSelector?.[labelPodUid];
      const listed = this.sandboxes
        .filter((s) => uid === undefined || (s.uid === uid && !s.isForeign))
        .filter((s) => !filter?.id || s.id === filter.id)
        .map((s) => create(PodSandboxSchema, this.#sandbox(s)));
      await this.#called(`list sandboxes${uid ? ` of ${uid}` : ""}${filter?.id ? ` ${filter.id}` : ""}`);
      return listed;
    },
    listContainers: async (filter) => {
      const uid = filter?.labelSelector?.[labelPodUid];
      const listed = this.containers
        .filter((c) => uid === undefined || c.uid === uid)
        .map((c) => create(ContainerSchema, { ...this.#container(c), podSandboxId: `s-${c.uid}` }));
      await this.#called(`list containers${uid ? ` of ${uid}` : ""}`);
      return listed;
    },
    podSandboxStatus: async (id) => {
      await this.#called(`sandbox ${id}`);
      const found = this.sandboxes.find((s) => s.id === id);
      if (!found) throw new CriError("NOT_FOUND", "PodSandboxStatus", "not found");
      return create(PodSandboxStatusResponseSchema, {
        status: { ...this.#sandbox(found), network: { ip: found.ip ?? "10.0.0.1" } },
      });
    },
    containerStatus: async (id) => {
      await this.#called(`container ${id}`);
      const found = this.containers.find((c) => c.id === id);
      if (!found) throw new CriError("NOT_FOUND", "ContainerStatus", "not found");
      const { exitCode = 0, reason = "", finishedAt = 0 } = found.end ?? {};
      const linux = { memoryLimitInBytes: BigInt(found.memoryLimit ?? 0) };
      return create(ContainerStatusResponseSchema, {
        status: {
          ...this.#container(found),
          resources: { linux },
          exitCode,
          reason,
          finishedAt: BigInt(finishedAt) * 1_000_000n,
        },
      });
    },
  };

  /** Adds a pod with one sandbox and one container. */
  addPod(uid: string, state: FakeState = "running"): void {
    this.sandboxes.push({ id: `s-${uid}`, uid, ready: true });
    this.containers.push({ id: `c-${uid}`, uid, state });
  }

  removePod(uid: string): void {
    this.sandboxes = this.sandboxes.filter((s) => s.uid !== uid);
    this.containers = this.containers.filter((c) => c.uid !== uid);
  }

  async #called(call: string): Promise<void> {
    this.calls.push(call);
    await this.before(call);
  }

  #sandbox(s: FakeSandbox) {
    return {
      id: s.id,
      createdAt: BigInt(s.createdAt ?? 1) * 1_000_000n,
      state: s.ready ? PodSandboxState.SANDBOX_READY : PodSandboxState.SANDBOX_NOTREADY,
      labels: s.isForeign ? {} : labelsOf(s.uid),
      metadata: { name: `pod-${s.uid}`, namespace: "default", uid: s.uid, attempt: s.attempt ?? 0 },
    };
  }

  #container(c: FakeContainer) {
    return {
      id: c.id,
      createdAt: BigInt(c.createdAt ?? 1) * 1_000_000n,
      state: states[c.state],
      labels: { ...labelsOf(c.uid), [labelContainerName]: c.name ?? "a" },
      metadata: { name: c.name ?? "a", attempt: c.attempt ?? 0 },
    };
  }
}

function labelsOf(uid: string): Record<string, string> {
  return { [labelPodUid]: uid, [labelPodName]: `pod-${uid}`, [labelPodNamespace]: "default" };
}
