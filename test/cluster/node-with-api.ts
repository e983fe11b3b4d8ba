import assert from "node:assert/strict";
import type { ContainerId, CriClient } from "../../src/lib/clients/cri/cri.ts";
import { KubeApiError } from "../../src/lib/clients/kube/api-error.ts";
import type { HttpKubeTransport } from "../../src/lib/clients/kube/transport.ts";
import { ContainerState } from "../../src/lib/gen/runtime/v1/api_pb.js";
import type { Container, Pod, PodSpec } from "../../src/lib/model/pod.ts";
import { AgentProcess, cgroupFile, runtimeClient } from "../e2e/agent-process.ts";
import { sleeper } from "../e2e/manifests.ts";
import { waitFor } from "../e2e/wait-for.ts";
import { busyboxName, type ContainerdVersion, startTestNode, type TestNode } from "../node/test-node.ts";
import { nodeName } from "./cluster-node.ts";
import { KillableApi } from "./killable-api.ts";

export const podsPath = "/api/v1/namespaces/default/pods";
const leasePath = `/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/${nodeName}`;

/** The properties of a container that must not change without a reason. */
export interface RunningContainer {
  readonly id: ContainerId;
  readonly pod: string;
  readonly attempt: number;
}

type Config = Record<string, unknown>;

export interface NodeWithApiOptions {
  /** Additional settings of the agent. */
  readonly config?: Config | ((api: KillableApi, node: TestNode) => Config);
  readonly flags?: (node: TestNode) => readonly string[];
  readonly env?: NodeJS.ProcessEnv;
  /** Where the files of the node are, except sockets. */
  readonly baseDir?: string;
  /** Before the agent is started for the first time. */
  readonly prepare?: (node: TestNode) => Promise<void>;
  /** When the API accepts requests, before the agent is started for the first time. */
  readonly join?: (node: TestNode, api: KillableApi) => Promise<void>;
}

/** A real containerd, the embedded API and the agent, as separate processes. */
export class NodeWithApi {
  readonly node: TestNode;
  readonly agent: AgentProcess;
  readonly api: KillableApi;
  readonly runtime: CriClient;
  readonly admin: HttpKubeTransport;
  readonly #env: NodeJS.ProcessEnv;

  static async start(containerd: ContainerdVersion, o: NodeWithApiOptions = {}): Promise<NodeWithApi> {
    const node = await startTestNode({ containerd, ...(o.baseDir !== undefined && { baseDir: o.baseDir }) });
    await o.prepare?.(node);
    const api = await KillableApi.create(nodeName);
    api.start();
    const admin = await readyAdmin(api).catch(async (error) => {
      // A wait for its children would last forever.
      await api.destroy();
      await node.stop();
      throw error;
    });
    await o.join?.(node, api);
    const agent = await AgentProcess.create(
      node,
      typeof o.config === "function" ? o.config(api, node) : o.config,
    );
    const flags = o.flags?.(node) ?? [];
    const apiNode = new NodeWithApi(
      node,
      agent,
      api,
      runtimeClient(node.endpoint),
      admin,
      o.env ?? process.env,
    );
    apiNode.startAgent(flags);
    return apiNode;
  }

  private constructor(
    node: TestNode,
    agent: AgentProcess,
    api: KillableApi,
    runtime: CriClient,
    admin: HttpKubeTransport,
    env: NodeJS.ProcessEnv,
  ) {
    this.node = node;
    this.agent = agent;
    this.api = api;
    this.runtime = runtime;
    this.admin = admin;
    this.#env = env;
  }

  startAgent(more: readonly string[] = []): void {
    const flags = [`--kubeconfig=${this.api.nodeKubeconfig}`, `--hostname-override=${nodeName}`, ...more];
    this.agent.start(flags, this.#env);
  }

  async destroy(): Promise<void> {
    this.runtime.close();
    await this.agent.destroy();
    await this.api.destroy();
  }

  get<T>(path: string): Promise<T> {
    return this.admin.request<T>({ method: "GET", path, timeoutMs: 5000 });
  }

  pod(name: string): Promise<Pod> {
    return this.get<Pod>(`${podsPath}/${name}`);
  }

  addPod(name: string, container: Partial<Container> = {}, spec: Partial<PodSpec> = {}): Promise<Pod> {
    const c = {
      name: "c",
      image: busyboxName,
      imagePullPolicy: "Never" as const,
      command: sleeper,
      ...container,
    };
    const more = { terminationGracePeriodSeconds: 1, dnsPolicy: "Default" as const, ...spec };
    const body = { apiVersion: "v1", kind: "Pod", metadata: { name }, spec: { ...more, containers: [c] } };
    return this.admin.request<Pod>({ method: "POST", path: podsPath, body });
  }

  deletePod(name: string): Promise<unknown> {
    return this.admin.request({ method: "DELETE", path: `${podsPath}/${name}` });
  }

  runs(name: string, withinMs?: number): Promise<Pod> {
    return waitFor(async () => {
      const pod = await this.pod(name);
      assert.equal(pod.status?.phase, "Running", JSON.stringify(pod.status));
      assert.equal(pod.status?.containerStatuses?.[0]?.ready, true);
      return pod;
    }, withinMs);
  }

  async isGone(name: string): Promise<void> {
    await waitFor(async () => {
      const there = await this.pod(name).catch((error) => {
        if (error instanceof KubeApiError && error.status === 404) return undefined;
        throw error;
      });
      assert.equal(there?.metadata.name, undefined);
    });
  }

  async renewedAt(): Promise<number> {
    return Date.parse((await this.get<{ spec: { renewTime: string } }>(leasePath)).spec.renewTime);
  }

  /** Running containers, as reported by the runtime itself. */
  async running(): Promise<RunningContainer[]> {
    const found = await this.runtime.listContainers({ state: { state: ContainerState.CONTAINER_RUNNING } });
    return found.map(({ id, labels, metadata }) => ({
      id: id as ContainerId,
      pod: labels["io.kubernetes.pod.name"] ?? "",
      attempt: metadata?.attempt ?? 0,
    }));
  }

  /** Bytes in use by a cgroup. */
  async memoryUsage(cgroup: string): Promise<number> {
    const usage = cgroupFile(cgroup, "memory.usage_in_bytes") ?? cgroupFile(cgroup, "memory.current");
    return Number(usage);
  }

  async containersOf(name: string): Promise<RunningContainer[]> {
    return (await this.running()).filter(({ pod }) => pod === name);
  }
}

async function readyAdmin(api: KillableApi): Promise<HttpKubeTransport> {
  const admin = await api.admin();
  await waitFor(() =>
    admin.request({ method: "GET", path: "/api/v1/namespaces/default/serviceaccounts/default" }),
  );
  return admin;
}
