import { canonicalAddress, type Usage } from "../../lib/base/x509/x509.ts";
import type { RequestTemplate } from "./rotation-plan.ts";

export interface NodeAddress {
  readonly type: string;
  readonly address: string;
}

/** Usages for EC keys, which have no key encipherment. */
export const clientUsages: readonly Usage[] = ["digital signature", "client auth"];
export const servingUsages: readonly Usage[] = ["digital signature", "server auth"];

const nodeSubject = (nodeName: string) => ({
  commonName: `system:node:${nodeName}`,
  organizations: ["system:nodes"],
});

export function clientTemplate(nodeName: string): RequestTemplate {
  return { ...nodeSubject(nodeName), dnsNames: [], ipAddresses: [] };
}

/** Undefined without an IP address; a DNS name alone is sufficient only with AllowDNSOnlyNodeCSR. */
export function servingTemplate(
  nodeName: string,
  addresses: readonly NodeAddress[],
  allowDnsOnly: boolean,
): RequestTemplate | undefined {
  const dnsNames = new Set<string>();
  const ipAddresses = new Set<string>();
  for (const { type, address } of addresses) {
    const ip = canonicalAddress(address);
    const mayBeIp = type === "Hostname" || type === "InternalIP" || type === "ExternalIP";
    const isName =
      type === "InternalDNS" || type === "ExternalDNS" || (type === "Hostname" && ip === undefined);
    if (mayBeIp && ip !== undefined) ipAddresses.add(ip);
    if (isName && address !== "") dnsNames.add(address);
  }
  if (ipAddresses.size === 0 && !(allowDnsOnly && dnsNames.size > 0)) return undefined;
  return {
    ...nodeSubject(nodeName),
    dnsNames: [...dnsNames].sort(byText),
    ipAddresses: [...ipAddresses].sort(byText),
  };
}

const byText = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);
