import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { makeBridge } from "../lib/host/bridge.ts";
import type { NodeFiles } from "./node-files.ts";
import { firstAddress, type Ipv4Range, isFree, parseCidr, parseRoutes, pickSubnet } from "./subnet.ts";

export const conflistName = "10-kubelet-ts.conflist";

/** The CNI configuration of a node: a bridge with its own subnet and IPAM directory, and host ports. */
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

export interface PodNetwork {
  /** The range of pod addresses; the bridge has the first one. */
  readonly podSubnet: string;
  /** The range of service addresses. The first one belongs to the API, and is also assigned to the bridge. */
  readonly serviceRange: string;
}

const serviceBits = 20;
/** The default of clusters and of `kubelet api`: not used here, so that addresses do not collide. */
const defaultServiceRange = "10.96.0.0/16";

/**
 * Chooses ranges that neither the host's routes nor another node use, writes the CNI configuration, and creates the
 * bridge. The bridge plugin would create it with the first pod; then the API could not listen for pods earlier.
 */
export async function createNetwork(files: NodeFiles): Promise<PodNetwork> {
  const routes = parseRoutes(readFileSync("/proc/net/route", "utf8"));
  const network = chooseNetwork(files, [...routes, ...rangesOfOtherNodes(files)]);
  const { podSubnet, serviceRange } = network;
  writeFileSync(files.serviceRange, `${serviceRange}\n`);
  writeFileSync(
    join(files.cni.conf, conflistName),
    `${JSON.stringify(networkConfig(files, podSubnet), null, 2)}\n`,
  );
  // The plugin requires the address of the pods' gateway to be the first on the bridge.
  const addresses = [podSubnet, serviceRange].map((cidr) => `${firstAddress(cidr)}/${parseCidr(cidr).bits}`);
  await makeBridge({ name: files.bridge, addresses });
  return network;
}

/** Services keep their range, unless it is in use by something else now. */
export function chooseNetwork(files: NodeFiles, others: readonly Ipv4Range[]): PodNetwork {
  const previous = rangeIn(files.serviceRange);
  const previousRange = previous && isFree(parseCidr(previous), others) ? previous : undefined;
  const inUse = [...others, parseCidr(defaultServiceRange)];
  const serviceRange = previousRange ?? pickSubnet(`services of ${files.name}`, inUse, serviceBits);
  return { podSubnet: pickSubnet(files.name, [...inUse, parseCidr(serviceRange)]), serviceRange };
}

/** The ranges of running nodes, and the service CIDRs of stopped ones. */
export function rangesOfOtherNodes(files: NodeFiles): Ipv4Range[] {
  const baseDir = dirname(files.base);
  const others = readdirSync(baseDir).filter((name) => name !== basename(files.base));
  return others
    .flatMap((name) => [
      rangeIn(join(baseDir, name, "cni", "net.d", conflistName)),
      rangeIn(join(baseDir, name, basename(files.serviceRange))),
    ])
    .filter((range) => range !== undefined)
    .map(parseCidr);
}

/** The range in a file; undefined if the file does not exist, such as while a node is created or removed. */
function rangeIn(file: string): string | undefined {
  try {
    return /^(?:.*"subnet":\s*")?(\d+(?:\.\d+){3}\/\d+)"?$/m.exec(readFileSync(file, "utf8"))?.[1];
  } catch {
    return undefined;
  }
}
