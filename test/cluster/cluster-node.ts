import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { type Agent, type AgentOptions, startAgent } from "../../src/kubelet/agent/agent.ts";
import { systemClock } from "../../src/lib/base/clock.ts";
import { silentLogger } from "../../src/lib/base/logger.ts";
import { withDefaults } from "../../src/lib/config/defaults.ts";
import { FeatureGates } from "../../src/lib/config/feature-gates.ts";
import type { KubeletConfiguration } from "../../src/lib/config/kubelet-configuration.ts";
import { ContainerState } from "../../src/lib/gen/runtime/v1/api_pb.js";
import { applyPodDefaults } from "../../src/lib/model/defaults/pod.ts";
import type { Container, Pod, PodSpec, PodUid } from "../../src/lib/model/pod.ts";
import { computeQos } from "../../src/lib/model/qos.ts";
import { waitFor } from "../e2e/wait-for.ts";
import {
  type FakeRuntime,
  type FakeRuntimeOptions,
  fakeImages,
  startFakeRuntime,
} from "../fake-runtime/fake-runtime.ts";
import type { RegistryEntry } from "../fake-runtime/images.ts";
import { removeDir } from "../node/remove-dir.ts";
import { type ApiObject, FakeApi } from "./fake-api.ts";

export const nodeName = "node-a";
/** Exits immediately on SIGTERM. */
export const server = ["sh", "-c", "trap 'exit 0' TERM; while true; do sleep 1000; done"];

/** The agent in this process between an API server and a container runtime, both in memory. */
export class TestCluster {
  readonly api = new FakeApi();
  readonly runtime: FakeRuntime;
  readonly dir: string;
  readonly #more: Partial<AgentOptions>;
  readonly #clients: (() => Promise<unknown>)[] = [];
  #agent: Agent | undefined;

  static async start(
    t: TestContext,
    more: Partial<AgentOptions> = {},
    registry: Record<string, RegistryEntry> = {},
    runtimeOptions: Partial<FakeRuntimeOptions> = {},
  ): Promise<TestCluster> {
    const dir = await mkdtemp(join(tmpdir(), "cluster-"));
    const socketPath = join(dir, "cri.sock");
    const runtime = await startFakeRuntime({ socketPath, events: true, registry, ...runtimeOptions });
    const cluster = new TestCluster(dir, runtime, more);
    await mkdir(cluster.manifests);
    t.after(async () => {
      await Promise.all(cluster.#clients.map((end) => end()));
      await cluster.stopAgent();
      await runtime.close();
      await removeDir(dir);
    });
    return cluster;
  }

  private constructor(dir: string, runtime: FakeRuntime, more: Partial<AgentOptions>) {
    this.dir = dir;
    this.runtime = runtime;
    this.#more = more;
  }

  /** Stops a process that uses the runtime before the runtime is closed, which waits for its clients. */
  endFirst(end: () => Promise<unknown>): void {
    this.#clients.push(end);
  }

  get manifests(): string {
    return join(this.dir, "manifests");
  }

  get agent(): Agent {
    assert.ok(this.#agent, "the agent has not been started");
    return this.#agent;
  }

  /** The default configuration of the agent. */
  config(): KubeletConfiguration {
    return Object.assign(withDefaults({}, new FeatureGates({})), {
      containerRuntimeEndpoint: this.runtime.endpoint,
      podLogsDir: join(this.dir, "logs"),
      staticPodPath: this.manifests,
      volumePluginDir: join(this.dir, "volume-plugins"),
      cgroupsPerQOS: false,
      enforceNodeAllocatable: [],
      failCgroupV1: false,
      imageGCHighThresholdPercent: 100,
      resolvConf: "",
      evictionHard: { "memory.available": "100Mi" },
      kubeReserved: { memory: "28Mi" },
    });
  }

  async startAgent(more: Partial<AgentOptions> = {}): Promise<void> {
    this.#agent = await startAgent({
      config: this.config(),
      gates: new FeatureGates({}),
      rootDir: join(this.dir, "root"),
      containerLogsDir: join(this.dir, "container-logs"),
      hostnameOverride: nodeName,
      healthPort: 0,
      cluster: { transport: this.api, kubeletVersion: "v1.36.4" },
      clock: systemClock,
      logger: silentLogger,
      ...this.#more,
      ...more,
    });
  }

  async stopAgent(): Promise<void> {
    await this.#agent?.stop();
    this.#agent = undefined;
  }

  /** Creates a pod that is bound to this node. */
  addPod(name: string, spec: Partial<PodSpec> = {}): Pod {
    const pod: Pod = applyPodDefaults({
      apiVersion: "v1",
      kind: "Pod",
      metadata: { name, namespace: "default", uid: randomUUID() as PodUid, generation: 1 },
      spec: { nodeName, terminationGracePeriodSeconds: 5, containers: [container()], ...spec },
    } satisfies Pod);
    const status = { phase: "Pending", qosClass: computeQos(pod) };
    return this.api.put("pods", { ...pod, status } as unknown as ApiObject) as unknown as Pod;
  }

  async placeManifest(name: string, spec: object = {}): Promise<void> {
    const pod = {
      apiVersion: "v1",
      kind: "Pod",
      metadata: { name },
      spec: { containers: [container()], ...spec },
    };
    await writeFile(join(this.manifests, `${name}.json`), JSON.stringify(pod));
  }

  removeManifest(name: string): Promise<void> {
    return rm(join(this.manifests, `${name}.json`));
  }

  /** Waits until the pod in the API passes the check. */
  waitForPod(name: string, check: (pod: Pod) => void, withinMs?: number): Promise<Pod> {
    return waitFor(() => {
      const pod = this.api.pod(name);
      assert.ok(pod, `no pod ${name}`);
      check(pod);
      return pod;
    }, withinMs);
  }

  runs(name: string, withinMs?: number): Promise<Pod> {
    return this.waitForPod(
      name,
      ({ status }) => {
        assert.equal(status?.phase, "Running", JSON.stringify(status));
        assert.equal(status?.conditions?.find((c) => c.type === "Ready")?.status, "True");
      },
      withinMs,
    );
  }

  isGone(name: string): Promise<void> {
    return waitFor(() => assert.equal(this.api.pod(name), undefined));
  }

  /** Containers of a pod in the runtime, including terminated ones. */
  containersOf(uid: string) {
    return [...this.runtime.pods.containers.values()].filter(
      (c) => c.config.labels["io.kubernetes.pod.uid"] === uid,
    );
  }

  runningOf(uid: string) {
    return this.containersOf(uid).filter((c) => c.state === ContainerState.CONTAINER_RUNNING);
  }

  /** Messages of events about the pod with this reason. */
  events(name: string, reason: string): string[] {
    return this.api
      .all("events")
      .filter((e) => e.reason === reason && (e.involvedObject as { name: string }).name === name)
      .map((e) => String(e.message));
  }
}

export function container(more: Partial<Container> = {}): Container {
  return { name: "c", image: fakeImages.busybox, imagePullPolicy: "Never", command: server, ...more };
}
