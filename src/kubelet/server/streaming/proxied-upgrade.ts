import { type IncomingMessage, type OutgoingHttpHeaders, STATUS_CODES } from "node:http";
import type { Socket } from "node:net";
import type { Clock } from "../../../lib/base/clock.ts";
import { messageOf } from "../../../lib/base/errors.ts";
import { joinStreams } from "../../../lib/base/join-streams.ts";
import { HttpError } from "../http-error.ts";
import type { UpgradeExchange } from "../route.ts";
import { watchIdle } from "./idle-watch.ts";
import { errorText, type RuntimeResponse, upgradeToRuntime } from "./runtime-upgrade.ts";
import type { StreamOptions } from "./stream-options.ts";
import { translate } from "./translator.ts";
import { tunnel } from "./tunnel.ts";
import { checkHandshake, handshake, isWebSocket, offeredProtocols } from "./websocket/handshake.ts";

export interface ProxyContext {
  readonly idleMs: number;
  readonly clock: Clock;
  /** Feature gate ExtendWebSocketsToKubelet: without it, WebSockets are passed to the runtime. */
  readonly translate: boolean;
  /** Notified of each WebSocket that is translated here. */
  readonly onWebSocket: () => void;
}

const protocolHeader = "x-stream-protocol-version";
const tunnelPrefix = "SPDY/3.1+";
/** Headers of the upgrade; credentials in particular are not passed to the runtime. */
const forwardedHeaders = ["upgrade", "user-agent", "origin", "sec-websocket-key", "sec-websocket-version"];

/** exec and attach: a WebSocket protocol that runtimes do not support is translated, everything else is passed on. */
export async function proxyCommand(
  exchange: UpgradeExchange,
  url: URL,
  streams: StreamOptions,
  context: ProxyContext,
): Promise<void> {
  const offered = isWebSocket(exchange.request) ? offeredProtocols(exchange.request) : [];
  const protocol = ["v5.channel.k8s.io", "v4.channel.k8s.io"].find((known) => offered.includes(known));
  if (!context.translate || protocol === undefined) return await passThrough(exchange, url, context);
  checkHandshake(exchange.request);
  context.onWebSocket();
  const versions = ["v4.channel.k8s.io", "v3.channel.k8s.io", "v2.channel.k8s.io", "channel.k8s.io"];
  const runtime = await upgraded(exchange, url, "POST", spdyHeaders(versions), context.clock);
  const { request, head, signal } = exchange;
  const client = { request, socket: exchange.socket as Socket, head, protocol };
  const { idleMs, clock } = context;
  await translate({ client, runtime, streams, idleMs, clock, signal });
}

/** portForward: SPDY over WebSocket is unwrapped, everything else is passed on. */
export async function proxyPortForward(
  exchange: UpgradeExchange,
  url: URL,
  context: ProxyContext,
): Promise<void> {
  const { request, head, signal } = exchange;
  if (!context.translate || !isTunnel(request)) return await passThrough(exchange, url, context);
  checkHandshake(request);
  context.onWebSocket();
  const inside = offeredProtocols(request)
    .filter((name) => name.startsWith(tunnelPrefix) && name.endsWith("k8s.io"))
    .map((name) => name.slice(tunnelPrefix.length));
  const runtime = await upgraded(exchange, url, "POST", spdyHeaders(inside), context.clock);
  const chosen = String(runtime.message.headers[protocolHeader] ?? "").trim();
  const socket = exchange.socket as Socket;
  socket.write(handshake(request, chosen === "" ? undefined : `${tunnelPrefix}${chosen}`));
  await tunnel({ client: { socket, head }, runtime, signal, idleMs: context.idleMs, clock: context.clock });
}

export function isTunnel(request: IncomingMessage): boolean {
  const fits = (name: string) => name.startsWith(tunnelPrefix) && name.endsWith("k8s.io");
  return isWebSocket(request) && offeredProtocols(request).some(fits);
}

/** The two connections are joined; their data is not inspected. */
async function passThrough(exchange: UpgradeExchange, url: URL, context: ProxyContext): Promise<void> {
  const { request, head, signal } = exchange;
  const socket = exchange.socket as Socket;
  const runtime = await upgraded(
    exchange,
    url,
    request.method ?? "GET",
    passedHeaders(request),
    context.clock,
  );
  socket.write(responseHead(runtime.message));
  if (runtime.head.length > 0) socket.write(runtime.head);
  if (head.length > 0) runtime.socket.write(head);
  const bytes = () => socket.bytesRead + runtime.socket.bytesRead;
  const stopWatching = watchIdle(context.clock, context.idleMs, bytes, () => {
    socket.destroy();
    runtime.socket.destroy();
  });
  await joinStreams(socket, runtime.socket, signal);
  stopWatching();
}

async function upgraded(
  exchange: UpgradeExchange,
  url: URL,
  method: string,
  headers: OutgoingHttpHeaders,
  clock: Clock,
): Promise<Extract<RuntimeResponse, { kind: "upgraded" }>> {
  let response: RuntimeResponse;
  try {
    response = await upgradeToRuntime({ url, method, headers, signal: exchange.signal, clock });
  } catch (error) {
    exchange.signal.throwIfAborted();
    throw new HttpError(500, `error dialing the runtime's streaming server: ${messageOf(error)}\n`, {
      cause: error,
    });
  }
  if (response.kind === "upgraded") return response;
  const status = response.message.statusCode ?? 500;
  const text = await errorText(response.message);
  throw new HttpError(status < 400 ? 500 : status, text || `${STATUS_CODES[status] ?? "rejected"}\n`);
}

function spdyHeaders(protocols: readonly string[]): OutgoingHttpHeaders {
  return {
    connection: "Upgrade",
    upgrade: "SPDY/3.1",
    "content-length": 0,
    ...(protocols.length > 0 && { [protocolHeader]: [...protocols] }),
  };
}

function passedHeaders(request: IncomingMessage): OutgoingHttpHeaders {
  const headers: OutgoingHttpHeaders = { connection: "Upgrade" };
  for (const name of forwardedHeaders) {
    const value = request.headers[name];
    if (value !== undefined) headers[name] = value;
  }
  if (request.method !== "GET") headers["content-length"] = 0;
  // Old servers expect one value per header line.
  const versions = (request.headersDistinct[protocolHeader] ?? []).flatMap((line) =>
    line.split(",").map((version) => version.trim()),
  );
  if (versions.length > 0) headers[protocolHeader] = versions;
  const protocols = offeredProtocols(request);
  if (protocols.length > 0) headers["sec-websocket-protocol"] = protocols.join(", ");
  return headers;
}

function responseHead(message: IncomingMessage): Buffer {
  const lines = [`HTTP/1.1 ${message.statusCode} ${message.statusMessage || "Switching Protocols"}`];
  const { rawHeaders } = message;
  for (let i = 0; i + 1 < rawHeaders.length; i += 2) lines.push(`${rawHeaders[i]}: ${rawHeaders[i + 1]}`);
  return Buffer.from(`${lines.join("\r\n")}\r\n\r\n`, "latin1");
}
