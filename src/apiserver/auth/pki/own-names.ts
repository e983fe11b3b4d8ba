import { isIP } from "node:net";
import { canonicalAddress } from "../../../lib/base/x509/x509.ts";

/** Names and addresses of the API server, for which nodes get no certificates. */
export interface OwnNames {
  /** The address of the service `kubernetes`. */
  readonly serviceAddress: string;
  readonly clusterDomain?: string;
  /** Other names and addresses where it listens, including names of this machine. */
  readonly endpoints: readonly string[];
  /** The nodes on this machine, which share the names and addresses of the machine. */
  readonly localNodes: readonly string[];
}

/** The requested names that are the API server's own, or would match one: a certificate for them could impersonate it. */
export function impersonated(requested: readonly string[], node: string, own: OwnNames): string[] {
  const service = ["kubernetes", "kubernetes.default", "kubernetes.default.svc"];
  const domain = own.clusterDomain ?? "cluster.local";
  const reserved = new Set(
    [
      ...[...service, `kubernetes.default.svc.${domain}`, own.serviceAddress],
      ...(own.localNodes.includes(node) ? [] : own.endpoints),
    ].map(canonicalName),
  );
  return requested.filter((name) => {
    const canonical = canonicalName(name);
    return reserved.has(canonical) || isLoopback(canonical) || canonical.includes("*");
  });
}

function isLoopback(name: string): boolean {
  if (isIP(name)) return /^127\./.test(name) || name === "::1" || name === "0.0.0.0" || name === "::";
  return /(^|\.)localhost$/.test(name);
}

function canonicalName(name: string): string {
  return canonicalAddress(name) ?? name.toLowerCase().replace(/\.$/, "");
}
