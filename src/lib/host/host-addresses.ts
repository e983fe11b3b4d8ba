import { lookup } from "node:dns/promises";
import { readFile } from "node:fs/promises";
import { isIPv4 } from "node:net";
import { networkInterfaces } from "node:os";
import { join } from "node:path";

export type Interfaces = Readonly<Record<string, readonly string[]>>;

/** The addresses of each interface that is up. */
export function interfaceAddresses(): Interfaces {
  const all = Object.entries(networkInterfaces());
  return Object.fromEntries(all.map(([name, list]) => [name, (list ?? []).map(({ address }) => address)]));
}

/** The addresses of a host name; none if it cannot be resolved. */
export async function addressesOfName(name: string): Promise<string[]> {
  const found = await lookup(name, { all: true, order: "verbatim" }).catch(() => []);
  return found.map(({ address }) => address);
}

/** The address, of each family, of the interface with the default route. */
export async function defaultRouteAddresses(
  interfaces: Interfaces,
  proc = "/proc",
): Promise<{ ipv4?: string; ipv6?: string }> {
  const read = (file: string) => readFile(join(proc, "net", file), "utf8").catch(() => "");
  const ipv4 = addressOn(interfaces, ipv4Default(await read("route")), isIPv4);
  const ipv6 = addressOn(interfaces, ipv6Default(await read("ipv6_route")), (ip) => !isIPv4(ip));
  return { ...(ipv4 && { ipv4 }), ...(ipv6 && { ipv6 }) };
}

function addressOn(
  interfaces: Interfaces,
  names: readonly string[],
  ofFamily: (ip: string) => boolean,
): string | undefined {
  return names.flatMap((name) => interfaces[name] ?? []).find((ip) => ofFamily(ip) && isGlobal(ip));
}

function isGlobal(ip: string): boolean {
  return !/^(127\.|169\.254\.|::1$|fe[89ab])/i.test(ip);
}

/** Interfaces with a default route, best first: destination and mask are zero, the seventh column is the metric. */
export function ipv4Default(table: string): string[] {
  return byMetric(
    rows(table)
      .filter((row) => row[1] === "00000000" && row[7] === "00000000")
      .map((row) => ({ name: row[0] ?? "", metric: Number(row[6]) })),
  );
}

/** The kernel's "unreachable" default route uses "lo" and is ignored. */
export function ipv6Default(table: string): string[] {
  return byMetric(
    rows(table)
      .filter((row) => row[0] === "0".repeat(32) && row[1] === "00" && row[9] !== "lo")
      .map((row) => ({ name: row[9] ?? "", metric: Number.parseInt(row[5] ?? "0", 16) })),
  );
}

function rows(table: string): string[][] {
  return table.split("\n").map((line) => line.trim().split(/\s+/));
}

function byMetric(routes: { name: string; metric: number }[]): string[] {
  return routes.sort((a, b) => a.metric - b.metric).map(({ name }) => name);
}
