import { readFile } from "node:fs/promises";
import { release } from "node:os";
import { join } from "node:path";
import { defaultFlags } from "../config/flags/kubelet-flags.ts";

/** The identity of this machine and its operating system. */
export interface SystemIdentity {
  machineId: string;
  /** The system UUID of the firmware; otherwise the machine ID. */
  systemUuid: string;
  /** Changes with each boot. */
  bootId: string;
  kernelVersion: string;
  osImage: string;
  /** As in Kubernetes labels. */
  os: "linux";
  arch: string;
}

const systemUuidFiles = [
  "sys/class/dmi/id/product_uuid",
  "proc/device-tree/system-id",
  "proc/device-tree/vm,uuid",
  "etc/machine-id",
];
const osReleaseFiles = ["etc/os-release", "usr/lib/os-release"];

/** Comma-separated paths, as the flags of the same names have them. */
export interface IdentityFiles {
  readonly machineId: string;
  readonly bootId: string;
}

const { machineIDFile, bootIDFile } = defaultFlags();
export const defaultIdentityFiles: IdentityFiles = { machineId: machineIDFile, bootId: bootIDFile };

export async function readSystemIdentity(files: IdentityFiles, root = "/"): Promise<SystemIdentity> {
  return {
    machineId: await firstExisting(root, files.machineId),
    systemUuid: await firstOf(root, systemUuidFiles),
    bootId: await firstExisting(root, files.bootId),
    kernelVersion: release(),
    osImage: osImageOf(await firstOf(root, osReleaseFiles)),
    os: "linux",
    arch: archOf(process.arch),
  };
}

/** The text of the first file that can be read, even if it is empty. */
async function firstExisting(root: string, paths: string): Promise<string> {
  for (const path of paths.split(",")) {
    const text = await readFile(join(root, path), "utf8").catch(() => undefined);
    if (text !== undefined) return text.trim();
  }
  return "";
}

/** The text of the first non-empty file. Strings of the device tree end with a NUL. */
async function firstOf(root: string, paths: readonly string[]): Promise<string> {
  for (const path of paths) {
    const text = await readFile(join(root, path), "utf8").catch(() => "");
    const trimmed = text.replaceAll("\0", "").trim();
    if (trimmed) return trimmed;
  }
  return "";
}

/** PRETTY_NAME of an os-release file. */
export function osImageOf(osRelease: string): string {
  if (osRelease === "") return "Unknown";
  const name = /^PRETTY_NAME=(.*)$/m.exec(osRelease)?.[1]?.trim();
  return name?.replace(/^(["'])(.*)\1$/, "$2") || "Linux";
}

const archNames: Readonly<Record<string, string>> = { x64: "amd64", ia32: "386", ppc64: "ppc64le" };

/** The architecture as Kubernetes writes it. */
export function archOf(nodeArch: string): string {
  return archNames[nodeArch] ?? nodeArch;
}
