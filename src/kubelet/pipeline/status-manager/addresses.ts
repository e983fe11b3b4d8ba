import { isIPv4, isIPv6 } from "node:net";
import type { PodStatus } from "../../../lib/model/pod.ts";
import type { StatusInput } from "./status-input.ts";

type Addresses = Pick<PodStatus, "hostIP" | "hostIPs" | "podIP" | "podIPs">;

/** The addresses of node and pod: one of each family at most, the family of the node's first address first. */
export function addresses({ pod, observed, previous, hostIPs }: StatusInput): Addresses {
  const host = hostIPs.slice(0, 2);
  return {
    ...(host[0] ? { hostIP: host[0], hostIPs: host.map((ip) => ({ ip })) } : {}),
    ...podAddresses(
      pod.spec.hostNetwork ? byFamily(host, host[0]) : ownAddresses(observed, previous, host[0]),
    ),
  };
}

/** A pod without a ready sandbox keeps the addresses that it had. */
function ownAddresses(
  observed: StatusInput["observed"],
  previous: StatusInput["previous"],
  nodeIP: string | undefined,
): string[] {
  const [newest] = observed?.sandboxes ?? [];
  if (newest?.state === "ready") return byFamily(newest.ips, nodeIP);
  if (observed?.sandboxes.some((s) => s.state === "ready")) return [];
  return (previous?.podIPs ?? []).flatMap(({ ip }) => ip ?? []);
}

function byFamily(ips: readonly string[], nodeIP: string | undefined): string[] {
  const families = nodeIP && isIPv6(nodeIP) ? [isIPv6, isIPv4] : [isIPv4, isIPv6];
  return families.flatMap((isOfFamily) => ips.find((ip) => isOfFamily(ip)) ?? []);
}

function podAddresses(ips: readonly string[]): Addresses {
  return ips[0] ? { podIP: ips[0], podIPs: ips.map((ip) => ({ ip })) } : {};
}
