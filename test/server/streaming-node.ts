import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { startServer, type TestServer } from "../../src/kubelet/server/fixtures.ts";
import type { Route } from "../../src/kubelet/server/route.ts";
import { streamingRoutes } from "../../src/kubelet/server/streaming/routes.ts";
import type { ObservedPod } from "../../src/kubelet/state/observed-pods.ts";
import { systemClock } from "../../src/lib/base/clock.ts";
import { silentLogger } from "../../src/lib/base/logger.ts";
import { createMetrics } from "../../src/lib/base/metrics.ts";
import { wallTime } from "../../src/lib/base/time.ts";
import { createCriClient } from "../../src/lib/clients/cri/client.ts";
import type { ContainerId, CriClient, SandboxId } from "../../src/lib/clients/cri/cri.ts";
import { NamespaceMode } from "../../src/lib/gen/runtime/v1/api_pb.js";
import { fakePod } from "../../src/lib/model/fake-pod.ts";
import { fullNameOf, type PodFullName, type PodUid } from "../../src/lib/model/pod.ts";
import { servers } from "../kubectl/forwarded.ts";
import { type ContainerdVersion, startTestNode, type TestNode } from "../node/test-node.ts";

const containers = [
  { name: "app", stdin: false, command: ["/bin/sh", "-c", "exec sleep 3600"] },
  {
    name: "echo",
    stdin: true,
    command: ["/bin/sh", "-c", 'while read -r x; do echo "got $x"; done; sleep 3600'],
  },
] as const;

/** A real runtime with one pod, default/web, behind the streaming routes of the agent's server. There is no agent. */
export class StreamingNode {
  readonly pod = fakePod({
    metadata: { uid: randomUUID() as PodUid },
    spec: { containers: containers.map(({ name, stdin }) => ({ name, stdin })) },
  });
  client!: CriClient;
  #node!: TestNode;
  #sandbox: SandboxId | undefined;
  #inPod: ChildProcess | undefined;
  #observed!: ObservedPod;
  readonly #servers: TestServer[] = [];

  static async start(containerd: ContainerdVersion): Promise<StreamingNode> {
    const created = new StreamingNode();
    created.#node = await startTestNode({ containerd });
    try {
      await created.#start();
    } catch (error) {
      await created.stop();
      throw error;
    }
    return created;
  }

  /** Starts a server with the streaming routes and, if given, `more` routes. */
  async serve(o: { idleMs?: number; more?: (routes: Route[]) => Route[] } = {}): Promise<TestServer> {
    const routes = streamingRoutes({
      runtime: this.client,
      clock: systemClock,
      metrics: createMetrics(),
      translate: true,
      idleMs: o.idleMs ?? 0,
      desired: {
        byFullName: (name: PodFullName) => (name === fullNameOf(this.pod) ? this.pod : undefined),
        mirrorOf: () => undefined,
      },
      observed: { get: () => this.#observed },
    });
    const server = await startServer({
      routes: [...routes, ...(o.more?.(routes) ?? [])],
      access: { authorize: async () => ({ name: "x", groups: [] }) },
    });
    this.#servers.push(server);
    return server;
  }

  async stop(): Promise<void> {
    await Promise.all(this.#servers.map((server) => server.stop()));
    this.#inPod?.kill();
    if (this.#sandbox) await this.client.removePodSandbox(this.#sandbox);
    this.client?.close();
    await this.#node.stop();
  }

  async #start(): Promise<void> {
    const { endpoint, logDir, cgroupRoot, images } = this.#node;
    this.client = createCriClient({
      runtimeEndpoint: endpoint,
      requestTimeoutMs: 60_000,
      logger: silentLogger,
      clock: systemClock,
      metrics: createMetrics(),
    });
    const { name, namespace, uid } = this.pod.metadata;
    const logDirectory = join(logDir, `streams_${uid}`);
    await mkdir(logDirectory, { recursive: true });
    const namespaceOptions = { network: NamespaceMode.POD, pid: NamespaceMode.CONTAINER };
    const config = {
      metadata: { name, namespace, uid, attempt: 0 },
      logDirectory,
      linux: { cgroupParent: cgroupRoot, securityContext: { namespaceOptions } },
    };
    const sandbox = await this.client.runPodSandbox(config, "");
    this.#sandbox = sandbox;
    const ids = await Promise.all(
      containers.map(async ({ name, ...container }) => {
        const id = await this.client.createContainer(
          sandbox,
          {
            metadata: { name, attempt: 0 },
            image: { image: images.busybox },
            logPath: `${name}.log`,
            linux: { securityContext: { namespaceOptions } },
            ...container,
            command: [...container.command],
          },
          config,
        );
        await this.client.startContainer(id);
        return [name, id] as const;
      }),
    );
    this.#observed = this.#observedPod(sandbox, ids);
    this.#inPod = await this.#serveInPod(ids[0]?.[1] ?? "");
  }

  /** Starts the servers of `forwarded.ts` in the network of the pod. */
  async #serveInPod(container: string): Promise<ChildProcess> {
    const tasks = await this.#node.ctr(["--namespace", "k8s.io", "task", "list"]);
    const pid = tasks
      .split("\n")
      .find((line) => line.startsWith(container))
      ?.split(/\s+/)[1];
    assert.ok(pid, tasks);
    const child = spawn("nsenter", ["--net", "--target", pid, process.execPath, "-e", servers]);
    await new Promise((resolve) => child.stdout.once("data", resolve));
    return child;
  }

  #observedPod(sandboxId: SandboxId, ids: readonly (readonly [string, ContainerId])[]): ObservedPod {
    const { uid, name, namespace } = this.pod.metadata;
    const defaults = { attempt: 0, createdAt: wallTime(1), annotations: {} };
    return {
      uid,
      name,
      namespace,
      sandboxes: [{ ...defaults, id: sandboxId, state: "ready", ips: [], hostNetwork: false }],
      containers: ids.map(([containerName, id]) => ({
        ...defaults,
        id,
        name: containerName,
        sandboxId,
        state: "running",
        hash: "",
        image: "",
        imageRef: "",
        startedAt: wallTime(1),
        finishedAt: wallTime(0),
        exitCode: 0,
        reason: "",
        message: "",
        logPath: "",
      })),
    };
  }
}
