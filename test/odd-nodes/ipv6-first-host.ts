// Runs on an isolated host: a node with an IPv6 and an IPv4 address, IPv6 first.
import { freePort, get } from "../e2e/agent-process.ts";
import { waitFor } from "../e2e/wait-for.ts";
import { addAddresses, type NodeObject, OddNode, pkiFlag } from "./odd-node.ts";

export const addresses = { ipv6: "fd00:1::10", ipv4: "192.0.2.10" } as const;

export interface Ipv6Report {
  readonly node: NodeObject;
  readonly hostNetwork: { readonly hostIPs: unknown; readonly podIPs: unknown };
  /** The responses of the read-only and the authenticated port, by URL host. */
  readonly served: Readonly<Record<string, string | undefined>>;
}

async function main(): Promise<Ipv6Report> {
  addAddresses(`${addresses.ipv6}/64`, `${addresses.ipv4}/24`);
  const [port, readOnlyPort] = [await freePort(), await freePort()];
  const odd = await OddNode.create({ enableServer: true, port, readOnlyPort });
  odd.placeManifest("web", { hostNetwork: true });
  odd.startAgent([`--node-ip=${addresses.ipv6},${addresses.ipv4}`, pkiFlag(odd.node)]);
  const { status } = await odd.runs("web");
  const served: Record<string, string | undefined> = {};
  for (const host of ["127.0.0.1", "::1", addresses.ipv6, addresses.ipv4])
    served[host] = (
      await waitFor(async () => {
        const response = await get({ host, port: readOnlyPort, path: "/healthz" });
        if (!response) throw new Error(`no response of ${host}`);
        return response;
      })
    ).body;
  const node = await odd.nodeObject();
  await odd.destroy();
  return { node, hostNetwork: { hostIPs: status?.hostIPs, podIPs: status?.podIPs }, served };
}

if (import.meta.main) process.stdout.write(JSON.stringify(await main()));
