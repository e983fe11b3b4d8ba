import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import type { NodeFiles } from "./node-files.ts";
import { type Ipv4Range, parseCidr, parseRoutes, pickSubnet } from "./subnet.ts";

export const conflistName = "10-kubelet-ts.conflist";

/** The CNI configuration of a node: one bridge with its own subnet and its own address book, and host ports. */
export function networkConfig(files: NodeFiles, subnet: string): object {
  return {
    cniVersion: "0.4.0",
    name: files.network,
    plugins: [
      {
        type: "bridge",
        bridge: files.bridge,
        isGateway: true,
        ipMasq: true,
        hairpinMode: true,
        ipam: {
          type: "host-local",
          dataDir: files.cni.ipam,
          ranges: [[{ subnet }]],
          routes: [{ dst: "0.0.0.0/0" }],
        },
      },
      { type: "portmap", capabilities: { portMappings: true } },
    ],
  };
}

/** Writes the CNI configuration with a subnet that neither the host's routes nor another node has, and resolves it. */
export function writeNetwork(files: NodeFiles): string {
  const routes = parseRoutes(readFileSync("/proc/net/route", "utf8"));
  const subnet = pickSubnet(files.name, [...routes, ...subnetsOfOtherNodes(files)]);
  writeFileSync(
    join(files.cni.conf, conflistName),
    `${JSON.stringify(networkConfig(files, subnet), null, 2)}\n`,
  );
  return subnet;
}

/** A node's bridge, and so its route, exists only from its first pod on: its file says what it will take. */
function subnetsOfOtherNodes(files: NodeFiles): Ipv4Range[] {
  const baseDir = dirname(files.base);
  const found: Ipv4Range[] = [];
  for (const name of readdirSync(baseDir)) {
    if (name === basename(files.base)) continue;
    try {
      const text = readFileSync(join(baseDir, name, "cni", "net.d", conflistName), "utf8");
      const subnet = /"subnet":\s*"([^"]+)"/.exec(text)?.[1];
      if (subnet) found.push(parseCidr(subnet));
    } catch {
      // not a node, or one that is being made or removed
    }
  }
  return found;
}
