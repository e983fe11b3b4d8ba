import type { Clock } from "../../../lib/base/clock.ts";
import type { Metrics } from "../../../lib/base/metrics.ts";
import type { CallOptions, ContainerId, SandboxId } from "../../../lib/clients/cri/cri.ts";
import { fullNameOf, type Pod, type PodFullName } from "../../../lib/model/pod.ts";
import {
  newestContainer,
  type ObservedContainer,
  type ObservedPod,
  readySandbox,
} from "../../state/observed-pods.ts";
import { attributesOf } from "../auth/attributes.ts";
import { HttpError } from "../http-error.ts";
import type { Route, UpgradeExchange } from "../route.ts";
import { isTunnel, type ProxyContext, proxyCommand, proxyPortForward } from "./proxied-upgrade.ts";
import { runtimeError, streamingUrl } from "./runtime-upgrade.ts";
import { forwardedPorts, type StreamOptions, streamOptions } from "./stream-options.ts";
import { isWebSocket } from "./websocket/handshake.ts";

/** The streaming calls of `RuntimeService`. All but `execSync` return a URL of the runtime's streaming server that is valid for one connection. */
export interface StreamingRuntime {
  exec(
    request: { containerId: ContainerId; cmd: string[] } & StreamOptions,
    o?: CallOptions,
  ): Promise<{ url: string }>;
  attach(request: { containerId: ContainerId } & StreamOptions, o?: CallOptions): Promise<{ url: string }>;
  portForward(
    request: { podSandboxId: SandboxId; port: number[] },
    o?: CallOptions,
  ): Promise<{ url: string }>;
  execSync(
    id: ContainerId,
    command: string[],
    timeoutSeconds: number,
    o?: CallOptions,
  ): Promise<{ stdout: Uint8Array; stderr: Uint8Array; exitCode: number }>;
}

export interface StreamingOptions {
  readonly runtime: StreamingRuntime;
  readonly desired: {
    byFullName(name: PodFullName): Pod | undefined;
    mirrorOf(pod: Pod): Pod | undefined;
  };
  readonly observed: { get(uid: Pod["metadata"]["uid"]): ObservedPod | undefined };
  /** streamingConnectionIdleTimeout; 0: none. */
  readonly idleMs: number;
  /** Feature gate ExtendWebSocketsToKubelet. */
  readonly translate: boolean;
  readonly clock: Clock;
  readonly metrics: Metrics;
}

/** exec, attach, portForward and run. */
export function streamingRoutes(o: StreamingOptions): Route[] {
  const webSockets = o.metrics.counter({
    name: "kubelet_websocket_streaming_requests_total",
    help: "Number of WebSocket streaming requests for exec, attach and portforward",
    labels: ["subresource"],
  });
  const context = (subresource: string): ProxyContext => ({
    idleMs: o.idleMs,
    clock: o.clock,
    translate: o.translate,
    onWebSocket: () => webSockets.inc({ subresource }),
  });

  const exec = async (exchange: UpgradeExchange) => {
    const { params, query, signal } = exchange;
    const streams = streamOptions(query);
    const { container } = runningContainer(o, params);
    const cmd = query.getAll("command");
    const { url } = await callRuntime(() =>
      o.runtime.exec({ containerId: container.id, cmd, ...streams }, { signal }),
    );
    await proxyCommand(exchange, streamingUrl(url), streams, context("exec"));
  };
  const attach = async (exchange: UpgradeExchange) => {
    const { params, query, signal } = exchange;
    const streams = streamOptions(query);
    const fullName = `${params.pod}_${params.namespace}`;
    const { pod, container } = runningContainer(
      o,
      params,
      `${params.container} not found in pod ${fullName}`,
    );
    // The container determines the TTY setting.
    const tty = specOf(pod, container.name)?.tty === true;
    const fitting = { ...streams, tty, stderr: streams.stderr && !tty };
    const { url } = await callRuntime(() =>
      o.runtime.attach({ containerId: container.id, ...fitting }, { signal }),
    );
    await proxyCommand(exchange, streamingUrl(url), fitting, context("attach"));
  };
  const portForward = async (exchange: UpgradeExchange) => {
    const { request, params, query, signal } = exchange;
    const named = isWebSocket(request) && !(o.translate && isTunnel(request));
    const port = named ? forwardedPorts(query) : [];
    const pod = podOf(o, params);
    if (params.uid !== undefined && !isOf(o, pod, params.uid)) throw new HttpError(404, "pod not found");
    const sandbox = readySandbox(o.observed.get(pod.metadata.uid));
    if (!sandbox)
      throw new HttpError(500, `pod not found (${JSON.stringify(`${params.pod}_${params.namespace}`)})`);
    const { url } = await callRuntime(() =>
      o.runtime.portForward({ podSandboxId: sandbox.id, port }, { signal }),
    );
    await proxyPortForward(exchange, streamingUrl(url), context("portforward"));
  };

  const both = (paths: readonly string[], upgrade: (exchange: UpgradeExchange) => Promise<void>) =>
    paths.flatMap((path) =>
      ["GET", "POST"].map((method): Route => {
        const attributes = () => attributesOf(method, path);
        return { method, path, attributes, upgrade, handle: upgradeRequired };
      }),
    );
  const ofContainer = (name: string) => [
    `/${name}/{namespace}/{pod}/{container}`,
    `/${name}/{namespace}/{pod}/{uid}/{container}`,
  ];
  return [
    ...both(ofContainer("exec"), exec),
    ...both(ofContainer("attach"), attach),
    ...both(["/portForward/{namespace}/{pod}", "/portForward/{namespace}/{pod}/{uid}"], portForward),
    ...ofContainer("run").map((path) => runRoute(path, o)),
  ];
}

function runRoute(path: string, o: StreamingOptions): Route {
  return {
    method: "POST",
    path,
    attributes: () => attributesOf("POST", path),
    async handle({ params, query, response, signal }) {
      const { container } = runningContainer(o, params);
      const command = (query.get("cmd") ?? "").split(" ");
      const { stdout, stderr, exitCode } = await callRuntime(() =>
        o.runtime.execSync(container.id, command, 0, { signal }),
      );
      if (exitCode !== 0)
        throw new HttpError(500, `command '${command.join(" ")}' exited with ${exitCode}: ${text(stderr)}`);
      response.writeHead(200, { "content-type": "application/json", "x-content-type-options": "nosniff" });
      response.end(Buffer.concat([stdout, stderr]));
    },
  };
}

async function upgradeRequired(): Promise<void> {
  throw new HttpError(400, "Upgrade request required\n");
}

async function callRuntime<T>(call: () => Promise<T>): Promise<T> {
  try {
    return await call();
  } catch (error) {
    throw runtimeError(error);
  }
}

type Params = Readonly<Record<string, string>>;

function podOf(o: StreamingOptions, params: Params): Pod {
  const metadata = { namespace: params.namespace ?? "", name: params.pod ?? "" };
  const pod = o.desired.byFullName(fullNameOf({ metadata }));
  if (!pod) throw new HttpError(404, "pod does not exist");
  return pod;
}

function runningContainer(
  o: StreamingOptions,
  params: Params,
  missing = `not found (${JSON.stringify(params.container ?? "")})`,
): { pod: Pod; container: ObservedContainer } {
  const pod = podOf(o, params);
  const name = params.container ?? "";
  const known = params.uid === undefined || isOf(o, pod, params.uid);
  const container = known ? newestContainer(o.observed.get(pod.metadata.uid), name) : undefined;
  if (container?.state !== "running") throw new HttpError(500, `container ${missing}`);
  return { pod, container };
}

/** Clients know a static pod by the UID of its mirror pod. */
function isOf(o: StreamingOptions, pod: Pod, uid: string): boolean {
  return pod.metadata.uid === uid || o.desired.mirrorOf(pod)?.metadata.uid === uid;
}

function specOf(pod: Pod, name: string): { tty?: boolean } | undefined {
  const { containers, initContainers = [], ephemeralContainers = [] } = pod.spec;
  return [...containers, ...initContainers, ...ephemeralContainers].find((c) => c.name === name);
}

function text(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString("utf8");
}
