import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { createHash, randomBytes, randomUUID } from "node:crypto";
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { connect, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import { systemClock } from "../../src/base/clock.ts";
import { silentLogger } from "../../src/base/logger.ts";
import { createMetrics } from "../../src/base/metrics.ts";
import { createCriClient } from "../../src/clients/cri/client.ts";
import type { ContainerId, CriClient, SandboxId } from "../../src/clients/cri/cri.ts";
import { socketPathOf } from "../../src/clients/cri/endpoint.ts";
import { callUnary, openChannel } from "../../src/clients/cri/grpc-call.ts";
import { NamespaceMode, RuntimeService } from "../../src/gen/runtime/v1/api_pb.js";
import { fakePod } from "../../src/model/fake-pod.ts";
import { fullNameOf, type PodFullName, type PodUid } from "../../src/model/pod.ts";
import { startServer, type TestServer } from "../../src/server/fixtures.ts";
import { replyJson } from "../../src/server/replies.ts";
import type { Route } from "../../src/server/route.ts";
import { openWebSocket } from "../../src/server/streaming/fake-client.ts";
import { type StreamingRuntime, streamingRoutes } from "../../src/server/streaming/routes.ts";
import type { ObservedPod } from "../../src/state/observed-pods.ts";
import { describeOnContainerd, startTestNode, type TestNode } from "../node/test-node.ts";

const pod = fakePod({ metadata: { uid: randomUUID() as PodUid }, spec: { containers: [{ name: "app" }] } });
const kubectls = ["1.32", "1.36"].map((version) => ({
  version,
  path: fileURLToPath(new URL(`../../.cache/kubectl-${version}/usr/bin/kubectl`, import.meta.url)),
}));

/** The calls that lead to a runtime's streaming server. */
function streamingCalls(client: CriClient, endpoint: string): StreamingRuntime & { close(): void } {
  const channel = openChannel(socketPathOf(endpoint));
  const limits = { clock: systemClock, timeoutMs: 10_000, signal: undefined };
  const { exec, attach, portForward } = RuntimeService.method;
  return {
    exec: (request) => callUnary(channel, exec, request, limits),
    attach: (request) => callUnary(channel, attach, request, limits),
    portForward: (request) => callUnary(channel, portForward, request, limits),
    execSync: (...call) => client.execSync(...call),
    close: () => channel.close(),
  };
}

/** As much of an API as kubectl needs to find one pod, in front of the node's own routes. */
function apiRoutes(routes: readonly Route[]): Route[] {
  const base = "/api/v1/namespaces/{namespace}/pods/{pod}";
  const attributes = () => ({ verb: "get", subresources: [] });
  const status = { phase: "Running", conditions: [{ type: "Ready", status: "True" }] };
  const of = (name: string, path: string) =>
    ["GET", "POST"].map((method): Route => {
      const own = routes.find((route) => route.method === method && route.path === path);
      return {
        ...{ method, path: `${base}/${name}`, attributes, handle: async () => {} },
        upgrade: async (exchange) => {
          const params = { ...exchange.params, container: exchange.query.get("container") ?? "" };
          await own?.upgrade?.({ ...exchange, params });
        },
      };
    });
  const document = (path: string, value: object): Route => ({
    ...{ method: "GET", path, attributes },
    handle: async ({ response }) => replyJson(response, value),
  });
  const resource = { name: "pods", singularName: "pod", namespaced: true, kind: "Pod", verbs: ["get"] };
  return [
    document("/api", { kind: "APIVersions", versions: ["v1"] }),
    document("/apis", { kind: "APIGroupList", apiVersion: "v1", groups: [] }),
    document("/api/v1", { kind: "APIResourceList", groupVersion: "v1", resources: [resource] }),
    {
      ...{ method: "GET", path: base, attributes },
      handle: async ({ response }) => replyJson(response, { ...pod, status }),
    },
    ...of("exec", "/exec/{namespace}/{pod}/{container}"),
    ...of("attach", "/attach/{namespace}/{pod}/{container}"),
    ...of("portforward", "/portForward/{namespace}/{pod}"),
  ];
}

describeOnContainerd("streams of a real runtime", (version) => {
  let node: TestNode;
  let client: CriClient;
  let runtime: ReturnType<typeof streamingCalls>;
  let server: TestServer;
  let folder: string;
  let sandbox: SandboxId;
  let echo: ChildProcess | undefined;

  before(async () => {
    node = await startTestNode({ containerd: version });
    const { endpoint } = node;
    client = createCriClient({
      ...{ runtimeEndpoint: endpoint, requestTimeoutMs: 60_000 },
      ...{ logger: silentLogger, clock: systemClock, metrics: createMetrics() },
    });
    runtime = streamingCalls(client, endpoint);
    const { sandboxId, containerId } = await startPod(client, node);
    sandbox = sandboxId;
    echo = await startEcho(node, containerId);
    const observed = observedPod(sandboxId, containerId);
    const routes = streamingRoutes({
      ...{ runtime, clock: systemClock, metrics: createMetrics(), idleMs: 0, translate: true },
      desired: {
        byFullName: (name: PodFullName) => (name === fullNameOf(pod) ? pod : undefined),
        mirrorOf: () => undefined,
      },
      observed: { get: () => observed },
    });
    server = await startServer({
      routes: [...routes, ...apiRoutes(routes)],
      gate: { enter: async () => ({ name: "x", groups: [] }) },
    });
    folder = await mkdtemp(join(tmpdir(), "streams-"));
    await writeFile(join(folder, "config"), kubeconfig(server.port));
  });

  after(async () => {
    await server?.stop();
    echo?.kill();
    if (sandbox) await client.removePodSandbox(sandbox);
    runtime?.close();
    client?.close();
    await node?.stop();
    if (folder) await rm(folder, { recursive: true, force: true });
  });

  const exec = (command: string[], streams: string) => {
    const words = command.map((word) => `command=${encodeURIComponent(word)}`).join("&");
    return openWebSocket(server.port, `/exec/default/web/app?${streams}&${words}`, "v5.channel.k8s.io");
  };

  test("output, errors and the exit code arrive", async () => {
    const opened = await exec(["sh", "-c", "echo out; echo err >&2; exit 7"], "output=1&error=1");
    await opened.closed;
    assert.deepEqual([opened.text(1), opened.text(2)], ["out\n", "err\n"]);
    assert.match(opened.text(3), /"reason":"NonZeroExitCode".*"message":"7"/);
  });

  test("stdin ends, and 10 MiB come back whole", async () => {
    const opened = await exec(["cat"], "input=1&output=1");
    const sent = randomBytes(10 * 1024 * 1024);
    for (let at = 0; at < sent.length; at += 100_000)
      if (!opened.send(0, sent.subarray(at, at + 100_000)))
        await new Promise((resolve) => opened.socket.once("drain", resolve));
    opened.send(255, Buffer.from([0]));
    await opened.closed;
    assert.equal(sum(Buffer.concat(opened.heard.get(1) ?? [])), sum(sent));
    assert.match(opened.text(3), /"Success"/);
  });

  test("a terminal has the size that it is told", async () => {
    const script = 'until [ "$(stty size)" = "33 91" ]; do sleep 0.05; done; echo fits';
    const opened = await exec(["sh", "-c", script], "input=1&output=1&tty=1");
    opened.send(4, '{"Width":91,"Height":33}');
    await opened.closed;
    assert.match(opened.text(1), /fits/);
  });

  for (const { version: known, path } of kubectls)
    for (const by of ["WebSocket", "SPDY"]) {
      const skip = existsSync(path) ? false : "no kubectl";
      const env = {
        PATH: process.env.PATH,
        HOME: tmpdir(),
        KUBECTL_REMOTE_COMMAND_WEBSOCKETS: String(by === "WebSocket"),
        KUBECTL_PORT_FORWARD_WEBSOCKETS: String(by === "WebSocket"),
      };
      const kubectl = (...args: readonly string[]) =>
        spawn(path, ["--kubeconfig", join(folder, "config"), ...args], { env });

      test(`kubectl ${known} exec by ${by}: stdin, output, exit code`, { skip }, async () => {
        const child = kubectl(
          "exec",
          "-i",
          "web",
          "-c",
          "app",
          "--",
          "sh",
          "-c",
          "cat; echo err >&2; exit 3",
        );
        child.stdin.end("through and back\n");
        const { code, out, err } = await finished(child);
        assert.equal(out, "through and back\n");
        assert.match(err, /^err\n/);
        assert.equal(code, 3);
      });

      test(`kubectl ${known} port-forward by ${by}: 100 connections at once, 1 MiB each way`, {
        skip,
      }, async () => {
        const child = kubectl("port-forward", "web", ":8080");
        const port = await forwardedPort(child);
        const one = async () => {
          const sent = randomBytes(1024 * 1024);
          assert.equal(sum(await echoed(port, sent)), sum(sent));
        };
        await Promise.all(Array.from({ length: 100 }, one));
        child.kill();
        await finished(child);
      });
    }
});

async function startPod(client: CriClient, node: TestNode) {
  const { name, namespace, uid } = pod.metadata;
  const logDirectory = join(node.logDir, `streams_${uid}`);
  await mkdir(logDirectory, { recursive: true });
  const namespaceOptions = { network: NamespaceMode.POD, pid: NamespaceMode.CONTAINER };
  const config = {
    ...{ metadata: { name, namespace, uid, attempt: 0 }, logDirectory },
    linux: { cgroupParent: node.cgroupRoot, securityContext: { namespaceOptions } },
  };
  const sandboxId = await client.runPodSandbox(config, "");
  const containerId = await client.createContainer(
    sandboxId,
    {
      metadata: { name: "app", attempt: 0 },
      image: { image: node.images.busybox },
      command: ["/bin/sh", "-c", "exec sleep 3600"],
      logPath: "app.log",
      linux: { securityContext: { namespaceOptions } },
    },
    config,
  );
  await client.startContainer(containerId);
  return { sandboxId, containerId };
}

/** Port 8080 of the pod gives back what it gets: busybox has nothing that takes many connections at once. */
async function startEcho(node: TestNode, container: ContainerId): Promise<ChildProcess> {
  const tasks = await node.ctr(["--namespace", "k8s.io", "task", "list"]);
  const pid = tasks
    .split("\n")
    .find((line) => line.startsWith(container))
    ?.split(/\s+/)[1];
  assert.ok(pid, tasks);
  const script =
    "net.createServer((s) => s.on('error', () => {}).pipe(s)).listen(8080, '127.0.0.1', () => console.log('up'))";
  const child = spawn("nsenter", ["--net", "--target", pid, process.execPath, "-e", script]);
  await new Promise((resolve) => child.stdout.once("data", resolve));
  return child;
}

function observedPod(sandboxId: SandboxId, id: ContainerId): ObservedPod {
  const { uid, name, namespace } = pod.metadata;
  const nothing = { attempt: 0, createdAt: 1, annotations: {} };
  return {
    ...{ uid, name, namespace },
    sandboxes: [{ ...nothing, id: sandboxId, state: "ready", ips: [], hostNetwork: false }],
    containers: [
      {
        ...nothing,
        ...{ id, name: "app", sandboxId, state: "running", hash: "", image: "", imageRef: "", startedAt: 1 },
        ...{ finishedAt: 0, exitCode: 0, reason: "", message: "", logPath: "" },
      },
    ],
  };
}

function kubeconfig(port: number): string {
  return JSON.stringify({
    ...{ apiVersion: "v1", kind: "Config", "current-context": "x" },
    clusters: [
      { name: "x", cluster: { server: `https://127.0.0.1:${port}`, "insecure-skip-tls-verify": true } },
    ],
    contexts: [{ name: "x", context: { cluster: "x", user: "x" } }],
    users: [{ name: "x", user: { token: "x" } }],
  });
}

function sum(data: Buffer): string {
  return createHash("sha256").update(data).digest("hex");
}

function finished(child: ChildProcess): Promise<{ code: number | null; out: string; err: string }> {
  let out = "";
  let err = "";
  child.stdout?.on("data", (chunk) => {
    out += chunk;
  });
  child.stderr?.on("data", (chunk) => {
    err += chunk;
  });
  return new Promise((resolve) => child.on("close", (code) => resolve({ code, out, err })));
}

function forwardedPort(child: ChildProcess): Promise<number> {
  return new Promise((resolve, reject) => {
    let text = "";
    const look = (chunk: Buffer) => {
      text += chunk;
      const port = /Forwarding from 127\.0\.0\.1:(\d+)/.exec(text)?.[1];
      if (port) resolve(Number(port));
    };
    child.stdout?.on("data", look);
    child.stderr?.on("data", look);
    child.on("close", () => reject(new Error(text)));
  });
}

/** What comes back of what is sent: as much, and then it is over. */
function echoed(port: number, sent: Buffer): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const parts: Buffer[] = [];
    let size = 0;
    const socket: Socket = connect(port, "127.0.0.1", () => socket.write(sent));
    socket.on("data", (chunk) => {
      parts.push(chunk);
      size += chunk.length;
      if (size >= sent.length) socket.destroy();
    });
    socket.on("error", reject);
    socket.on("close", () => resolve(Buffer.concat(parts)));
  });
}
