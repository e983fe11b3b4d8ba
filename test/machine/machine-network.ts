import { execFileSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { firstAddress, parseRoutes, pickSubnet } from "../../src/single-node/subnet.ts";

/** The network of one guest: a tap device on the host, and the addresses at both ends. */
export interface MachineNetwork {
  readonly link: string;
  readonly hostAddress: string;
  readonly guestAddress: string;
  readonly bits: number;
}

const bits = 30;
let created = 0;

export function createNetwork(): MachineNetwork {
  removeAbandonedLinks();
  const link = `uml-${process.pid}-${++created}`;
  const subnet = pickSubnet(link, parseRoutes(readFileSync("/proc/net/route", "utf8")), bits);
  const hostAddress = firstAddress(subnet);
  const guestAddress = firstAddress(`${hostAddress}/32`);
  ip("tuntap", "add", "dev", link, "mode", "tap");
  ip("address", "add", `${hostAddress}/${bits}`, "dev", link);
  ip("link", "set", link, "up");
  return { link, hostAddress, guestAddress, bits };
}

export function removeNetwork(network: MachineNetwork): void {
  ip("link", "delete", network.link);
}

/** Removes the tap devices of test processes that were killed. */
function removeAbandonedLinks(): void {
  for (const link of readdirSync("/sys/class/net")) {
    const owner = /^uml-(\d+)-\d+$/.exec(link)?.[1];
    if (owner && !existsSync(`/proc/${owner}`)) ip("link", "delete", link);
  }
}

function ip(...args: readonly string[]): void {
  execFileSync("ip", args, { stdio: ["ignore", "ignore", "pipe"] });
}
