import type { Pod } from "../../lib/model/pod.ts";
import { badRequest } from "../rest/problems.ts";

export interface ProxyName {
  readonly scheme: "http" | "https";
  readonly name: string;
  /** "" if none was requested. */
  readonly port: string;
}

/** "name", "name:port" or "scheme:name:port", the last two possibly with nothing for the port. */
export function parseProxyName(kind: "node" | "pod", text: string): ProxyName {
  const parts = text.split(":");
  const [scheme = "", name = "", port = ""] = parts.length > 2 ? parts : ["", ...parts];
  const known = scheme === "" || scheme === "http" || scheme === "https";
  if (parts.length > 3 || name === "" || !known)
    throw badRequest(`invalid ${kind} request ${JSON.stringify(text)}`);
  return { scheme: scheme || "http", name, port };
}

/** The address of a pod, and the first port that it names if none was requested. */
export function podTarget(pod: Pick<Pod, "spec" | "status">, port: string): { host: string; port: string } {
  const host = pod.status?.podIPs?.[0]?.ip ?? pod.status?.podIP ?? "";
  const named = pod.spec.containers.find((container) => container.ports?.length)?.ports?.[0]?.containerPort;
  return { host, port: port || (named === undefined ? "" : String(named)) };
}

export function portNumber(port: string, scheme: "http" | "https"): number {
  if (port === "") return scheme === "https" ? 443 : 80;
  const number = Number(port);
  if (!/^\d+$/.test(port) || number > 65535) throw badRequest(`invalid port ${JSON.stringify(port)}`);
  return number;
}
