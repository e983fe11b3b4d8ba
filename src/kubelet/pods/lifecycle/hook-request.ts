import type { HTTPGetAction } from "../../../lib/gen/kubernetes/core.d.ts";
import { requestTarget } from "../../../lib/model/http-target.ts";

const userAgent = "kube-lifecycle/1.36";

export interface HookRequest {
  scheme: "http" | "https";
  /** A name or an address; IPv6 without brackets. */
  host: string;
  port: number;
  /** Path and query. */
  path: string;
  headers: readonly (readonly [name: string, value: string])[];
}

interface NamedPort {
  name?: string;
  containerPort: number;
}

/** The request of an httpGet hook. Without a host it is sent to the pod. */
export function hookRequest(
  action: HTTPGetAction,
  ports: readonly NamedPort[],
  podIp: string | undefined,
): HookRequest {
  const host = action.host || podIp;
  if (!host) throw new Error("failed to find networking container: the pod has no address");
  const port = resolvePort(action.port, ports);
  return {
    scheme: action.scheme?.toLowerCase() === "https" ? "https" : "http",
    host,
    port,
    path: requestTarget(action.path ?? ""),
    headers: requestHeaders(action.httpHeaders ?? [], hostPort(host, port)),
  };
}

export function urlOf({ scheme, host, port, path }: HookRequest): string {
  return `${scheme}://${hostPort(host, port)}${path}`;
}

export function hostPort(host: string, port: number): string {
  return host.includes(":") ? `[${host}]:${port}` : `${host}:${port}`;
}

function resolvePort(port: number | string, ports: readonly NamedPort[]): number {
  const found =
    typeof port === "number" ? port : (ports.find((p) => p.name === port)?.containerPort ?? numberIn(port));
  if (found > 0 && found < 65_536) return found;
  throw new Error(`invalid port number: ${found}`);
}

function numberIn(text: string): number {
  if (/^[+-]?\d+$/.test(text)) return Number(text);
  throw new Error(`strconv.Atoi: parsing ${JSON.stringify(text)}: invalid syntax`);
}

/** Set separately, or describe a body, which such a request does not have. */
const notSent = new Set(["host", "content-length", "transfer-encoding", "trailer"]);

function requestHeaders(
  specified: readonly { name: string; value: string }[],
  hostAndPort: string,
): [string, string][] {
  const headerValue = (name: string) => specified.find((h) => h.name.toLowerCase() === name)?.value;
  const headers: [string, string][] = [["Host", headerValue("host") || hostAndPort]];
  if (headerValue("user-agent") === undefined) headers.push(["User-Agent", userAgent]);
  if (headerValue("accept") === undefined) headers.push(["Accept", "*/*"]);
  for (const { name, value } of specified) {
    const key = name.toLowerCase();
    // An empty value removes these two.
    const omitted = value === "" && (key === "user-agent" || key === "accept");
    if (!omitted && !notSent.has(key)) headers.push([name, value]);
  }
  return headers;
}
