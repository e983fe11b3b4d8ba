import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readdirSync, writeFileSync } from "node:fs";
import { get as httpGet } from "node:http";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { send, type TestPair, testAuthority, testPair } from "../../src/kubelet/server/fixtures.ts";
import { fakeStreamingRuntime } from "../../src/kubelet/server/streaming/fake-streaming-runtime.ts";
import { KubeApiError, TransportError } from "../../src/lib/clients/kube/api-error.ts";
import type { KubeRequest } from "../../src/lib/clients/kube/transport-interface.ts";
import { container, nodeName, TestCluster } from "../cluster/cluster-node.ts";
import { serveApi } from "../cluster/serve-api.ts";
import { freePort, leavesHostUnchanged } from "../e2e/agent-process.ts";
import { waitFor } from "../e2e/wait-for.ts";
import { kubeletProgram } from "../kubelet-program.ts";

/** It is in the pod's object, in its log and in the output of its commands. No client without permission may see it. */
export const secret = "S3CRET-0f7d";

export interface GuardedNodeOptions {
  /** Without a cluster there is no authorizer. */
  readonly standalone?: boolean;
  /** Also serves the read-only port. */
  readonly readOnly?: boolean;
  readonly authentication?: object;
  readonly featureGates?: Readonly<Record<string, boolean>>;
  /** The streaming server of commands other than the programs below. */
  readonly streamUrl?: (command: string) => string | undefined;
}

/** The report of the agent about itself (`agent-probe.mjs`). */
export interface AgentState {
  readonly heapUsed: number;
  readonly external: number;
  readonly rss: number;
}

const probe = new URL("./agent-probe.mjs", import.meta.url).href;

/**
 * The kubelet as a separate process with all of its ports, between a runtime in memory that has
 * streams and an API that authenticates and authorizes. Tokens: "good-<user>"; a user may do what it is named after,
 * and "admin" everything. "down": authentication fails. "broken": authorization fails.
 */
export class GuardedNode {
  readonly cluster: TestCluster;
  readonly ca = testAuthority();
  readonly admin: TestPair = testPair(this.ca, "admin");
  readonly port: number;
  readonly readOnlyPort: number;
  readonly healthPort: number;
  /** The requests: "tokenreviews good-x", "subjectaccessreviews x get nodes/pods". */
  readonly reviews: string[] = [];
  readonly #child: ChildProcess;
  #log = "";

  private constructor(
    cluster: TestCluster,
    ports: readonly number[],
    o: GuardedNodeOptions,
    kubeconfig: string | undefined,
  ) {
    this.cluster = cluster;
    [this.port = 0, this.readOnlyPort = 0, this.healthPort = 0] = ports;
    const caFile = join(cluster.dir, "ca.crt");
    writeFileSync(caFile, this.ca.certificate);
    const configFile = join(cluster.dir, "kubelet.json");
    const { containerRuntimeEndpoint, podLogsDir, staticPodPath, volumePluginDir } = cluster.config();
    writeFileSync(
      configFile,
      JSON.stringify({
        apiVersion: "kubelet.config.k8s.io/v1beta1",
        kind: "KubeletConfiguration",
        containerRuntimeEndpoint,
        podLogsDir,
        staticPodPath,
        volumePluginDir,
        address: "127.0.0.1",
        port: this.port,
        healthzPort: this.healthPort,
        cgroupsPerQOS: false,
        enforceNodeAllocatable: ["none"],
        failCgroupV1: false,
        resolvConf: "",
        imageGCHighThresholdPercent: 100,
        ...(o.featureGates && { featureGates: o.featureGates }),
        ...(o.readOnly && { readOnlyPort: this.readOnlyPort }),
        authentication: { x509: { clientCAFile: caFile }, ...o.authentication },
      }),
    );
    const flags = [
      ...[`--config=${configFile}`, `--root-dir=${join(cluster.dir, "root")}`],
      ...[`--cert-dir=${join(cluster.dir, "pki")}`, `--hostname-override=${nodeName}`, "-v=1"],
      ...[...leavesHostUnchanged, "--fail-swap-on=false"],
      ...(kubeconfig === undefined ? [] : [`--kubeconfig=${kubeconfig}`]),
    ];
    this.#child = spawn(process.execPath, [`--import=${probe}`, "--expose-gc", kubeletProgram, ...flags], {
      stdio: ["ignore", "pipe", "pipe"],
    });
    for (const stream of [this.#child.stdout, this.#child.stderr])
      stream?.on("data", (chunk) => {
        this.#log += chunk;
      });
  }

  static async start(o: GuardedNodeOptions = {}): Promise<{ node: GuardedNode; stop(): Promise<void> }> {
    const ends: (() => unknown)[] = [];
    const streams = await fakeStreamingRuntime(programs);
    ends.push(() => streams.stop());
    const cluster = await TestCluster.start(
      { after: (end: () => unknown) => void ends.push(end) } as unknown as TestContext,
      {},
      {},
      {
        streamUrl: (kind, [command = ""]) =>
          o.streamUrl?.(kind === "exec" ? command : kind) ?? streams.url(kind === "exec" ? command : kind),
      },
    );
    const reviews: string[] = [];
    let kubeconfig: string | undefined;
    if (!o.standalone) {
      const proxy = await serveApi({
        request: <T>(call: KubeRequest) => review<T>(call, reviews) ?? cluster.api.request<T>(call),
        stream: (call) => cluster.api.stream(call),
      });
      ends.push(() => proxy.close());
      kubeconfig = join(cluster.dir, "kubeconfig");
      writeFileSync(kubeconfig, kubeconfigOf(proxy.url));
    }
    const ports = [await freePort(), await freePort(), await freePort()];
    const node = new GuardedNode(cluster, ports, o, kubeconfig);
    Object.assign(node, { reviews });
    const stop = async () => {
      await node.#end();
      for (const end of ends.reverse()) await end();
    };
    try {
      await node.#begin(o);
    } catch (error) {
      await stop();
      throw new Error(`${error}\n${node.#log}`, { cause: error });
    }
    return { node, stop };
  }

  get pid(): number {
    return this.#child.pid ?? 0;
  }

  get log(): string {
    return this.#log;
  }

  get rootDir(): string {
    return join(this.cluster.dir, "root");
  }

  /** The pod's name, with the node name as suffix. */
  readonly pod = `web-${nodeName}`;

  /** The process runs and has logged no unexpected error. */
  assertHealthy(): void {
    assert.equal(this.#child.exitCode ?? this.#child.signalCode, null, this.#log);
    assert.doesNotMatch(this.#log, /TypeError|RangeError|ReferenceError|Unhandled|MaxListeners/);
  }

  /** Sends a valid request; resolves with its duration. */
  async timeValidRequest(): Promise<number> {
    const began = performance.now();
    const { status, body } = await send(this.port, "/pods", { ...this.admin });
    assert.equal(status, 200, body);
    assert.ok(body.includes(secret));
    return performance.now() - began;
  }

  openFiles(): number {
    return readdirSync(`/proc/${this.pid}/fd`).length;
  }

  /** Queries the process itself, which collects garbage before it responds. */
  async state(): Promise<AgentState> {
    const lines = () => this.#log.split("\n").filter((line) => line.startsWith("PROBE {"));
    const before = lines().length;
    this.#child.kill("SIGUSR2");
    return await waitFor(() => {
      const line = lines()[before];
      assert.ok(line, "no response");
      return JSON.parse(line.slice(6)) as AgentState;
    });
  }

  async #begin(o: GuardedNodeOptions): Promise<void> {
    const command = ["sh", "-c", `echo ${secret}; trap 'exit 0' TERM; while true; do sleep 1000; done`];
    const env = [{ name: "PASSWORD", value: secret }];
    await this.cluster.placeManifest("web", { containers: [container({ name: "app", command, env })] });
    await waitFor(async () => {
      assert.equal(this.#child.exitCode, null);
      const response = o.standalone ? await this.#localPods() : await this.#remotePods();
      assert.match(response, /"phase": ?"Running"/);
    }, 60_000);
  }

  async #remotePods(): Promise<string> {
    return (await send(this.port, "/pods", { ...this.admin })).body;
  }

  /** The pods on the local socket, which root can read even without a cluster. */
  #localPods(): Promise<string> {
    return new Promise((resolve, reject) => {
      httpGet({ socketPath: join(this.rootDir, "kubelet.sock"), path: "/pods" }, (response) => {
        let text = "";
        response.on("data", (chunk) => {
          text += chunk;
        });
        response.on("end", () => resolve(text));
      }).on("error", reject);
    });
  }

  async #end(): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    const exited = once(this.#child, "exit");
    this.#child.kill("SIGKILL");
    await exited;
  }
}

/** "cat" echoes its input; "secret" prints the secret and exits. */
const programs: Parameters<typeof fakeStreamingRuntime>[0] = {
  cat: {
    expected: 3,
    data: (command, stream, data) => void (stream === "stdin" && command.write("stdout", data)),
    end: (command, stream) => {
      if (stream !== "stdin") return;
      for (const name of ["stdout", "error"]) command.fin(name);
    },
  },
  secret: {
    expected: 2,
    start: (command) => {
      command.write("stdout", `${secret}\n`);
      for (const name of ["stdout", "error"]) command.fin(name);
    },
  },
};

function review<T>({ path, body }: KubeRequest, reviews: string[]): Promise<T> | undefined {
  const kind = /\/(tokenreviews|subjectaccessreviews)$/.exec(path)?.[1];
  if (kind === undefined) return undefined;
  const { spec } = body as { spec: never };
  return Promise.resolve({
    status: kind === "tokenreviews" ? reviewToken(spec, reviews) : reviewAccess(spec, reviews),
  } as T);
}

function reviewToken({ token }: { token: string }, reviews: string[]): object {
  reviews.push(`tokenreviews ${token}`);
  if (token === "down") throw new TransportError("connection refused");
  if (token === "limited")
    throw new KubeApiError({ status: 429, reason: "TooManyRequests", message: "later" });
  return token.startsWith("good-")
    ? { authenticated: true, user: { username: token.slice(5), groups: ["g"], uid: "u" } }
    : { authenticated: false, error: "unknown" };
}

function reviewAccess(
  { user, resourceAttributes }: { user: string; resourceAttributes: Record<string, string> },
  reviews: string[],
): object {
  const { verb, resource, subresource, name } = resourceAttributes;
  reviews.push(`subjectaccessreviews ${user} ${verb} ${resource}/${subresource} ${name}`);
  if (user === "broken") throw new TransportError("connection refused");
  return { allowed: user === "admin" || subresource === user, denied: user === "denied" };
}

function kubeconfigOf(server: string): string {
  return JSON.stringify({
    apiVersion: "v1",
    kind: "Config",
    "current-context": "c",
    contexts: [{ name: "c", context: { cluster: "c", user: "u" } }],
    clusters: [{ name: "c", cluster: { server } }],
    users: [{ name: "u", user: {} }],
  });
}
