import type { Node } from "../../lib/gen/kubernetes/core.d.ts";
import { StatusError } from "../status-error.ts";

export interface HostPort {
  readonly host: string;
  readonly port: number;
}

/** The order in which a node's addresses are tried: those that need no name server first. */
const addressTypes = ["InternalIP", "Hostname", "InternalDNS", "ExternalDNS", "ExternalIP"] as const;

const kubeletPort = 10250;

/** The address of a node's kubelet, from the node status. */
export function kubeletAddress(
  node: Pick<Node, "status">,
  types: readonly string[] = addressTypes,
): HostPort {
  const addresses = node.status?.addresses ?? [];
  const port = node.status?.daemonEndpoints?.kubeletEndpoint?.Port ?? 0;
  for (const type of types) {
    const found = addresses.find((address) => address.type === type);
    if (found) return { host: found.address, port: port > 0 ? port : kubeletPort };
  }
  const known = addresses.map(({ type, address }) => `{${type} ${address}}`).join(" ");
  throw new StatusError(500, "", `no preferred addresses found; known addresses: [${known}]`);
}

export function hostPort({ host, port }: HostPort): string {
  return host.includes(":") ? `[${host}]:${port}` : `${host}:${port}`;
}
