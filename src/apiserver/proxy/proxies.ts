import { lookup } from "node:dns/promises";
import type { IncomingMessage } from "node:http";
import { isIP } from "node:net";
import { posix } from "node:path";
import { systemClock } from "../../lib/base/clock.ts";
import { messageOf } from "../../lib/base/errors.ts";
import type { ConnectRequest, ConnectSubresource, ObjectRef, RequestContext } from "../definition.ts";
import { badRequest } from "../rest/problems.ts";
import { StatusError } from "../status-error.ts";
import type { Backend } from "./backend.ts";
import { type KubeletConnectionOptions, kubeletOf, pathOf, podOf, rawQueryOf } from "./connection-options.ts";
import { dialMessage, unreachable } from "./dial-message.ts";
import { sendRequest, sendResponse } from "./forward-request.ts";
import { forwardUpgrade } from "./forward-upgrade.ts";
import { requestHeaders, requestHost, responseHeaders } from "./forwarded-headers.ts";
import { hostPort } from "./kubelet-address.ts";
import { mayProxyTo as mayProxyToByDefault } from "./proxied-address.ts";
import { parseProxyName, podTarget, portNumber } from "./proxy-target.ts";

type FindBackend = (ref: ObjectRef, context: RequestContext) => Promise<Backend>;

export function nodeProxy(options: KubeletConnectionOptions): ConnectSubresource {
  const { mayProxyTo = mayProxyToByDefault } = options;
  return proxyTo(options, async ({ name: pathName }, context) => {
    const { scheme, name, port } = parseProxyName("node", pathName);
    const kubelet = await kubeletOf(context, name, options);
    const addresses = await addressesOf(kubelet.host, options);
    if (!addresses.every((address) => mayProxyTo(address))) throw badRequest("address not allowed");
    if (port === "" || port === String(kubelet.port)) return { ...kubelet, addresses };
    // Another server on the node: the API's credentials are not sent to it.
    return { scheme, host: kubelet.host, addresses, port: portNumber(port, scheme), credentials: {} };
  });
}

export function podProxy(options: KubeletConnectionOptions): ConnectSubresource {
  const { mayProxyTo = mayProxyToByDefault } = options;
  return proxyTo(options, async (ref, context) => {
    const { scheme, name, port: portName } = parseProxyName("pod", ref.name);
    const { host, port } = podTarget(await podOf(context, { ...ref, name }), portName);
    if (!mayProxyTo(host)) throw badRequest("address not allowed");
    return { scheme, host, port: portNumber(port, scheme), credentials: {} };
  });
}

async function addressesOf(
  host: string,
  { lookUp = systemAddresses }: KubeletConnectionOptions,
): Promise<readonly string[]> {
  if (isIP(host) !== 0) return [host];
  try {
    return await lookUp(host);
  } catch (error) {
    throw badRequest(messageOf(error));
  }
}

async function systemAddresses(host: string): Promise<string[]> {
  return (await lookup(host, { all: true })).map(({ address }) => address);
}

function proxyTo(options: KubeletConnectionOptions, find: FindBackend): ConnectSubresource {
  return {
    type: "connect",
    verbs: ["get", "create", "update", "patch", "delete"],
    async connect(ref, rest, incoming, context) {
      const backend = await find(ref, context);
      const path = posix.normalize(rest === "" ? "/" : rest) + rawQueryOf(incoming.request.url);
      if (incoming.kind === "upgrade") await upgrade(backend, path, incoming, context, options);
      else if (rest === "" && (incoming.request.method === "GET" || incoming.request.method === "HEAD"))
        // Relative links in a page only resolve below the proxy path if its URL ends with a slash.
        incoming.response
          .writeHead(301, { location: `${pathOf(incoming.request.url)}/${rawQueryOf(incoming.request.url)}` })
          .end();
      else await forward(backend, rest, path, incoming, context, options);
    },
  };
}

async function upgrade(
  backend: Backend,
  path: string,
  { request, socket, head }: Extract<ConnectRequest, { kind: "upgrade" }>,
  { signal }: RequestContext,
  { clock = systemClock }: KubeletConnectionOptions,
): Promise<void> {
  const outgoing = { method: request.method ?? "GET", path, headers: requestHeaders(request, true) };
  try {
    await forwardUpgrade(backend, outgoing, { socket, head, signal, clock });
  } catch (error) {
    if (socket.destroyed) return;
    signal.throwIfAborted();
    throw error instanceof StatusError ? error : unreachable(error, backend);
  }
}

async function forward(
  backend: Backend,
  rest: string,
  path: string,
  { request, response }: Extract<ConnectRequest, { kind: "request" }>,
  { signal }: RequestContext,
  { clock = systemClock }: KubeletConnectionOptions,
): Promise<void> {
  const requested = pathOf(request.url);
  const headers = { ...requestHeaders(request, false), "x-forwarded-uri": requested };
  const exchange = { request, response, signal, clock };
  let backendResponse: IncomingMessage;
  try {
    backendResponse = await sendRequest(
      backend,
      { method: request.method ?? "GET", path, headers },
      exchange,
      request,
    );
  } catch (error) {
    if (response.destroyed) return;
    signal.throwIfAborted();
    const why = `error trying to reach service: ${dialMessage(error, backend)}`;
    throw new StatusError(503, "ServiceUnavailable", why);
  }
  const headersToClient = responseHeaders(backendResponse);
  if (backendResponse.headers.location !== undefined) {
    const prefix = requested.slice(0, requested.length - rest.length);
    const proxied = { prefix, backendHost: hostPort(backend), requestHost: requestHost(request) ?? "" };
    headersToClient.location = [rewrittenLocation(backendResponse.headers.location, proxied)];
  }
  // HTTP/2 has no reason phrases.
  const statusText = request.httpVersionMajor < 2 ? backendResponse.statusMessage : undefined;
  response.writeHead(backendResponse.statusCode ?? 502, statusText, headersToClient);
  await sendResponse(backendResponse, exchange);
}

interface ProxiedBackend {
  /** The path under which the API server proxies to the backend: /api/v1/nodes/n/proxy. */
  readonly prefix: string;
  /** The host and port of the backend, and of the client's request. */
  readonly backendHost: string;
  readonly requestHost: string;
}

/** Rewrites a redirect of a backend, so that the client follows it through the API server. */
export function rewrittenLocation(
  location: string,
  { prefix, backendHost, requestHost }: ProxiedBackend,
): string {
  const base = `http://${backendHost}`;
  const url = URL.canParse(location, base) ? new URL(location, base) : undefined;
  const hasHost = /^([a-z][a-z0-9+.-]*:)?\/\//i.test(location);
  if (url === undefined || !(hasHost || location.startsWith("/"))) return location;
  const isOtherHost = hasHost && url.host !== hostOf(base) && url.host !== hostOf(`http://${requestHost}`);
  if (isOtherHost) return location;
  const path = location.replace(/^([a-z][a-z0-9+.-]*:)?\/\/[^/?#]*/i, "") || "/";
  return path.startsWith(prefix) ? path : `${prefix}${path.startsWith("/") ? "" : "/"}${path}`;
}

function hostOf(base: string): string {
  return URL.canParse(base) ? new URL(base).host : "";
}
