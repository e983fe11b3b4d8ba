import { requestTarget } from "../../../lib/model/http-target.ts";
import type { Container } from "../../../lib/model/pod.ts";
import { userAgent } from "./attempt-result.ts";
import { type Address, hostPort } from "./dial.ts";
import { portNumber } from "./probe-target.ts";

export type HttpGet = NonNullable<NonNullable<Container["livenessProbe"]>["httpGet"]>;

/** One GET, ready to be sent. */
export interface HttpRequest {
  scheme: "http" | "https";
  address: Address;
  /** Path and query, as in the first line of the request. */
  target: string;
  /** By lower-case name. */
  headers: Record<string, string[]>;
  /** The Host header, if it is not the address. */
  hostHeader: string | undefined;
}

/** The request that a probe specifies. Throws if its port is not known. */
export function httpRequest(
  get: HttpGet,
  container: Pick<Container, "ports">,
  podIp: string | undefined,
): HttpRequest {
  const headers = headersOf(get);
  const host = get.host || podIp;
  if (!host) throw new Error("the pod has no IP address");
  const hostHeader = headers.host?.[0] || undefined;
  delete headers.host;
  return {
    scheme: get.scheme?.toLowerCase() === "https" ? "https" : "http",
    address: { host, port: portNumber(get.port, container) },
    target: requestTarget(get.path ?? ""),
    headers,
    hostHeader,
  };
}

export function urlOf({ scheme, address, target }: HttpRequest): string {
  return `${scheme}://${hostPort(address)}${target}`;
}

/** These are set by the HTTP client, never by a probe. */
const ownHeaders = ["content-length", "transfer-encoding", "trailer"];

function headersOf(get: HttpGet): Record<string, string[]> {
  const headers = new Map<string, string[]>();
  for (const { name, value } of get.httpHeaders ?? []) {
    const key = name.toLowerCase();
    if (!ownHeaders.includes(key)) headers.set(key, [...(headers.get(key) ?? []), value ?? ""]);
  }
  for (const [name, value] of Object.entries({ "user-agent": userAgent, accept: "*/*" })) {
    const [first] = headers.get(name) ?? [value];
    // An empty value means: do not send it.
    if (!first) headers.delete(name);
    else if (!headers.has(name)) headers.set(name, [value]);
  }
  return Object.fromEntries(headers);
}

export type Redirect =
  | { kind: "none" }
  | { kind: "follow"; request: HttpRequest }
  | { kind: "elsewhere" }
  | { kind: "bad"; url: string; message: string };

const maxRequests = 10;

/** Whether a response is a redirect, and where to. Only a redirect within the first host is followed. */
export function redirectOf(
  response: { status: number; location: string | undefined },
  sent: readonly HttpRequest[],
): Redirect {
  const [first] = sent;
  const last = sent.at(-1);
  if (!first || !last || ![301, 302, 303, 307, 308].includes(response.status) || !response.location)
    return { kind: "none" };
  const from = urlOf(last);
  const url = URL.parse(response.location, from);
  if (!url)
    return { kind: "bad", url: from, message: `failed to parse Location header "${response.location}"` };
  const host = url.hostname.replace(/^\[(.*)\]$/, "$1");
  if (host !== canonicalHost(first)) return { kind: "elsewhere" };
  if (sent.length >= maxRequests)
    return { kind: "bad", url: url.href, message: `stopped after ${maxRequests} redirects` };
  if (url.protocol !== "http:" && url.protocol !== "https:")
    return {
      kind: "bad",
      url: url.href,
      message: `unsupported protocol scheme "${url.protocol.slice(0, -1)}"`,
    };
  const scheme = url.protocol === "https:" ? "https" : "http";
  const relative = !/^[a-z][a-z0-9+.-]*:/i.test(response.location);
  const refers = last.scheme === "http" || scheme === "https";
  return {
    kind: "follow",
    request: {
      scheme,
      address: { host: first.address.host, port: Number(url.port) || (scheme === "https" ? 443 : 80) },
      target: url.pathname + url.search,
      headers: { ...first.headers, ...(refers && !first.headers.referer && { referer: [from] }) },
      // A Host header of the probe is kept, unless the location is absolute.
      hostHeader: relative ? first.hostHeader : undefined,
    },
  };
}

function canonicalHost({ address }: HttpRequest): string {
  return URL.parse(`http://${hostPort(address)}`)?.hostname.replace(/^\[(.*)\]$/, "$1") ?? address.host;
}
