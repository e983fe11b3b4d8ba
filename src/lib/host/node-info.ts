import { readFile } from "node:fs/promises";
import { availableParallelism, hostname, networkInterfaces, totalmem } from "node:os";
import { type ContainerLabels, readContainerLabels } from "./container-labels.ts";
import { isSELinuxEnabled } from "./selinux.ts";

/** Facts that are read from the machine once, at startup. */
export interface MachineInfo {
  memoryBytes: bigint;
  swapBytes: bigint;
  cpus: number;
  pageSize: bigint;
  selinux: boolean;
  /** Empty without SELinux. */
  containerLabels: ContainerLabels;
}

export async function readMachineInfo(): Promise<MachineInfo> {
  const meminfo = await readFile("/proc/meminfo", "utf8");
  const selinux = isSELinuxEnabled();
  const kib = (key: string) =>
    BigInt(new RegExp(`^${key}:\\s+(\\d+) kB`, "m").exec(meminfo)?.[1] ?? 0) * 1024n;
  return {
    memoryBytes: kib("MemTotal") || BigInt(totalmem()),
    swapBytes: kib("SwapTotal"),
    cpus: countRanges(await read("/sys/devices/system/cpu/online")) || availableParallelism(),
    pageSize: pageSizeOf(await readFile("/proc/self/auxv")),
    selinux,
    containerLabels: selinux ? await readContainerLabels() : { process: "", file: "" },
  };
}

/** The length of a list such as "0-3,8", which names 5 CPUs. */
export function countRanges(text: string): number {
  return text
    .trim()
    .split(",")
    .filter((range) => range !== "")
    .map((range) => range.split("-").map(Number))
    .reduce((sum, [first = 0, last = first]) => sum + last - first + 1, 0);
}

const auxPageSize = 6n;

/** Reads the page size from the auxiliary vector of the process: pairs of 64-bit integers, a key and a value. */
export function pageSizeOf(auxv: Buffer): bigint {
  for (let at = 0; at + 16 <= auxv.length; at += 16)
    if (auxv.readBigUInt64LE(at) === auxPageSize) return auxv.readBigUInt64LE(at + 8);
  return 4096n;
}

async function read(path: string): Promise<string> {
  return readFile(path, "utf8").catch(() => "");
}

/** The name of this node in the cluster: as configured, or the host name, in lower case. */
export function nodeName(override: string | undefined): string {
  return (override || hostname()).trim().toLowerCase();
}

/** The addresses of this node: as configured, or the first of the interface with the default route. */
export async function nodeAddresses(configured: string | undefined): Promise<string[]> {
  if (configured) return configured.split(",").map((ip) => ip.trim());
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
