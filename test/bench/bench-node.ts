import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { openSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import type { ContainerId, CriClient, SandboxId } from "../../src/lib/clients/cri/cri.ts";
import { hasGrpcCode } from "../../src/lib/clients/cri/cri-error.ts";
import { type Container, ContainerState } from "../../src/lib/gen/runtime/v1/api_pb.js";
import { AgentProcess, keepsMachine, repoDir, runtimeClient } from "../e2e/agent-process.ts";
import { writeManifest } from "../e2e/manifests.ts";
import { type ContainerdVersion, startTestNode, type TestNode } from "../node/test-node.ts";
import { type CopiedPod, copyPod, type RecordedPod, recordPod } from "./recorded-pod.ts";
import { preciseNow } from "./statistics.ts";

const longestWaitMs = 120_000;

/** A private node for a measurement, with or without the built kubelet. */
export class BenchNode {
  readonly node: TestNode;
  readonly cri: CriClient;
  readonly #agent: AgentProcess;
  #child: ChildProcess | undefined;

  private constructor(node: TestNode, agent: AgentProcess) {
    this.node = node;
    this.cri = runtimeClient(node.endpoint);
    this.#agent = agent;
  }

  static async start(containerd: ContainerdVersion): Promise<BenchNode> {
    const { buildIfStale } = (await import(join(repoDir, "scripts/lib/bundle.mjs"))) as {
      buildIfStale(): Promise<void>;
    };
    await buildIfStale();
    const node = await startTestNode({ containerd });
    return new BenchNode(node, await AgentProcess.create(node));
  }

  /** Starts the kubelet as a user would, and waits until it is idle. */
  async startAgent(extra: readonly string[] = []): Promise<void> {
    const log = openSync(this.#agent.logFile, "a");
    const { configFile, node } = this.#agent;
    this.#child = spawn(
      join(repoDir, "bin/kubelet"),
      [`--config=${configFile}`, `--root-dir=${node.rootDir}`, ...keepsMachine, ...extra],
      { stdio: ["ignore", log, log] },
    );
    await until("the kubelet is healthy", async () => (await this.#agent.health())?.status === 200);
    // The event stream is trusted half a second after it was opened, and then there is another relist.
    await pause(1500);
  }

  /** CPU time of the kubelet in milliseconds: less sensitive to other load than wall time. */
  agentCpu(): number {
    const stat = readFileSync(`/proc/${this.#child?.pid}/stat`, "utf8");
    const [user, system] = stat.slice(stat.lastIndexOf(")")).split(" ").slice(12, 14).map(Number);
    return ((user ?? 0) + (system ?? 0)) * 10;
  }

  async stopAgent(): Promise<void> {
    const child = this.#child;
    this.#child = undefined;
    if (!child || child.exitCode !== null || child.signalCode !== null) return;
    const exited = once(child, "exit");
    child.kill("SIGTERM");
    await exited;
  }

  /** Creates the cheapest possible static pod. */
  addPod(name: string): void {
    const pod = {
      apiVersion: "v1",
      kind: "Pod",
      metadata: { name },
      spec: {
        terminationGracePeriodSeconds: 1,
        dnsPolicy: "Default",
        containers: [{ name: "c", image: this.node.images.pause, imagePullPolicy: "Never" }],
      },
    };
    writeManifest(this.node.manifests, `${name}.json`, JSON.stringify(pod));
  }

  async removeAll(): Promise<void> {
    for (const file of readdirSync(this.node.manifests)) rmSync(join(this.node.manifests, file));
    await until("all pods are gone", async () => (await this.cri.listPodSandboxes()).length === 0);
  }

  async running(): Promise<Container[]> {
    return this.cri.listContainers({ state: { state: ContainerState.CONTAINER_RUNNING } });
  }

  /** Polls only a few times a second, to avoid load; start times are taken from the runtime. */
  async untilRunning(count: number): Promise<Container[]> {
    let running: Container[] = [];
    await until(`${count} containers run`, async () => {
      running = await this.running();
      return running.length >= count;
    });
    return running;
  }

  /** When a container started, in milliseconds since the epoch with fractions. */
  async startedAt(id: string): Promise<number> {
    const { status } = await this.cri.containerStatus(id as ContainerId);
    return Number(status?.startedAt ?? 0n) / 1e6;
  }

  /** The requests that the kubelet sends for one of these pods. */
  async record(): Promise<RecordedPod> {
    await this.startAgent();
    this.addPod("recorded");
    const [container] = await this.untilRunning(1);
    const recorded = await recordPod(this.node.endpoint, container!.podSandboxId, container!.id);
    await this.removeAll();
    await this.stopAgent();
    return recorded;
  }

  async copies(recorded: RecordedPod, count: number): Promise<CopiedPod[]> {
    const pods = Array.from({ length: count }, (_, i) =>
      copyPod(recorded, crypto.randomUUID(), `floor-${i}`),
    );
    for (const pod of pods) await pod.prepare();
    return pods;
  }

  async sandbox(pod: CopiedPod): Promise<SandboxId> {
    return this.cri.runPodSandbox(pod.sandbox, "");
  }

  async container(sandbox: SandboxId, pod: CopiedPod): Promise<ContainerId> {
    const id = await this.cri.createContainer(sandbox, pod.container, pod.sandbox);
    await this.cri.startContainer(id);
    return id;
  }

  /** Removes sandboxes that were created without a kubelet. */
  async discard(pods: readonly CopiedPod[]): Promise<void> {
    for (const { id } of await this.cri.listPodSandboxes()) {
      await this.cri.stopPodSandbox(id as SandboxId);
      await this.cri.removePodSandbox(id as SandboxId);
    }
    for (const pod of pods) await pod.cleanUp();
    await this.#drainEvents();
  }

  /** containerd queues events without a listener and would send them all to the next kubelet. */
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

  async destroy(): Promise<void> {
    await this.stopAgent();
    this.cri.close();
    await this.#agent.destroy();
  }
}

export async function until(what: string, isTrue: () => Promise<boolean>, everyMs = 250): Promise<void> {
  const deadline = preciseNow() + longestWaitMs;
  while (!(await isTrue())) {
    if (preciseNow() > deadline) throw new Error(`${what}: not within ${longestWaitMs / 1000} s`);
    await pause(everyMs);
  }
}
