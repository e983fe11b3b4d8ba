import { BlockList, isIP, isIPv4 } from "node:net";
import type { NodeAddress } from "./node-types.ts";

export interface AddressInfo {
  readonly hostname: string;
  readonly nodeName: string;
  /** --node-ip: none, one, or one of each family; "0.0.0.0" and "::" only choose the family. */
  readonly nodeIps: readonly string[];
  readonly externalCloudProvider: boolean;
  /** The addresses of the host's interfaces. */
  readonly hostIps: readonly string[];
  /** The addresses that the name of the node resolves to. */
  readonly resolvedIps: readonly string[];
  /** The address of the interface that the default route leads through. */
  readonly defaultRouteIps: { readonly ipv4?: string; readonly ipv6?: string };
}

export type AddressPlan =
  | { ok: true; addresses: NodeAddress[]; providedIp: string | undefined }
  | { ok: false; reason: string };

/** The node's addresses. With an external cloud provider, the `existing` addresses of the Node object are kept: the provider set them. */
export function planAddresses(info: AddressInfo, existing: readonly NodeAddress[]): AddressPlan {
  const { hostname, externalCloudProvider } = info;
  const [first, second] = info.nodeIps.map(canonicalIp);
  const configured = [first, second].filter((ip) => ip !== undefined && !isUnspecified(ip)) as string[];
  for (const [i, ip] of configured.entries()) {
    const problem = nodeIpProblem(ip, info.hostIps);
    if (problem)
      return { ok: false, reason: `failed to validate ${i > 0 ? "secondaryNodeIP" : "nodeIP"}: ${problem}` };
  }
  const isConfigured = first !== undefined && !isUnspecified(first);
  const providedIp = externalCloudProvider && isConfigured ? configured.join(",") : undefined;
  const plan = (...ips: string[]): AddressPlan => ({
    ok: true,
    addresses: [
      ...ips.map((address): NodeAddress => ({ type: "InternalIP", address })),
      { type: "Hostname", address: hostname },
    ],
    providedIp,
  });
  if (externalCloudProvider && existing.length > 0) return { ok: true, addresses: [...existing], providedIp };
  if (externalCloudProvider && first === undefined) return plan();
  if (isConfigured) return plan(...configured);
  const found = findAddress(info, first === undefined || isIPv4(first));
  return found ? plan(found) : { ok: false, reason: `can't get ip address of node ${info.nodeName}` };
}

function findAddress(info: AddressInfo, preferIpv4: boolean): string | undefined {
  if (isIP(info.hostname)) return canonicalIp(info.hostname);
  const named = info.resolvedIps.map(canonicalIp).filter((ip) => !nodeIpProblem(ip, info.hostIps));
  const { ipv4, ipv6 } = info.defaultRouteIps;
  return (
    named.find((ip) => isIPv4(ip) === preferIpv4) ??
    named[0] ??
    (preferIpv4 ? (ipv4 ?? ipv6) : (ipv6 ?? ipv4))
  );
}

/** Why this node cannot have an address, or undefined. */
export function nodeIpProblem(ip: string, hostIps: readonly string[]): string | undefined {
  const is = (list: BlockList) => list.check(ip, isIPv4(ip) ? "ipv4" : "ipv6");
  if (!isIP(ip)) return "nodeIP must be a valid IP address";
  if (is(loopback)) return "nodeIP can't be loopback address";
  if (is(multicast)) return "nodeIP can't be a multicast address";
  if (is(linkLocal)) return "nodeIP can't be a link-local unicast address";
  if (isUnspecified(ip)) return "nodeIP can't be an all zeros address";
  if (hostIps.some((own) => canonicalIp(own) === canonicalIp(ip))) return undefined;
  return `node IP: "${ip}" not found in the host's network interfaces`;
}

const loopback = subnets(["127.0.0.0", 8], ["::1", 128]);
const multicast = subnets(["224.0.0.0", 4], ["ff00::", 8]);
const linkLocal = subnets(["169.254.0.0", 16], ["fe80::", 10]);

function subnets(ipv4: [string, number], ipv6: [string, number]): BlockList {
  const list = new BlockList();
  list.addSubnet(...ipv4, "ipv4");
  list.addSubnet(...ipv6, "ipv6");
  return list;
}

function isUnspecified(ip: string): boolean {
  return ip === "0.0.0.0" || ip === "::";
}

/** The canonical form of an address: lower case and shortened. Text that is not an address is returned unchanged. */
function canonicalIp(text: string): string {
  const ip = text.trim();
  if (isIP(ip) !== 6 || ip.includes("%")) return ip;
  return new URL(`http://[${ip}]`).hostname.slice(1, -1);
}
