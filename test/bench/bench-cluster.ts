import { join } from "node:path";
import type { ContainerId, CriClient, SandboxId } from "../../src/lib/clients/cri/cri.ts";
import { hasGrpcCode } from "../../src/lib/clients/cri/cri-error.ts";
import { type Container, ContainerState } from "../../src/lib/gen/runtime/v1/api_pb.js";
import { AgentProcess, leavesHostUnchanged, runtimeClient } from "../e2e/agent-process.ts";
import { freePort } from "../e2e/free-port.ts";
import { type ContainerdVersion, startTestNode, type TestNode } from "../node/test-node.ts";
import { BenchApi, benchNode } from "./bench-api.ts";
import { type KubeletProgram, RunningKubelet } from "./bench-kubelet.ts";
import { KernelTunables } from "./kernel-tunables.ts";
import { PodWatch } from "./pod-watch.ts";
import { until } from "./until.ts";

export interface BenchClusterOptions {
  readonly containerd: ContainerdVersion;
  /** The most pods at a time. */
  readonly pods: number;
  /** An API server instead of the embedded one. */
  readonly kubeconfig?: string | undefined;
}

/** A private containerd and an API server, for one kubelet at a time or none. */
export class BenchCluster {
  readonly node: TestNode;
  readonly cri: CriClient;
  readonly api: BenchApi;
  readonly watch: PodWatch;
  readonly #agent: AgentProcess;
  readonly #port: number;
  readonly #kubelets: RunningKubelet[] = [];
  #tunables: KernelTunables | undefined;
  #destroyed: Promise<void> | undefined;

  private constructor(node: TestNode, agent: AgentProcess, api: BenchApi, watch: PodWatch, port: number) {
    this.node = node;
    this.cri = runtimeClient(node.endpoint);
    this.api = api;
    this.watch = watch;
    this.#agent = agent;
    this.#port = port;
  }

  static async start(o: BenchClusterOptions): Promise<BenchCluster> {
    const api = o.kubeconfig ? await BenchApi.ofKubeconfig(o.kubeconfig) : await BenchApi.embedded();
    const node = await startTestNode({ containerd: o.containerd }).catch(async (error) => {
      await api.stop();
      throw error;
    });
    const port = await freePort();
    const agent = await AgentProcess.create(node, {
      enableServer: true,
      address: "127.0.0.1",
      port,
      maxPods: Math.max(110, o.pods + 10),
      authentication: { anonymous: { enabled: true }, webhook: { enabled: false } },
      authorization: { mode: "AlwaysAllow" },
    });
    const cluster = new BenchCluster(node, agent, api, new PodWatch(api.admin), port);
    for (const signal of ["SIGINT", "SIGTERM"] as const)
      process.once(signal, () => void cluster.destroy().finally(() => process.exit(130)));
    await cluster.watch.start();
    return cluster;
  }

  startKubelet(program: KubeletProgram): RunningKubelet {
    const { rootDir } = this.node;
    // Only then: other processes may change the tunables in the meantime.
    if (!program.help.includes(leavesHostUnchanged[0]!)) this.#tunables ??= new KernelTunables();
    const flags = [
      `--config=${this.#agent.configFile}`,
      `--root-dir=${rootDir}`,
      `--cert-dir=${join(rootDir, "pki")}`,
      `--kubeconfig=${this.api.kubeconfig}`,
      `--hostname-override=${benchNode}`,
      ...leavesHostUnchanged,
    ];
    const kubelet = new RunningKubelet(program, {
      flags,
      port: this.#port,
      logFile: this.#agent.logFile,
      onFailure: (error) => this.watch.fail(error),
    });
    this.#kubelets.push(kubelet);
    return kubelet;
  }

  /** The cheapest possible pod: one container that waits, whose image is present. */
  createPod(name: string, more: object = {}): Promise<void> {
    return this.api.createPod(name, {
      terminationGracePeriodSeconds: 1,
      dnsPolicy: "Default",
      automountServiceAccountToken: false,
      containers: [{ name: "c", image: this.node.images.pause, imagePullPolicy: "Never" }],
      ...more,
    });
  }

  running(podSandboxId?: string): Promise<Container[]> {
    const state = { state: ContainerState.CONTAINER_RUNNING };
    return this.cri.listContainers({ state, ...(podSandboxId !== undefined && { podSandboxId }) });
  }

  /** When a container started, in milliseconds since the epoch with fractions. */
  async startedAt(id: string): Promise<number> {
    const { status } = await this.cri.containerStatus(id as ContainerId);
    return Number(status?.startedAt ?? 0n) / 1e6;
  }

  /** The first process of each container. */
  async processes(): Promise<Map<string, number>> {
    const rows = (await this.node.ctr(["tasks", "ls"])).split("\n").map((line) => line.trim().split(/\s+/));
    return new Map(rows.flatMap(([id, pid]) => (id && Number(pid) > 0 ? [[id, Number(pid)] as const] : [])));
  }

  /** Waits until the runtime has no sandbox, and removes the events that the next kubelet would otherwise receive at once. */
  async waitUntilEmpty(): Promise<void> {
    await until("all sandboxes are gone", async () => (await this.cri.listPodSandboxes()).length === 0);
    await this.#drainEvents();
  }

  async #drainEvents(): Promise<void> {
    const quiet = new AbortController();
    let timer: NodeJS.Timeout | undefined;
    const wait = () => {
      clearTimeout(timer);
      timer = setTimeout(() => quiet.abort(), 500);
    };
    wait();
    try {
      for await (const _ of this.cri.containerEvents(quiet.signal)) wait();
    } catch (error) {
      // containerd 1.6 has no events.
      if (!hasGrpcCode(error, "UNIMPLEMENTED")) throw error;
    } finally {
      clearTimeout(timer);
    }
  }

  /** Stops and removes everything. It may be called again. */
  destroy(): Promise<void> {
    this.#destroyed ??= this.#destroy();
    return this.#destroyed;
  }

  async #destroy(): Promise<void> {
    for (const kubelet of this.#kubelets) await kubelet.stop();
    await this.watch.stop();
    for (const name of this.watch.existing) await this.#forceDelete(name);
    for (const { id } of await this.cri.listPodSandboxes()) await this.cri.stopPodSandbox(id as SandboxId);
    this.cri.close();
    await this.#agent.destroy();
    await this.api.stop();
    this.#tunables?.restore();
  }

  /** After a failure no kubelet is left that would complete a deletion. */
  async #forceDelete(name: string): Promise<void> {
    await this.api.deletePod(name, 0).catch(() => {});
  }
}
