import { readdir, readFile } from "node:fs/promises";
import { hostname, networkInterfaces, totalmem } from "node:os";

/** What is asked of the machine once, at the start. */
export interface MachineFacts {
  memoryBytes: bigint;
  swapBytes: bigint;
  cpus: number;
  pageSize: bigint;
  selinux: boolean;
}

export async function readMachineFacts(): Promise<MachineFacts> {
  const meminfo = await readFile("/proc/meminfo", "utf8");
  const kib = (key: string) =>
    BigInt(new RegExp(`^${key}:\\s+(\\d+) kB`, "m").exec(meminfo)?.[1] ?? 0) * 1024n;
  const cpus = (await list("/sys/devices/system/cpu")).filter((name) => /^cpu\d+$/.test(name));
  return {
    memoryBytes: kib("MemTotal") || BigInt(totalmem()),
    swapBytes: kib("SwapTotal"),
    cpus: Math.max(1, cpus.length),
    pageSize: 4096n,
    selinux: (await list("/sys/fs/selinux")).includes("enforce"),
  };
}

async function list(dir: string): Promise<string[]> {
  return readdir(dir).catch(() => []);
}

/** The name of this node in the cluster: what it was told, or what the host is called, in lower case. */
export function nodeName(override: string | undefined): string {
  return (override || hostname()).trim().toLowerCase();
}

/** The addresses of this node: as told, or the first of the interface with the default route. */
export async function nodeAddresses(told: string | undefined): Promise<string[]> {
  if (told) return told.split(",").map((ip) => ip.trim());
  const interfaces = networkInterfaces();
  const preferred = await defaultRouteInterface();
  const names = Object.keys(interfaces).sort((a, b) => Number(b === preferred) - Number(a === preferred));
  for (const name of names) {
    const address = interfaces[name]?.find((a) => a.family === "IPv4" && !a.internal);
    if (address) return [address.address];
  }
  for (const name of names) {
    const address = interfaces[name]?.find((a) => a.family === "IPv6" && !a.internal && a.scopeid === 0);
    if (address) return [address.address];
  }
  return ["127.0.0.1"];
}

async function defaultRouteInterface(): Promise<string | undefined> {
  const routes = await readFile("/proc/net/route", "utf8").catch(() => "");
  const route = routes.split("\n").find((line) => line.split("\t")[1] === "00000000");
  return route?.split("\t")[0];
}
